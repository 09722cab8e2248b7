@_spi(Replication) import TraylogDomain

// Errors as the program prints them: `{"error","message"}`.

@_spi(JSON) extension Refusal: Decodable {
    /// Reads `{"error","message"}`, and extracts the details from the message.
    ///
    /// - Throws: `DecodingError` for a message that this version would not have written.
    public init(from decoder: any Decoder) throws {
        let fields = try JSONFields(decoder)
        let message: String = try fields["message"]
        let refusal = try fields.word("error") { Refusal.Code(rawValue: $0).flatMap { Refusal($0, message) } }
        guard refusal.message == message else { throw fields.fault("message", "is not one of this refusal") }
        self = refusal
    }

    private init?(_ code: Refusal.Code, _ message: String) {
        let scalars = message.unicodeScalars
        let numbers = scalars.split { !("0"..."9").contains($0) }.compactMap { UInt64(String($0)).map { Seq($0) } }
        let quoted = scalars.firstIndex(of: "\"").map { scalars[$0...].dropFirst() }
        let text = quoted.flatMap { text in text.lastIndex(of: "\"").map { String(text[..<$0]) } } ?? ""
        let parts = message.parts(around: ": ")
        let number = numbers.first ?? .zero
        switch code {
        case .invalid: self = .invalid(field: parts.0, reason: parts.1)
        case .unknownItem: self = .unknownItem(quoted == nil ? .seq(number) : .key(text))
        case .itemGone: self = .itemGone(number)
        case .notSnoozed: self = .notSnoozed(number)
        case .alreadyActed: self = .alreadyActed(number, action: text)
        case .notAnswered: self = .notAnswered(number)
        case .changedSince:
            guard numbers.count == 3 else { return nil }
            self = .changedSince(numbers[0], asOf: numbers[1], edited: numbers[2])
        case .upToBeyondHead:
            self = .upToBeyondHead(numbers.dropLast().last ?? .zero, head: numbers.last ?? .zero, field: parts.0)
        case .unknownEvent: self = .unknownEvent(number)
        case .notUndoable:
            guard let kind = EventKind(rawValue: message.parts(around: " is ").1.parts(around: ";").0) else {
                return nil
            }
            self = .notUndoable(number, kind: kind)
        case .keyConflict: self = .keyConflict(key: text, seq: numbers.last ?? .zero)
        case .wrongRevision:
            guard numbers.count == 2 else { return nil }
            self = .wrongRevision(expected: numbers[0].rawValue, revision: numbers[1].rawValue)
        case .compacted:
            let archive = message.parts(around: " are in the archive ").1
            self = .compacted(floor: number, archive: archive.isEmpty ? nil : archive)
        case .held: self = .held(user: message.parts(around: " is held and cannot be erased").0)
        case .rewound: self = .rewound(number, lastShared: numbers.count > 1 ? numbers[1] : nil)
        case .erased: self = .erased(user: message.parts(around: " was erased, and the name may").0)
        case .staleSnapshot: self = .staleSnapshot(number)
        case .endReached: self = .endReached
        }
    }
}

extension String {
    /// Before and after the first `separator`; all and nothing where there is none.
    fileprivate func parts(around separator: String) -> (String, String) {
        // By scalars: what follows a separator may combine with its last character.
        let scalars = unicodeScalars
        for index in scalars.indices where scalars[index...].starts(with: separator.unicodeScalars) {
            return (String(scalars[..<index]), String(scalars[index...].dropFirst(separator.unicodeScalars.count)))
        }
        return (self, "")
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
