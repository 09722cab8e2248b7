extension JSONWriter {
    /// The content of a `notified` or `broadcast` event: what has its default is left out.
    mutating func members(_ content: Content) {
        member("thread", content.thread)
        member("category", content.category)
        member("title", content.title)
        member("body", content.body)
        member("summaryArgument", content.summaryArgument)
        if content.summaryCount != 1 { member("summaryCount", UInt64(content.summaryCount)) }
        if content.silent { member("silent", true) }
        if content.level != .active { member("level", content.level.name) }
        member("expiresAt", content.expiresAt)
        member("collapseKey", content.collapseKey)
        member("data", raw: content.data)
    }

    /// The fields that an edit sets, and `null` for those that it clears.
    mutating func members(_ edit: ContentEdit) {
        change("title", edit.title) { $0.value($1) }
        change("body", edit.body) { $0.value($1) }
        change("summaryArgument", edit.summaryArgument) { $0.value($1) }
        change("summaryCount", edit.summaryCount) { $0.value(UInt64($1)) }
        change("level", edit.level) { $0.value($1.name) }
        change("expiresAt", edit.expiresAt) { $0.value($1) }
        change("data", edit.data) { $0.raw($1) }
    }

    private mutating func change<Value>(
        _ name: String, _ change: Change<Value>, write: (inout JSONWriter, Value) -> Void
    ) {
        switch change {
        case .keep: break
        case .clear:
            self.name(name)
            null()
        case .set(let value):
            self.name(name)
            write(&self, value)
        }
    }
}
