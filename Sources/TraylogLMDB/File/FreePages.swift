/// The pages that a commit lists as free, a bit for each.
package struct FreePages: Sendable {
    /// The commit.
    let transaction: UInt64
    /// Each has the bits of 64 pages.
    private(set) var words: [UInt]

    /// - Parameter pageCount: pages from there on are left out.
    init(_ transaction: UInt64, pageCount: UInt64) {
        self.transaction = transaction
        words = Array(repeating: 0, count: Int((pageCount + 63) >> 6))
    }

    mutating func insert(_ number: UInt64) {
        guard number >> 6 < UInt64(words.count) else { return }
        words[Int(number >> 6)] |= 1 << UInt(number & 63)
    }

    @inline(__always)
    func contains(_ number: UInt64) -> Bool {
        number >> 6 < UInt64(words.count) && words[Int(number >> 6)] & (1 << UInt(number & 63)) != 0
    }
}
