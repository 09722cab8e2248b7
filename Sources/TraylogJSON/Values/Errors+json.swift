@_spi(Replication) import TraylogDomain

// Errors as the program prints them: `{"error","message"}`, and their details.

@_spi(JSON) extension Refusal: JSONWritable {
    /// `{"error","message"}`, and its details as members.
    public func write(to writer: inout JSONWriter) { writer.write(self) }
}

@_spi(JSON) extension JSONWriter {
    /// Writes a refusal: `{"error","message"}`, and its details as members.
    ///
    /// - Parameter line: the number, from 1, of the line that the command came from; nil if it came from none.
    public mutating func write(_ refusal: Refusal, line: Int? = nil) {
        beginObject()
        member("error", refusal.code.rawValue)
        member("message", refusal.message)
        details(refusal)
        if let line { member("line", line) }
        endObject()
    }

    private mutating func details(_ refusal: Refusal) {
        switch refusal {
        case .invalid(let field, _): member("field", field)
        case .unknownItem(let item): member(item)
        case .itemGone(let item), .notSnoozed(let item), .notAnswered(let item): member("item", item)
        case .alreadyActed(let item, let action):
            member("item", item)
            member("action", action)
        case .changedSince(let item, let asOf, let edited):
            member("item", item)
            member("asOf", asOf)
            member("seq", edited)
        case .upToBeyondHead(let seq, let head, let field):
            member("field", field)
            member("seq", seq)
            member("head", head)
        case .unknownEvent(let seq), .staleSnapshot(let seq): member("seq", seq)
        case .notUndoable(let seq, let kind):
            member("seq", seq)
            member("kind", kind.rawValue)
        case .keyConflict(let key, let seq):
            member("key", key)
            member("seq", seq)
        case .wrongRevision(let expected, let revision):
            member("expected", expected)
            member("revision", revision)
        case .compacted(let floor, let archive):
            member("floor", floor)
            member("archive", archive)
        case .held(let user), .erased(let user): member("user", user)
        case .rewound(let seq, let lastShared):
            member("seq", seq)
            member("lastShared", lastShared)
        case .endReached: break
        }
    }
}

@_spi(JSON) extension Refusal: Decodable {
    /// Reads `{"error","message"}` and the details.
    ///
    /// - Throws: `DecodingError` for a message that this version would not have written.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        let message: String = try fields["message"]
        let refusal = try Refusal(fields.word("error") { Code(rawValue: $0) }, fields, message)
        guard refusal.message == message else { throw fields.fault("message", "is not one of this refusal") }
        self = refusal
    }

    private init(_ code: Code, _ fields: JSONFields, _ message: String) throws {
        switch code {
        case .invalid:
            let field: String = try fields["field"]
            self = .invalid(field: field, reason: String(message.utf8.dropFirst("\(field): ".utf8.count)) ?? "")
        case .unknownItem: self = .unknownItem(try fields["item"])
        case .itemGone: self = .itemGone(try fields["item"])
        case .notSnoozed: self = .notSnoozed(try fields["item"])
        case .alreadyActed: self = .alreadyActed(try fields["item"], action: try fields["action"])
        case .notAnswered: self = .notAnswered(try fields["item"])
        case .changedSince:
            self = .changedSince(try fields["item"], asOf: try fields["asOf"], edited: try fields["seq"])
        case .upToBeyondHead:
            self = .upToBeyondHead(try fields["seq"], head: try fields["head"], field: try fields["field"])
        case .unknownEvent: self = .unknownEvent(try fields["seq"])
        case .notUndoable: self = .notUndoable(try fields["seq"], kind: try fields["kind"])
        case .keyConflict: self = .keyConflict(key: try fields["key"], seq: try fields["seq"])
        case .wrongRevision: self = .wrongRevision(expected: try fields["expected"], revision: try fields["revision"])
        case .compacted: self = .compacted(floor: try fields["floor"], archive: try fields[maybe: "archive"])
        case .held: self = .held(user: try fields["user"])
        case .rewound: self = .rewound(try fields["seq"], lastShared: try fields[maybe: "lastShared"])
        case .erased: self = .erased(user: try fields["user"])
        case .staleSnapshot: self = .staleSnapshot(try fields["seq"])
        case .endReached: self = .endReached
        }
    }
}

@_spi(JSON) extension Refusal.Code {
    /// The status of a service's answer that refuses a command or a question for this reason.
    public var httpStatus: Int {
        switch self {
        case .invalid: 400
        case .unknownItem, .unknownEvent: 404
        case .itemGone, .compacted, .erased, .rewound: 410
        default: 422
        }
    }

    /// The statuses of all refusals, ascending.
    public static var httpStatuses: [Int] { Set(allCases.map(\.httpStatus)).sorted() }
}

@_spi(JSON) extension StoreFailure: JSONWritable {
    /// `{"error","message","path","operation","holder"}`: the code is the error.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("error", code.rawValue)
        writer.member("message", message)
        writer.member("path", path)
        writer.member("operation", operation)
        if let holder { writer.member("holder", Int(holder)) }
        writer.endObject()
    }
}

@_spi(JSON) extension StoreFailure: Decodable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        self.init(
            code: try fields["error"], message: try fields["message"], path: try fields[maybe: "path"],
            operation: try fields[maybe: "operation"], holder: try fields[maybe: "holder"])
    }
}

@_spi(JSON) extension TraylogError: JSONWritable {
    /// Encoded as the refusal or the failure itself.
    public func write(to writer: inout JSONWriter) {
        switch self {
        case .refused(let refusal): refusal.write(to: &writer)
        case .failed(let failure): failure.write(to: &writer)
        }
    }
}

@_spi(JSON) extension TraylogError: Decodable {
    /// Tells a refusal from a failure by its name.
    public init(from decoder: any Decoder) throws {
        let isFailure = StoreFailure.Code(rawValue: try JSONFields(decoder)["error"]) != nil
        self = isFailure ? .failed(try StoreFailure(from: decoder)) : .refused(try Refusal(from: decoder))
    }
}
