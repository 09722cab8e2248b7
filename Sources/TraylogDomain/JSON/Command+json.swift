extension Command {
    /// Reads a command from one JSON line, such as `{"kind":"seeTray","user":"ada"}`.
    ///
    /// Members may come in any order. A member that is not given is left out: `null` is a value of its own, which
    /// only `thread` of a `markAll`, the changes of an `edit` and `data` can have.
    ///
    /// - Parameter line: one object, at most ``Limits/commandLineBytes``, with or without the line's end.
    /// - Throws: ``Refusal/invalid(field:reason:)`` with the member at fault; `line` when it is none.
    /// - Complexity: O(n); it allocates the command's strings and nothing else.
    package init(json line: Span<UInt8>) throws(Refusal) {
        guard line.count <= Limits.commandLineBytes else {
            throw .invalid(field: "line", reason: "is longer than \(Limits.commandLineBytes) bytes")
        }
        try self.init(try CommandDraft(line))
        try validate(dataIsJSON: true)
    }

    private init(_ draft: consuming CommandDraft) throws(Refusal) {
        let kind = try draft.checkedKind()
        let action = try draft.action(kind)
        self.init(
            user: draft.user, action, key: draft.key, occurredAt: draft.occurredAt, actor: draft.actor,
            device: draft.device)
    }
}
