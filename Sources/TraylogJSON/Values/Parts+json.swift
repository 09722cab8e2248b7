import TraylogDomain

// Parts of commands, events and queries, in the form that they have there.

@_spi(JSON) extension Command.Action: JSONWritable {
    /// A command without its user: its kind, and the kind's own fields.
    public func write(to writer: inout JSONWriter) { writer.write(Command(user: nil, self)) }
}

@_spi(JSON) extension Command.Action: Decodable {
    /// Reads it by the rules of a command.
    public init(from decoder: any Decoder) throws {
        var tree = try JSONTree(from: decoder)
        if case .object(let members) = tree, try JSONFields(decoder)["kind"] != CommandKind.broadcast.name {
            tree = .object(members + [("user", .string("-"))])
        }
        self = try Command(tree, decoder).action
    }
}

@_spi(JSON) extension Event.Body: JSONWritable {
    /// The event's kind, and the kind's own fields.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("kind", kind.rawValue)
        writer.members(self)
        writer.endObject()
    }
}

@_spi(JSON) extension Event.Body: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws { try self.init(JSONFields(decoder), decoder) }
}

extension ItemFilter {
    /// The filter of a bulk mark: without `thread` it is any, `null` is the app-level group.
    init(marking fields: JSONFields) throws {
        self.init(thread: try Thread(fields), category: try fields[maybe: "category"])
    }
}

extension ItemFilter.Thread {
    fileprivate init(_ fields: JSONFields) throws {
        let thread: String? = try fields[maybe: "thread"]
        self = thread.map { .named($0) } ?? (fields.has("thread") ? .unthreaded : .any)
    }
}

@_spi(JSON) extension MuteScope: JSONWritable {
    /// `{"thread"}`, `{"category"}`, `{"topic"}` or `{"all":true}`.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.members(self)
        writer.endObject()
    }
}

@_spi(JSON) extension MuteScope: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        if try fields[maybe: "all"] ?? false {
            self = .all
        } else {
            self =
                try fields[maybe: "thread"].map { .thread($0) } ?? fields[maybe: "topic"].map { .topic($0) }
                ?? .category(fields["category"])
        }
    }
}

@_spi(JSON) extension ItemFilter: JSONWritable {
    /// With the names of the parameters of a request; `thread` as in a `markAll`.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.members(self)
        writer.endObject()
    }
}

@_spi(JSON) extension ItemFilter: Decodable {
    /// Takes the default of each member that is missing.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        self.init(
            includeSilent: try fields[maybe: "includeSilent"] ?? false,
            onlyUnread: try fields[maybe: "unread"] ?? false, onlyUnseen: try fields[maybe: "unseen"] ?? false,
            onlyAwaiting: try fields[maybe: "awaiting"] ?? false, thread: try Thread(fields),
            categories: try fields.oneOrMany("category"), actor: try fields[maybe: "actor"],
            level: try fields[maybe: "level"], since: try fields[maybe: "since"], until: try fields[maybe: "until"],
            text: try fields[maybe: "text"])
    }
}

extension JSONWriter {
    fileprivate mutating func members(_ filter: ItemFilter) {
        member("includeSilent", filter.includeSilent)
        member("unread", filter.onlyUnread)
        member("unseen", filter.onlyUnseen)
        member("awaiting", filter.onlyAwaiting)
        member(filter.thread)
        switch filter.categories.count {
        case 0: break
        case 1: member("category", filter.categories[0])
        default: member("category", each: filter.categories) { $0.value($1) }
        }
        member("actor", filter.actor)
        member("level", filter.level?.rawValue)
        member("since", filter.since)
        member("until", filter.until)
        member("text", filter.text)
    }
}

@_spi(JSON) extension InboxQuery: JSONWritable {
    /// With the names of the parameters of a request; `thread` as in a `markAll`.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("view", view.rawValue)
        writer.members(filter)
        writer.member("limit", limit)
        writer.member("cursor", cursor?.description)
        writer.endObject()
    }
}

@_spi(JSON) extension InboxQuery: Decodable {
    /// Takes the default of each member that is missing.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        self.init(
            try ItemFilter(from: decoder), view: try fields[maybe: "view"] ?? .inbox,
            limit: try fields[maybe: "limit"] ?? 20, cursor: try fields[maybe: "cursor"])
    }
}
