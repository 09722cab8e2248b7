/// A set of stream numbers that is visited in order: one bit a number.
package struct StreamSet {
    private var words: [UInt64] = []
    package private(set) var count = 0

    package init() {}

    package mutating func insert(_ stream: UInt32) {
        let word = Int(stream / 64)
        if word >= words.count {
            words.append(contentsOf: repeatElement(0, count: max(word + 1, words.count * 2) - words.count))
        }
        let bit: UInt64 = 1 << UInt64(stream % 64)
        if words[word] & bit == 0 { count += 1 }
        words[word] |= bit
    }

    package mutating func remove(_ stream: UInt32) {
        let word = Int(stream / 64)
        guard word < words.count else { return }
        let bit: UInt64 = 1 << UInt64(stream % 64)
        if words[word] & bit != 0 { count -= 1 }
        words[word] &= ~bit
    }

    package func contains(_ stream: UInt32) -> Bool {
        let word = Int(stream / 64)
        return word < words.count && words[word] & (1 << UInt64(stream % 64)) != 0
    }

    /// The smallest member at or above `stream`.
    package func next(from stream: UInt32) -> UInt32? {
        var word = Int(stream / 64)
        guard word < words.count else { return nil }
        var bits = words[word] & (.max << UInt64(stream % 64))
        while bits == 0 {
            word += 1
            guard word < words.count else { return nil }
            bits = words[word]
        }
        return UInt32(word * 64 + bits.trailingZeroBitCount)
    }
}
