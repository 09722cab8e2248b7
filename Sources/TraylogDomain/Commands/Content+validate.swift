extension Content {
    /// Checks the limits of every field.
    func validate(dataIsJSON: Bool) throws(Refusal) {
        try Limits.check(identifier: thread, "thread")
        try Limits.check(identifier: category, "category")
        try Limits.check(text: title, atMost: Limits.titleBytes, "title")
        try Limits.check(text: body, atMost: Limits.bodyBytes, "body")
        try Limits.check(identifier: summaryArgument, "summaryArgument")
        try Limits.check(time: expiresAt, "expiresAt")
        try Limits.check(identifier: collapseKey, "collapseKey")
        try Limits.check(data: data, isJSON: dataIsJSON)
    }
}
