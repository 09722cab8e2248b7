extension ContentEdit {
    /// Checks the limits of every field that is set, and that any field changes.
    func validate(dataIsJSON: Bool) throws(Refusal) {
        guard !fields.isEmpty else {
            throw .invalid(
                field: "edit",
                reason: "needs any of title, body, summaryArgument, summaryCount, level, expiresAt and data")
        }
        try Limits.check(text: title.value, atMost: Limits.titleBytes, "title")
        try Limits.check(text: body.value, atMost: Limits.bodyBytes, "body")
        try Limits.check(identifier: summaryArgument.value, "summaryArgument")
        try Limits.check(time: expiresAt.value, "expiresAt")
        try Limits.check(data: data.value, isJSON: dataIsJSON)
        // In JSON both would read `"data":null`.
        if let data = data.value, JSONScanner.isNull(data.utf8Span.span) {
            throw .invalid(field: "data", reason: "is null, which clears it; clear it instead")
        }
    }
}

extension Change {
    /// The new value, where one is set.
    var value: Value? {
        if case .set(let value) = self { value } else { nil }
    }
}
