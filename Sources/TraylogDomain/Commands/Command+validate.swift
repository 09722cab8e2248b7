extension Command {
    /// Checks everything that needs no store, so that several commands can be refused before any is performed.
    ///
    /// ```swift
    /// for command in commands { try command.check() }
    /// ```
    ///
    /// - Throws: ``TraylogError/refused(_:)``: `invalid` with the first field that is wrong.
    /// - Complexity: O(n) in the command's bytes.
    public func check() throws(TraylogError) {
        do { try validate() } catch { throw .refused(error) }
    }

    /// Checks every limit that does not depend on the store's state.
    ///
    /// - Parameter dataIsJSON: skips reading `data` again, when a JSON reader has passed it.
    /// - Throws: ``Refusal/invalid(field:reason:)`` with the first field that is wrong.
    /// - Complexity: O(n) in the command's bytes.
    package func validate(dataIsJSON: Bool = false) throws(Refusal) {
        try checkUser()
        try Command.check(key, occurredAt, actor, device)
        try checkAction(dataIsJSON: dataIsJSON)
    }

    /// Checks a `notify` that comes in its parts, which spares a copy of the whole.
    package static func validateNotify(
        user: String?, key: String?, occurredAt: Timestamp?, actor: String?, device: String?, _ content: Content
    ) throws(Refusal) {
        try Limits.check(identifier: user, "user")
        guard user != nil else { throw missingUser }
        try check(key, occurredAt, actor, device)
        try content.validate(dataIsJSON: false)
    }

    private static func check(
        _ key: String?, _ occurredAt: Timestamp?, _ actor: String?, _ device: String?
    ) throws(Refusal) {
        try Limits.check(identifier: key, "key")
        try Limits.check(time: occurredAt, "occurredAt")
        try Limits.check(identifier: actor, "actor")
        try Limits.check(identifier: device, "device")
    }

    private static var missingUser: Refusal { .invalid(field: "user", reason: "is missing") }

    private func checkUser() throws(Refusal) {
        try Limits.check(identifier: user, "user")
        switch action {
        case .broadcast:
            guard user == nil else { throw .invalid(field: "user", reason: "a broadcast has none") }
        case .edit, .retract: break
        default:
            guard user != nil else { throw Command.missingUser }
        }
    }

    private func checkAction(dataIsJSON: Bool) throws(Refusal) {
        switch action {
        case .notify(let content): try content.validate(dataIsJSON: dataIsJSON)
        case .broadcast(let topic, let content):
            try Limits.check(identifier: topic, "topic")
            guard content.collapseKey == nil else {
                throw .invalid(field: "collapseKey", reason: "a broadcast has none")
            }
            try content.validate(dataIsJSON: dataIsJSON)
        case .mark(_, let items): try Command.check(items)
        case .markAll(_, let filter, _):
            try filter.checkForMarking()
            if case .named(let thread) = filter.thread { try Limits.check(identifier: thread, "thread") }
            try Limits.check(identifier: filter.category, "category")
        case .mute(let scope, let until):
            try Command.check(scope)
            try Limits.check(time: until, "until")
        case .unmute(let scope): try Command.check(scope)
        case .snooze(let item, let until):
            try Command.check(item, "item")
            try Limits.check(time: until, "until")
        case .wake(let item), .retract(let item): try Command.check(item, "item")
        case .edit(let item, let edit):
            try Command.check(item, "item")
            try edit.validate(dataIsJSON: dataIsJSON)
        case .subscribe(let topic), .unsubscribe(let topic): try Limits.check(identifier: topic, "topic")
        case .act(let item, let action, let note, _):
            try Command.check(item, "item")
            try Limits.check(action: action, "action")
            try Limits.check(text: note, atMost: Limits.noteBytes, "note")
        case .seeTray, .undo: break
        }
    }

    private static func check(_ items: [ItemReference]) throws(Refusal) {
        guard !items.isEmpty else { throw .invalid(field: "items", reason: "must not be empty") }
        guard items.count <= Limits.markedItems else {
            throw .invalid(field: "items", reason: "has more than \(Limits.markedItems) items")
        }
        for item in items { try check(item, "items") }
    }

    private static func check(_ scope: MuteScope) throws(Refusal) {
        switch scope {
        case .thread(let name): try Limits.check(identifier: name, "thread")
        case .category(let name): try Limits.check(identifier: name, "category")
        case .topic(let name): try Limits.check(identifier: name, "topic")
        case .all: break
        }
    }

    private static func check(_ item: ItemReference, _ field: String) throws(Refusal) {
        if case .key(let key) = item { try Limits.check(identifier: key, field) }
    }
}

extension Content {
    /// Checks the limits of every field.
    func validate(dataIsJSON: Bool) throws(Refusal) {
        try Limits.check(identifier: thread, "thread")
        try Limits.check(identifier: category, "category")
        try Limits.check(text: title, atMost: Limits.titleBytes, "title")
        try Limits.check(text: body, atMost: Limits.bodyBytes, "body")
        try Limits.check(identifier: summaryArgument, "summaryArgument")
        try Limits.check(time: expiresAt, "expiresAt")
        try Limits.check(time: remindAt, "remindAt")
        try Limits.check(time: notBefore, "notBefore")
        try checkOrderOfTimes()
        try Limits.check(identifier: collapseKey, "collapseKey")
        if !actions.isEmpty { try Limits.check(actions) }
        try Limits.check(data: data, isJSON: dataIsJSON)
    }
}

extension Content {
    /// Checks that an item does not expire, and that nobody is reminded of it, before it arrives.
    func checkOrderOfTimes() throws(Refusal) {
        guard let notBefore else { return }
        if let expiresAt, expiresAt <= notBefore {
            throw .invalid(field: "expiresAt", reason: "must be later than notBefore")
        }
        if let remindAt, remindAt <= notBefore {
            throw .invalid(field: "remindAt", reason: "must be later than notBefore")
        }
    }
}

extension ContentEdit {
    /// Checks the limits of every field that is set, and that any field changes.
    func validate(dataIsJSON: Bool) throws(Refusal) {
        guard !fields.isEmpty else {
            throw .invalid(
                field: "edit",
                reason:
                    "needs any of title, body, summaryArgument, summaryCount, level, expiresAt, remindAt, notBefore and data"
            )
        }
        try Limits.check(text: title.value, atMost: Limits.titleBytes, "title")
        try Limits.check(text: body.value, atMost: Limits.bodyBytes, "body")
        try Limits.check(identifier: summaryArgument.value, "summaryArgument")
        try Limits.check(time: expiresAt.value, "expiresAt")
        try Limits.check(time: remindAt.value, "remindAt")
        try Limits.check(time: notBefore.value, "notBefore")
        if notBefore == .clear {
            throw .invalid(
                field: "notBefore",
                reason: "cannot be cleared; set it to the present, and the next tick brings the item")
        }
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
