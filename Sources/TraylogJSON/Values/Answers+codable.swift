@_spi(Operations) import TraylogDomain

// The answers of queries, read from their JSON forms. What follows from other members (`isSeen`, `summary`) is not read.

@_spi(JSON) extension Tray: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        let categories: [String: Counts] = try fields["categories"]
        self.init(
            user: try fields["user"], asOf: try fields["asOf"], revision: try fields["revision"],
            unseen: try fields["unseen"],
            unread: try fields["unread"], awaiting: try fields["awaiting"], total: try fields["total"],
            seenUpTo: try fields["seenUpTo"],
            seenAt: try fields[maybe: "seenAt"], newest: try fields[maybe: "newest"],
            newestCounted: try fields[maybe: "newestCounted"],
            categories: categories.map {
                CategoryCounts(category: $0.key, unseen: $0.value.unseen, unread: $0.value.unread)
            }.sorted { $0.category.precedesInBytes($1.category) })
    }

    private struct Counts: Decodable {
        var unseen: Int
        var unread: Int
    }
}

@_spi(JSON) extension Mutes: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        self.init(user: try fields["user"], asOf: try fields["asOf"], mutes: try fields["mutes"])
    }
}

@_spi(JSON) extension Mute: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        self.init(
            scope: try MuteScope(from: decoder), since: try fields["since"], until: try fields[maybe: "until"])
    }
}

private enum PageKey: String, CodingKey { case elements, next, asOf }

@_spi(JSON) extension Page: Encodable where Element: Encodable, Next: Encodable {
    /// `{"elements","next","asOf"}`, without `next` at the end.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: PageKey.self)
        try container.encode(elements, forKey: .elements)
        try container.encodeIfPresent(next, forKey: .next)
        try container.encode(asOf, forKey: .asOf)
    }
}

@_spi(JSON) extension Page: Decodable where Element: Decodable, Next: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: PageKey.self)
        self.init(
            try container.decode([Element].self, forKey: .elements),
            next: try container.decodeIfPresent(Next.self, forKey: .next),
            asOf: try container.decode(Seq.self, forKey: .asOf))
    }
}

@_spi(JSON) extension ThreadGroup: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        self.init(
            thread: try fields[maybe: "thread"], count: try fields["count"], unseen: try fields["unseen"],
            unread: try fields["unread"], newest: try fields["newest"], more: try fields["more"],
            names: try fields["names"])
    }
}

@_spi(JSON) extension Item: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        self.init(
            seq: try fields["seq"], position: try fields["position"], key: try fields[maybe: "key"],
            topic: try fields[maybe: "topic"], content: try Content(from: decoder), isMuted: try fields["muted"],
            isSeen: try fields["seen"], isRead: try fields["read"], isArchived: try fields["archived"],
            isDeleted: try fields[maybe: "deleted"] ?? false, isGone: try fields[maybe: "gone"] ?? false,
            snoozedUntil: try fields[maybe: "snoozedUntil"], outcome: try fields[maybe: "outcome"],
            actor: try fields[maybe: "actor"],
            occurredAt: try fields[maybe: "occurredAt"], recordedAt: try fields["recordedAt"],
            arrivedAt: try fields[maybe: "arrivedAt"])
    }
}

@_spi(JSON) extension Outcome: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        self.init(
            action: try fields["action"], note: try fields[maybe: "note"], actor: try fields["actor"],
            seq: try fields["seq"], at: try fields["at"], asOf: try fields["asOf"])
    }
}

@_spi(JSON) extension ItemLife: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        self.init(
            user: try fields["user"], asOf: try fields["asOf"], item: try fields["item"], events: try fields["life"])
    }
}

@_spi(JSON) extension Audience: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        let outcomes: [String: Int] = try fields["outcomes"]
        self.init(
            item: try fields["item"], asOf: try fields["asOf"], recipients: try fields["recipients"],
            seen: try fields["seen"], read: try fields["read"], archived: try fields["archived"],
            deleted: try fields["deleted"], awaiting: try fields["awaiting"],
            outcomes: outcomes.map { OutcomeCount(action: $0.key, count: $0.value) }
                .sorted { $0.action.precedesInBytes($1.action) }, erased: try fields["erased"])
    }
}

@_spi(JSON) extension ScheduledItem: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        self.init(
            seq: try fields["seq"], user: try fields[maybe: "user"], topic: try fields[maybe: "topic"],
            notBefore: try fields["notBefore"], title: try fields[maybe: "title"])
    }
}

@_spi(JSON) extension Recipient: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        self.init(
            user: try fields["user"], seen: try fields[maybe: "seen"], read: try fields[maybe: "read"],
            outcome: try fields[maybe: "outcome"])
    }
}

@_spi(JSON) extension Recipient.Occasion: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        self.init(seq: try fields["seq"], at: try fields["at"])
    }
}

@_spi(JSON) extension Receipt: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        let seq: Seq? = try fields[maybe: "seq"]
        self = try fields.word("result") { result in
            switch (result, seq) {
            case ("appended", let seq?): .appended(seq)
            case ("duplicate", let seq?): .duplicate(seq)
            case ("unchanged", nil): .unchanged
            default: nil
            }
        }
    }
}
