// The JSON forms of the command line.

extension MerkleHash: Codable {
    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let hash = MerkleHash(hex: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not 64 hexadecimal digits")
        }
        self = hash
    }

    /// Writes its JSON form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(hex)
    }
}

/// `{"seq","leafIndex","treeSize","rootHash","leafHash","leaf","path"}`; without `leaf` for an event that left the log.
@_spi(JSON) extension EventProof: Codable {
    private enum CodingKeys: String, CodingKey {
        case seq, leafIndex, leafHash, leaf, path
    }

    /// - Throws: `DecodingError`, also when the members contradict each other.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let head = try TreeHead(from: decoder)
        self.init(
            leafHash: try container.decode(MerkleHash.self, forKey: .leafHash), head: head,
            inclusion: InclusionProof(
                leafIndex: try container.decode(UInt64.self, forKey: .leafIndex), treeSize: head.size,
                path: try container.decode([MerkleHash].self, forKey: .path)))
        let seq = try container.decode(UInt64.self, forKey: .seq)
        guard seq > 0, seq - 1 == inclusion.leafIndex else {
            throw DecodingError.dataCorruptedError(
                forKey: .seq, in: container, debugDescription: "not the event of this leaf")
        }
        guard let text = try container.decodeIfPresent(String.self, forKey: .leaf) else { return }
        guard let bytes = Base64Text.decode(text), let leaf = EventLeaf(bytes: bytes), leaf.hash == leafHash,
            leaf.seq == seq
        else {
            throw DecodingError.dataCorruptedError(
                forKey: .leaf, in: container, debugDescription: "not the leaf of this event, in Base64")
        }
        self.leaf = leaf
    }

    /// Writes its JSON form.
    public func encode(to encoder: any Encoder) throws {
        try head.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(seq, forKey: .seq)
        try container.encode(inclusion.leafIndex, forKey: .leafIndex)
        try container.encode(leafHash, forKey: .leafHash)
        try container.encodeIfPresent(leaf.map { Base64Text.encode($0.bytes) }, forKey: .leaf)
        try container.encode(inclusion.path, forKey: .path)
    }
}

/// `{"first","second","firstRoot","secondRoot","path"}`
@_spi(JSON) extension TreeGrowth: Codable {
    private enum CodingKeys: String, CodingKey {
        case first, second, firstRoot, secondRoot, path
    }

    /// Reads the JSON form.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let first = TreeHead(
            size: try container.decode(UInt64.self, forKey: .first),
            root: try container.decode(MerkleHash.self, forKey: .firstRoot))
        let second = TreeHead(
            size: try container.decode(UInt64.self, forKey: .second),
            root: try container.decode(MerkleHash.self, forKey: .secondRoot))
        self.init(
            first: first, second: second,
            consistency: ConsistencyProof(
                first: first.size, second: second.size, path: try container.decode([MerkleHash].self, forKey: .path)))
    }

    /// Writes its JSON form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(first.size, forKey: .first)
        try container.encode(second.size, forKey: .second)
        try container.encode(first.root, forKey: .firstRoot)
        try container.encode(second.root, forKey: .secondRoot)
        try container.encode(consistency.path, forKey: .path)
    }
}
