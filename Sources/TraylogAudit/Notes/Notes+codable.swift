// Values that are one string in JSON: their text, or their bytes in Base64.

extension SingleValueDecodingContainer {
    /// Decodes a text as a value; throws `DecodingError` for any other text.
    fileprivate func text<Value, Fault: Error>(_ value: (String) throws(Fault) -> Value?) throws -> Value {
        let text = try decode(String.self)
        do {
            if let value = try value(text) { return value }
            throw DecodingError.dataCorruptedError(in: self, debugDescription: "not \(Value.self)")
        } catch let error as NoteError {
            throw DecodingError.dataCorruptedError(in: self, debugDescription: error.description)
        }
    }
}

extension SignedNote: Codable {
    /// Reads its text.
    public init(from decoder: any Decoder) throws {
        self = try decoder.singleValueContainer().text { text throws(NoteError) in try SignedNote(parsing: text) }
    }

    /// Writes its text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

extension Checkpoint: Codable {
    /// Reads its text.
    public init(from decoder: any Decoder) throws {
        self = try decoder.singleValueContainer().text { text throws(NoteError) in try Checkpoint(text) }
    }

    /// Writes its text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

extension NotePublicKey: Codable {
    /// Reads its text.
    public init(from decoder: any Decoder) throws {
        self = try decoder.singleValueContainer().text { text throws(NoteError) in try NotePublicKey(text) }
    }

    /// Writes its text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

extension EventLeaf: Codable {
    /// Reads its bytes in Base64.
    public init(from decoder: any Decoder) throws {
        self = try decoder.singleValueContainer().text { text throws(NoteError) in
            Base64Text.decode(text).flatMap { EventLeaf(bytes: $0) }
        }
    }

    /// Writes its bytes in Base64.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Base64Text.encode(bytes))
    }
}
