extension Command {
    /// Checks every limit that does not depend on the store's state.
    ///
    /// - Parameter dataIsJSON: `data` is known to be JSON, so that it need not be read again.
    /// - Throws: ``Refusal/invalid(field:reason:)`` with the field that is wrong.
    /// - Complexity: O(n) in the command's bytes.
    package func validate(dataIsJSON: Bool = false) throws(Refusal) {
        try checkUser()
        try Limits.check(identifier: key, "key")
        try Limits.check(time: occurredAt, "occurredAt")
        try Limits.check(identifier: actor, "actor")
        try Limits.check(identifier: device, "device")
        try checkAction(dataIsJSON: dataIsJSON)
    }

    /// The same for a `notify` in its parts, which spares a copy of the whole.
    package static func validateNotify(
        user: String?, key: String?, occurredAt: Timestamp?, actor: String?, device: String?, _ content: Content
    ) throws(Refusal) {
        try Limits.check(identifier: user, "user")
        guard user != nil else { throw missingUser }
        try Limits.check(identifier: key, "key")
        try Limits.check(time: occurredAt, "occurredAt")
        try Limits.check(identifier: actor, "actor")
        try Limits.check(identifier: device, "device")
        try content.validate(dataIsJSON: false)
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
        case .markAll(_, let selection):
            if case .named(let thread) = selection.thread { try Limits.check(identifier: thread, "thread") }
            try Limits.check(identifier: selection.category, "category")
        case .mute(.thread(let name)), .unmute(.thread(let name)): try Limits.check(identifier: name, "thread")
        case .mute(.category(let name)), .unmute(.category(let name)):
            try Limits.check(identifier: name, "category")
        case .snooze(let item, let until):
            try Command.check(item, "item")
            try Limits.check(time: until, "until")
        case .wake(let item), .retract(let item): try Command.check(item, "item")
        case .edit(let item, let edit):
            try Command.check(item, "item")
            try edit.validate(dataIsJSON: dataIsJSON)
        case .subscribe(let topic), .unsubscribe(let topic): try Limits.check(identifier: topic, "topic")
        case .seeTray, .undo, .erase: break
        }
    }

    private static func check(_ items: [ItemReference]) throws(Refusal) {
        guard !items.isEmpty else { throw .invalid(field: "items", reason: "must not be empty") }
        guard items.count <= Limits.markedItems else {
            throw .invalid(field: "items", reason: "has more than \(Limits.markedItems) items")
        }
        for item in items { try check(item, "items") }
    }

    private static func check(_ item: ItemReference, _ field: String) throws(Refusal) {
        if case .key(let key) = item { try Limits.check(identifier: key, field) }
    }
}
