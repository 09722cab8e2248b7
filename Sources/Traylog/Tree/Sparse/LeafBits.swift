/// One bit for each leaf of a tile.
struct LeafBits: Sendable {
    static let byteCount = Int(MerkleTable.tileWidth) / 8

    private var words: InlineArray<4, UInt64> = .init(repeating: 0)

    init() {}

    /// - Parameter bytes: ``byteCount`` of them.
    init(_ bytes: RawSpan) {
        for index in words.indices { words[index] = bytes.littleEndian(at: 8 * index, as: UInt64.self) }
    }

    mutating func insert(_ leaf: Int) { words[leaf / 64] |= 1 << UInt64(leaf % 64) }

    func contains(_ leaf: Int) -> Bool { words[leaf / 64] & (1 << UInt64(leaf % 64)) != 0 }

    func hasAny(in range: Range<Int>) -> Bool {
        var start = range.lowerBound
        while start < range.upperBound {
            let end = min(range.upperBound, (start / 64 + 1) * 64)
            let mask = (UInt64.max >> UInt64(64 - (end - start))) << UInt64(start % 64)
            if words[start / 64] & mask != 0 { return true }
            start = end
        }
        return false
    }

    func append(to bytes: inout [UInt8]) {
        for index in words.indices { bytes.append(littleEndian: words[index]) }
    }
}

extension [UInt8] {
    mutating func append(littleEndian value: UInt64) {
        for shift in stride(from: UInt64(0), to: 64, by: 8) { append(UInt8(truncatingIfNeeded: value >> shift)) }
    }
}
