import TraylogDomain

@_spi(JSON) extension Event: JSONWritable {
    /// Writes an event in the form of `log` and `history`.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.members(of: self)
        writer.endObject()
    }
}

@_spi(JSON) extension Event: Decodable {
    /// Reads an event as `log` prints it.
    ///
    /// Fields of later versions are not kept, nor is a stored event's data about its command; comparisons of events
    /// ignore both.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        self.init(
            seq: try fields["seq"], recordedAt: try fields["recordedAt"], occurredAt: try fields[maybe: "occurredAt"],
            revision: try fields[maybe: "revision"] ?? 0, user: try fields[maybe: "user"],
            key: try fields[maybe: "key"], actor: try fields[maybe: "actor"],
            device: try fields[maybe: "device"], body: try Body(fields, decoder))
    }
}

extension Event.Body {
    init(_ fields: JSONFields, _ decoder: any Decoder) throws {
        let kind = try fields.word("kind") { EventKind(rawValue: $0) }
        guard !fields.has("erased") else {
            self = .redacted(kind)
            return
        }
        switch kind {
        case .notified: self = .notified(try Content(from: decoder))
        case .broadcast: self = .broadcast(topic: try fields["topic"], try Content(from: decoder))
        case .arrived:
            self = .arrived(
                item: try fields["item"], topic: try fields[maybe: "topic"], key: try fields[maybe: "itemKey"],
                notifiedAt: try fields["notifiedAt"], try Content(from: decoder))
        case .traySeen: self = .traySeen(upTo: try fields["upTo"])
        case .marked: self = .marked(try fields["as"], items: try fields["items"])
        case .allMarked: self = .allMarked(try fields["as"], try ItemFilter(marking: fields), upTo: try fields["upTo"])
        case .muted: self = .muted(try MuteScope(from: decoder), until: try fields[maybe: "until"])
        case .unmuted: self = .unmuted(try MuteScope(from: decoder))
        case .snoozed: self = .snoozed(item: try fields["item"], until: try fields["until"])
        case .woken: self = .woken(item: try fields["item"])
        case .edited: self = .edited(item: try fields["item"], try ContentEdit(from: decoder))
        case .retracted: self = .retracted(item: try fields["item"])
        case .subscribed:
            self = .subscribed(topic: try fields["topic"], topicRevision: try fields["topicRevision"])
        case .unsubscribed:
            self = .unsubscribed(topic: try fields["topic"], topicRevision: try fields["topicRevision"])
        case .undone: self = .undone(event: try fields["event"])
        case .expired: self = .expired(item: try fields["item"])
        case .acted:
            self = .acted(
                item: try fields["item"], action: try fields["action"], note: try fields[maybe: "note"],
                asOf: try fields["asOf"])
        case .reminded: self = .reminded(item: try fields["item"])
        case .erased: self = .erased(spans: try fields[maybe: "spans"] ?? [])
        case .held: self = .held
        case .released: self = .released
        case .lost: self = .lost
        case .compacted:
            self = .compacted(
                through: try fields["through"], dropped: try fields["dropped"], archive: try fields[maybe: "archive"])
        case .audited:
            self = .audited(
                purpose: try fields[maybe: "purpose"], topicRevisions: try fields[maybe: "topicRevisions"] ?? [])
        }
    }
}

@_spi(JSON) extension TopicRevision: JSONWritable {
    /// Writes `{"topic","revision"}`.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("topic", topic)
        writer.member("revision", revision)
        writer.endObject()
    }
}

@_spi(JSON) extension TopicRevision: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        self.init(topic: try fields["topic"], revision: try fields["revision"])
    }
}

@_spi(JSON) extension Content: JSONWritable {
    /// In the form of a `notified` event's fields, without those that have their default.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.members(self)
        writer.endObject()
    }
}

@_spi(JSON) extension Content: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        self.init(
            thread: try fields[maybe: "thread"], category: try fields[maybe: "category"],
            title: try fields[maybe: "title"], body: try fields[maybe: "body"],
            summaryArgument: try fields[maybe: "summaryArgument"],
            summaryCount: try fields[maybe: "summaryCount"] ?? 1, isSilent: try fields[maybe: "silent"] ?? false,
            level: try fields[maybe: "level"] ?? .active, expiresAt: try fields[maybe: "expiresAt"],
            remindAt: try fields[maybe: "remindAt"], notBefore: try fields[maybe: "notBefore"],
            collapseKey: try fields[maybe: "collapseKey"],
            actions: try fields[maybe: "actions"] ?? [], data: try fields.data())
    }
}

@_spi(JSON) extension ItemAction: JSONWritable {
    /// Writes an action of an item.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("id", id)
        writer.member("label", label)
        writer.endObject()
    }
}

@_spi(JSON) extension ItemAction: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        self.init(id: try fields["id"], label: try fields["label"])
    }
}

@_spi(JSON) extension ContentEdit: JSONWritable {
    /// The fields that it sets, and `null` for those that it clears.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.members(self)
        writer.endObject()
    }
}

@_spi(JSON) extension ContentEdit: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        func change<Value: Decodable>(_ name: JSONName) throws -> Change<Value> {
            guard fields.has(name) else { return .keep }
            return try fields[maybe: name].map { .set($0) } ?? .clear
        }
        self.init()
        title = try change("title")
        body = try change("body")
        summaryArgument = try change("summaryArgument")
        summaryCount = try change("summaryCount")
        level = try change("level")
        expiresAt = try change("expiresAt")
        remindAt = try change("remindAt")
        notBefore = try change("notBefore")
        data = try fields.isNull("data") ? .clear : fields.data().map { .set($0) } ?? .keep
    }
}

@_spi(JSON) extension SubscriptionSpan: JSONWritable {
    /// Writes the span of a subscription.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("topic", topic)
        writer.member("from", from)
        writer.member("to", to)
        writer.endObject()
    }
}

@_spi(JSON) extension SubscriptionSpan: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        self.init(topic: try fields["topic"], from: try fields["from"], to: try fields["to"])
    }
}

// MARK: Members that several forms share

@_spi(JSON) extension JSONWriter {
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
