import TraylogDomain

// Values that are one number or one string in JSON.

extension Seq: Codable {
    /// Makes one of its parts.
    public init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(UInt64.self))
    }

    /// Writes its JSON form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}

extension Timestamp: Codable {
    /// Reads a time in RFC 3339.
    public init(from decoder: any Decoder) throws {
        self = try decoder.singleValueContainer().word { Timestamp(rfc3339: $0) }
    }

    /// Writes its JSON form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rfc3339)
    }
}

extension Cursor: Codable {
    /// Makes one of its parts.
    public init(from decoder: any Decoder) throws {
        self = try decoder.singleValueContainer().word { Cursor($0) }
    }

    /// Writes its JSON form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

extension Mark: Codable {
    /// Makes one of its parts.
    public init(from decoder: any Decoder) throws {
        self = try decoder.singleValueContainer().word { Mark(name: $0) }
    }

    /// Writes its JSON form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(name)
    }
}

extension BulkMark: Codable {
    /// Makes one of its parts.
    public init(from decoder: any Decoder) throws {
        self = try decoder.singleValueContainer().word { BulkMark(name: $0) }
    }

    /// Writes its JSON form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(name)
    }
}

extension InterruptionLevel: Codable {
    /// Makes one of its parts.
    public init(from decoder: any Decoder) throws {
        self = try decoder.singleValueContainer().word { InterruptionLevel(name: $0) }
    }

    /// Writes its JSON form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(name)
    }
}

extension EventKind: Codable {
    /// Makes one of its parts.
    public init(from decoder: any Decoder) throws {
        self = try decoder.singleValueContainer().word { EventKind(name: $0) }
    }

    /// Writes its JSON form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(name)
    }
}

extension ItemReference: Codable {
    /// A number is a seq, a string is a key.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let seq = try? container.decode(UInt64.self) {
            self = .seq(Seq(seq))
        } else {
            self = .key(try container.decode(String.self))
        }
    }

    /// Writes its JSON form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .seq(let seq): try container.encode(seq.rawValue)
        case .key(let key): try container.encode(key)
        }
    }
}
