extension JSONWriter {
    /// An event, as `log` and `history` show it.
    package mutating func write(_ event: Event) {
        beginObject()
        members(of: event)
        endObject()
    }

    /// The members of an event, in an object that may have others.
    package mutating func members(of event: Event) {
        member("seq", event.seq)
        member("recordedAt", event.recordedAt)
        member("occurredAt", event.occurredAt)
        member("kind", JSONWriter.kindNames[Int(event.kind.rawValue)])
        member("user", event.user)
        member("key", event.key)
        member("actor", event.actor)
        member("device", event.device)
        members(event.body)
    }

    // Looked up, because making a name from its case is slow.
    private static let kindNames: [String] = {
        var names = Array(repeating: "", count: Int(UInt8.max) + 1)
        for kind in EventKind.allCases { names[Int(kind.rawValue)] = kind.name }
        return names
    }()

    /// The kind's own fields, named as those of the command that causes it.
    private mutating func members(_ body: Event.Body) {
        switch body {
        case .notified(let content): members(content)
        case .broadcast(let topic, let content):
            member("topic", topic)
            members(content)
        case .traySeen(let upTo): member("upTo", upTo)
        case .marked(let mark, let items): members(mark, items)
        case .allMarked(let mark, let selection): members(mark, selection)
        case .muted(let scope), .unmuted(let scope): members(scope)
        case .snoozed(let item, let until):
            member("item", item)
            member("until", until)
        case .edited(let item, let edit):
            member("item", item)
            members(edit)
        case .woken(let item), .retracted(let item), .expired(let item): member("item", item)
        case .subscribed(let topic), .unsubscribed(let topic): member("topic", topic)
        case .undone(let event): member("event", event)
        case .erased: break
        case .redacted: member("erased", true)
        case .compacted(let through, let dropped, let archive):
            member("through", through)
            member("dropped", dropped)
            member("archive", archive)
        }
    }

    private mutating func members(_ mark: Mark, _ items: [Seq]) {
        member("as", mark.name)
        name("items")
        beginArray()
        for item in items { value(item) }
        endArray()
    }

    private mutating func members(_ mark: BulkMark, _ selection: Selection) {
        member("as", mark.name)
        switch selection.thread {
        case .any: break
        case .unthreaded: member("thread", orNull: String?.none)
        case .named(let thread): member("thread", thread)
        }
        member("category", selection.category)
        member("upTo", selection.upTo)
    }

    private mutating func members(_ scope: MuteScope) {
        switch scope {
        case .thread(let thread): member("thread", thread)
        case .category(let category): member("category", category)
        }
    }
}
