/// Finds bytes in a word of eight without looking at each.
///
/// Every function sets the top bit of the bytes that match. Bits above the lowest match may be wrong (borrows),
/// so only the lowest counts; that also holds for a union of several results.
enum ByteSearch {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let tops: UInt64 = 0x8080_8080_8080_8080

    @inline(__always)
    static func equal(_ word: UInt64, to byte: UInt8) -> UInt64 {
        let difference = word ^ (ones &* UInt64(byte))
        return (difference &- ones) & ~difference & tops
    }

    /// Bytes below `limit`, which is at most 0x80.
    @inline(__always)
    static func below(_ limit: UInt8, in word: UInt64) -> UInt64 {
        (word &- ones &* UInt64(limit)) & ~word & tops
    }

    @inline(__always)
    static func nonASCII(_ word: UInt64) -> UInt64 { word & tops }

    /// The index, 0…7, of the lowest match; 8 when there is none.
    @inline(__always)
    static func firstMatch(_ matches: UInt64) -> Int { matches.trailingZeroBitCount &>> 3 }
}
