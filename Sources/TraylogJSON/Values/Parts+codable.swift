import TraylogDomain

// Parts of commands, events and queries, in the form that they have there.

@_spi(JSON) extension Command.Action: JSONWritable {
    /// A command without whose it is: its kind, and the kind's own fields.
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

@_spi(JSON) extension Selection: JSONWritable {
    /// Without `thread` it is any, `null` is the app-level group.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.members(self)
        writer.endObject()
    }
}

@_spi(JSON) extension Selection: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        self.init(
            thread: try Thread(fields), category: try fields[maybe: "category"], upTo: try fields[maybe: "upTo"])
    }
}

extension Selection.Thread {
    fileprivate init(_ fields: JSONFields) throws {
        let thread: String? = try fields[maybe: "thread"]
        self = thread.map { .named($0) } ?? (fields.has("thread") ? .unthreaded : .any)
    }
}

@_spi(JSON) extension MuteScope: JSONWritable {
    /// `{"thread"}` or `{"category"}`.
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
        self = try fields[maybe: "thread"].map { .thread($0) } ?? .category(fields["category"])
    }
}

@_spi(JSON) extension InboxQuery: JSONWritable {
    /// With the names of the parameters of a request; `thread` as in a ``Selection``.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("view", view.rawValue)
        writer.member("includeSilent", includeSilent)
        writer.member("unread", onlyUnread)
        writer.member("unseen", onlyUnseen)
        writer.members(Selection(thread: thread, category: categories.count == 1 ? categories[0] : nil))
        if categories.count > 1 { writer.member("category", each: categories) { $0.value($1) } }
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
            view: try fields[maybe: "view"] ?? .inbox, includeSilent: try fields[maybe: "includeSilent"] ?? false,
            onlyUnread: try fields[maybe: "unread"] ?? false, onlyUnseen: try fields[maybe: "unseen"] ?? false,
            thread: try Selection.Thread(fields), categories: try fields.oneOrMany("category"),
            limit: try fields[maybe: "limit"] ?? Limits.defaultPageItems, cursor: try fields[maybe: "cursor"])
    }
}
