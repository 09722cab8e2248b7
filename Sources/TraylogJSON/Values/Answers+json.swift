@_spi(Operations) import TraylogDomain

// The answers of queries. What follows from other members (`isSeen`, `summary`) is written and not read.

@_spi(JSON) extension Tray: JSONWritable {
    /// Writes a tray.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("user", user)
        writer.member("asOf", asOf)
        writer.member("revision", revision)
        writer.member("isSeen", isSeen)
        writer.member("unseen", unseen)
        writer.member("unread", unread)
        writer.member("awaiting", awaiting)
        writer.member("total", total)
        writer.member("seenUpTo", seenUpTo)
        writer.member("seenAt", orNull: seenAt)
        writer.member("newest", orNull: newest)
        writer.member("newestCounted", orNull: newestCounted)
        writer.name("categories")
        writer.beginObject()
        for counts in categories {
            writer.name(escaping: counts.category)
            writer.beginObject()
            writer.member("unseen", counts.unseen)
            writer.member("unread", counts.unread)
            writer.endObject()
        }
        writer.endObject()
        writer.endObject()
    }
}

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

@_spi(JSON) extension Mutes: JSONWritable {
    /// Writes the mutes of a user.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("user", user)
        writer.member("asOf", asOf)
        writer.member("mutes", each: mutes) { $0.write($1) }
        writer.endObject()
    }
}

@_spi(JSON) extension Mutes: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        self.init(user: try fields["user"], asOf: try fields["asOf"], mutes: try fields["mutes"])
    }
}

@_spi(JSON) extension Mute: JSONWritable {
    /// Writes one mute: its scope, `since`, and `until` if any.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.members(scope)
        writer.member("since", since)
        writer.member("until", until)
        writer.endObject()
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

@_spi(JSON) extension Page: JSONForm, JSONWritable
where Element: JSONWritable, Next: Encodable & CustomStringConvertible {
    /// Writes its JSON form: `{"elements","next","asOf"}`.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("elements", each: elements) { $1.write(to: &$0) }
        if let next {
            if let seq = next as? Seq { writer.member("next", seq) } else { writer.member("next", next.description) }
        }
        writer.member("asOf", asOf)
        writer.endObject()
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

@_spi(JSON) extension JSONWriter {
    /// Writes one page of an inbox.
    public mutating func write(_ page: Page<Item, Cursor>, of user: String) {
        beginObject()
        member("user", user)
        member("asOf", page.asOf)
        member("items", each: page.elements) { $0.write($1) }
        member("next", orNull: page.next?.description)
        endObject()
    }

    /// Writes one page of threads.
    public mutating func write(_ page: Page<ThreadGroup, Cursor>, of user: String) {
        beginObject()
        member("user", user)
        member("asOf", page.asOf)
        member("threads", each: page.elements) { $0.write($1) }
        member("next", orNull: page.next?.description)
        endObject()
    }
}

@_spi(JSON) extension ThreadGroup: JSONWritable {
    /// Writes a value in the form of the program.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("thread", orNull: thread)
        writer.member("count", count)
        writer.member("unseen", unseen)
        writer.member("unread", unread)
        writer.name("newest")
        writer.write(newest)
        writer.member("summary", orNull: summary)
        writer.member("more", more)
        writer.member("names", each: names) { $0.value($1) }
        writer.endObject()
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

@_spi(JSON) extension Item: JSONWritable {
    /// Writes an item.
    ///
    /// Flags, level and summary count are always present.
    public func write(to writer: inout JSONWriter) {
        let content = content
        writer.beginObject()
        writer.member("seq", seq)
        writer.member("position", position)
        writer.member("key", key)
        writer.member("topic", topic)
        writer.member("thread", content.thread)
        writer.member("category", content.category)
        writer.member("title", content.title)
        writer.member("body", content.body)
        writer.member("summaryArgument", content.summaryArgument)
        writer.member("summaryCount", UInt64(content.summaryCount))
        writer.member("level", content.level.rawValue)
        writer.member("collapseKey", content.collapseKey)
        writer.member("silent", content.isSilent)
        writer.member("muted", isMuted)
        writer.member("seen", isSeen)
        writer.member("read", isRead)
        writer.member("archived", isArchived)
        // No page has such items.
        if isDeleted { writer.member("deleted", true) }
        if isGone { writer.member("gone", true) }
        writer.member("snoozedUntil", snoozedUntil)
        writer.member("expiresAt", content.expiresAt)
        writer.member("remindAt", content.remindAt)
        writer.members(content.actions)
        if let outcome {
            writer.name("outcome")
            writer.write(outcome)
        }
        writer.member("actor", actor)
        writer.member("occurredAt", occurredAt)
        writer.member("recordedAt", recordedAt)
        writer.member("arrivedAt", arrivedAt)
        writer.member("data", raw: content.data)
        writer.endObject()
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

@_spi(JSON) extension Outcome: JSONWritable {
    /// Writes a user's answer.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("action", action)
        writer.member("note", note)
        writer.member("actor", actor)
        writer.member("seq", seq)
        writer.member("at", at)
        writer.member("asOf", asOf)
        writer.endObject()
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

@_spi(JSON) extension ItemLife: JSONWritable {
    /// Writes an item with its life.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("user", user)
        writer.member("asOf", asOf)
        writer.name("item")
        writer.write(item)
        writer.member("life", each: events) { $0.write($1) }
        writer.endObject()
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

@_spi(JSON) extension Audience: JSONWritable {
    /// Writes the audience of a broadcast.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("item", item)
        writer.member("asOf", asOf)
        writer.member("recipients", recipients)
        writer.member("seen", seen)
        writer.member("read", read)
        writer.member("archived", archived)
        writer.member("deleted", deleted)
        writer.member("awaiting", awaiting)
        writer.name("outcomes")
        writer.beginObject()
        for outcome in outcomes {
            writer.name(escaping: outcome.action)
            writer.value(outcome.count)
        }
        writer.endObject()
        writer.member("erased", erased)
        writer.endObject()
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

@_spi(JSON) extension ScheduledItem: JSONWritable {
    /// Writes an item that has not arrived.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("seq", seq)
        writer.member("user", user)
        writer.member("topic", topic)
        writer.member("notBefore", notBefore)
        writer.member("title", title)
        writer.endObject()
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

@_spi(JSON) extension Recipient: JSONWritable {
    /// Writes one recipient of a broadcast.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("user", user)
        for (name, occasion) in [("seen", seen), ("read", read)] {
            guard let occasion else { continue }
            writer.name(name)
            writer.write(occasion)
        }
        if let outcome {
            writer.name("outcome")
            writer.write(outcome)
        }
        writer.endObject()
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

@_spi(JSON) extension Recipient.Occasion: JSONWritable {
    /// Writes an event that changed an item, with its time.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("seq", seq)
        writer.member("at", at)
        writer.endObject()
    }
}

@_spi(JSON) extension Recipient.Occasion: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        self.init(seq: try fields["seq"], at: try fields["at"])
    }
}

@_spi(JSON) extension Receipt: JSONWritable {
    /// Writes the outcome of a command: `{"result","seq"}`.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.members(self)
        writer.endObject()
    }
}

@_spi(JSON) extension JSONWriter {
    /// Writes the members of a receipt, in an object that may have others.
    public mutating func members(_ receipt: Receipt) {
        let result =
            switch receipt {
            case .appended: "appended"
            case .unchanged: "unchanged"
            case .duplicate: "duplicate"
            }
        member("result", result)
        member("seq", receipt.seq)
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
