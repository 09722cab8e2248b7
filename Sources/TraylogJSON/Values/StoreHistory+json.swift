@_spi(Replication) import TraylogDomain

@_spi(JSON) extension StoreHistory.Fork: Codable {
    private enum CodingKeys: String, CodingKey { case mark, after }

    /// Reads `{"mark","after"}`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard let id = UInt64(canonical: try container.decode(String.self, forKey: .mark)), id > 0 else {
            throw DecodingError.dataCorruptedError(
                forKey: .mark, in: container, debugDescription: "is no mark of a history")
        }
        self.init(id: id, after: try container.decode(Seq.self, forKey: .after))
    }

    /// Writes its JSON form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(mark, forKey: .mark)
        try container.encode(after, forKey: .after)
    }
}

@_spi(JSON) extension StoreHistory: Codable {
    /// Reads the list of forks.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let history = StoreHistory(try container.decode([Fork].self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "its forks are out of order")
        }
        self = history
    }

    /// Writes its JSON form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(forks)
    }
}
