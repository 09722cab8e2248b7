import TraylogDomain

// Values that are one number or one string in JSON.

// Coded by their raw values.
extension Mark: Codable {}
extension BulkMark: Codable {}
extension InterruptionLevel: Codable {}
extension EventKind: Codable {}

@_spi(JSON) extension Seq: Codable {
    /// Reads the number.
    public init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(UInt64.self))
    }

    /// Writes its JSON form, the number.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}

@_spi(JSON) extension Timestamp: Codable {
    /// Reads a time in RFC 3339.
    public init(from decoder: any Decoder) throws {
        self = try decoder.singleValueContainer().word { Timestamp($0) }
    }

    /// Writes its JSON form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

@_spi(JSON) extension Cursor: Codable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        self = try decoder.singleValueContainer().word { Cursor($0) }
    }

    /// Writes its JSON form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

@_spi(JSON) extension ItemReference: Codable {
    /// A number is a seq, a string is a key.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let seq = try? container.decode(Seq.self) {
            self = .seq(seq)
        } else {
            self = .key(try container.decode(String.self))
        }
    }

    /// Writes its JSON form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .seq(let seq): try container.encode(seq)
        case .key(let key): try container.encode(key)
        }
    }
}

@_spi(JSON) extension Moment: Codable {
    /// A number is a seq, a string a time in RFC 3339.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let seq = try? container.decode(Seq.self) {
            self = .seq(seq)
        } else {
            self = .time(try container.decode(Timestamp.self))
        }
    }

    /// Writes its JSON form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .seq(let seq): try container.encode(seq)
        case .time(let time): try container.encode(time)
        }
    }
}
