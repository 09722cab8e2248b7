import TraylogDomain

@_spi(JSON) extension JSONWriter {
    /// Writes an event in the form of `log` and `history`.
    public mutating func write(_ event: Event) {
        beginObject()
        members(of: event)
        endObject()
    }

    /// Writes the members of an event, in an object that may have others.
    public mutating func members(of event: Event) {
        member("seq", event.seq)
        if event.revision != 0 { member("revision", event.revision) }
        member("recordedAt", event.recordedAt)
        member("occurredAt", event.occurredAt)
        member("kind", JSONWriter.kindNames[Int(event.kind.code)])
        member("user", event.user)
        member("key", event.key)
        member("actor", event.actor)
        member("device", event.device)
        members(event.body)
    }

    // A table, because making a name from its case is slow.
    private static let kindNames: [String] = {
        var names = Array(repeating: "", count: Int(UInt8.max) + 1)
        for kind in EventKind.allCases { names[Int(kind.code)] = kind.rawValue }
        return names
    }()

    /// Writes the fields of the kind, named like those of the command that causes it.
    mutating func members(_ body: Event.Body) {
        switch body {
        case .notified(let content): members(content)
        case .broadcast(let topic, let content):
            member("topic", topic)
            members(content)
        case .arrived(let item, let topic, let key, let notifiedAt, let content):
            member("topic", topic)
            member("item", item)
            member("itemKey", key)
            member("notifiedAt", notifiedAt)
            members(content)
        case .traySeen(let upTo): member("upTo", upTo)
        case .marked(let mark, let items): members(mark, items)
        case .allMarked(let mark, let filter, let upTo): members(mark, filter, upTo: upTo)
        case .muted(let scope, let until):
            members(scope)
            member("until", until)
        case .unmuted(let scope): members(scope)
        case .snoozed(let item, let until):
            member("item", item)
            member("until", until)
        case .edited(let item, let edit):
            member("item", item)
            members(edit)
        case .woken(let item), .retracted(let item), .expired(let item), .reminded(let item): member("item", item)
        case .acted(let item, let action, let note, let asOf):
            member("item", item)
            member("action", action)
            member("note", note)
            member("asOf", asOf)
        case .subscribed(let topic, let topicRevision), .unsubscribed(let topic, let topicRevision):
            member("topic", topic)
            member("topicRevision", topicRevision)
        case .undone(let event): member("event", event)
        case .erased(let spans):
            guard !spans.isEmpty else { break }
            member("spans", each: spans) { $0.write($1) }
        case .held, .released, .lost: break
        case .redacted: member("erased", true)
        case .compacted(let through, let dropped, let archive):
            member("through", through)
            member("dropped", dropped)
            member("archive", archive)
        case .audited(let purpose, let revisions):
            member("purpose", purpose)
            if !revisions.isEmpty { member("topicRevisions", each: revisions) { $0.write($1) } }
        }
    }

    /// Writes `{"topic","revision"}`.
    mutating func write(_ revision: TopicRevision) {
        beginObject()
        member("topic", revision.topic)
        member("revision", revision.revision)
        endObject()
    }

    private mutating func members(_ mark: Mark, _ items: [Seq]) {
        member("as", mark.rawValue)
        member("items", each: items) { $0.value($1) }
    }

    mutating func members(_ mark: BulkMark, _ filter: ItemFilter, upTo: Seq?) {
        member("as", mark.rawValue)
        member(filter.thread)
        member("category", filter.category)
        member("upTo", upTo)
    }

    mutating func member(_ thread: ItemFilter.Thread) {
        switch thread {
        case .any: break
        case .unthreaded: member("thread", orNull: String?.none)
        case .named(let thread): member("thread", thread)
        }
    }

    mutating func members(_ scope: MuteScope) {
        switch scope {
        case .thread(let thread): member("thread", thread)
        case .category(let category): member("category", category)
        case .topic(let topic): member("topic", topic)
        case .all: member("all", true)
        }
    }

    /// Writes the content of a `notified`, `broadcast` or `arrived` event, without fields that have their default.
    mutating func members(_ content: Content) {
        member("thread", content.thread)
        member("category", content.category)
        member("title", content.title)
        member("body", content.body)
        member("summaryArgument", content.summaryArgument)
        if content.summaryCount != 1 { member("summaryCount", UInt64(content.summaryCount)) }
        if content.isSilent { member("silent", true) }
        if content.level != .active { member("level", content.level.rawValue) }
        member("expiresAt", content.expiresAt)
        member("remindAt", content.remindAt)
        member("notBefore", content.notBefore)
        member("collapseKey", content.collapseKey)
        members(content.actions)
        member("data", raw: content.data)
    }

    mutating func members(_ actions: [ItemAction]) {
        guard !actions.isEmpty else { return }
        member("actions", each: actions) { writer, action in writer.write(action) }
    }

    /// Writes an action of an item.
    public mutating func write(_ action: ItemAction) {
        beginObject()
        member("id", action.id)
        member("label", action.label)
        endObject()
    }

    /// Writes the fields that an edit sets, and `null` for those that it clears.
    mutating func members(_ edit: ContentEdit) {
        change("title", edit.title) { $0.value($1) }
        change("body", edit.body) { $0.value($1) }
        change("summaryArgument", edit.summaryArgument) { $0.value($1) }
        change("summaryCount", edit.summaryCount) { $0.value(UInt64($1)) }
        change("level", edit.level) { $0.value($1.rawValue) }
        change("expiresAt", edit.expiresAt) { $0.value($1) }
        change("remindAt", edit.remindAt) { $0.value($1) }
        change("notBefore", edit.notBefore) { $0.value($1) }
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
