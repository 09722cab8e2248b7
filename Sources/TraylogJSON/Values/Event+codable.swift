import TraylogDomain

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
    /// `{"topic","revision"}`.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

@_spi(JSON) extension TopicRevision: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        self.init(topic: try fields["topic"], revision: try fields["revision"])
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

@_spi(JSON) extension ItemAction: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        self.init(id: try fields["id"], label: try fields["label"])
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

@_spi(JSON) extension SubscriptionSpan: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        self.init(topic: try fields["topic"], from: try fields["from"], to: try fields["to"])
    }
}
