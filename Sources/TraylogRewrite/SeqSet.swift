/// A set of seqs, one bit each.
struct SeqSet: Sendable {
    private var words: [UInt64] = []
    private(set) var count: UInt64 = 0

    func contains(_ seq: UInt64) -> Bool {
        let word = Int(seq / 64)
        return word < words.count && words[word] & (1 << (seq % 64)) != 0
    }

    mutating func insert(_ seq: UInt64) {
        let word = Int(seq / 64)
        if word >= words.count {
            words.append(contentsOf: repeatElement(0, count: max(word + 1, words.count * 2) - words.count))
        }
        if words[word] & (1 << (seq % 64)) == 0 { count += 1 }
        words[word] |= 1 << (seq % 64)
    }

    mutating func remove(_ seq: UInt64) {
        let word = Int(seq / 64)
        guard word < words.count, words[word] & (1 << (seq % 64)) != 0 else { return }
        count -= 1
        words[word] &= ~(1 << (seq % 64))
    }
}
