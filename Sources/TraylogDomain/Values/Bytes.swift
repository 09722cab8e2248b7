extension String {
    /// Whether both have the same UTF-8.
    ///
    /// Swift's `==` calls canonically equivalent texts equal. Names and keys are equal only when their bytes are.
    package func hasSameBytes(as other: String) -> Bool {
        // Equal bytes make equal strings, which Swift compares fastest; the converse holds in ASCII.
        guard self == other else { return false }
        return (utf8Span.isKnownASCII && other.utf8Span.isKnownASCII) || utf8.elementsEqual(other.utf8)
    }

    /// Compares the UTF-8 byte by byte, which is the order of stored keys.
    package func precedesInBytes(_ other: String) -> Bool {
        utf8.lexicographicallyPrecedes(other.utf8)
    }
}

extension String? {
    package func hasSameBytes(as other: String?) -> Bool {
        switch (self, other) {
        case (nil, nil): true
        case (let left?, let right?): left.hasSameBytes(as: right)
        default: false
        }
    }
}

extension Span<UInt8> {
    /// The eight bytes from `offset` on as one number, the first byte lowest; one load in optimised code.
    ///
    /// - Precondition: eight bytes are there.
    @inline(__always)
    package func word(at offset: Int) -> UInt64 {
        // Known to have eight bytes, so that the compiler joins the loads and drops their bounds checks.
        let eight = extracting(offset..<offset &+ 8)
        let low =
            UInt64(eight[0]) | UInt64(eight[1]) &<< 8 | UInt64(eight[2]) &<< 16 | UInt64(eight[3]) &<< 24
        let high =
            UInt64(eight[4]) | UInt64(eight[5]) &<< 8 | UInt64(eight[6]) &<< 16 | UInt64(eight[7]) &<< 24
        return low | high &<< 32
    }

    package func hasSameBytes(as other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        for index in indices where self[index] != other[index] { return false }
        return true
    }
}

/// Finds bytes in a word of eight without looking at each.
///
/// Every function sets the top bit of the bytes that match. Only the lowest match is reliable, also in a union of
/// several results: borrows may set bits above it.
package enum ByteSearch {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let tops: UInt64 = 0x8080_8080_8080_8080

    @inline(__always)
    package static func equal(_ word: UInt64, to byte: UInt8) -> UInt64 {
        let difference = word ^ (ones &* UInt64(byte))
        return (difference &- ones) & ~difference & tops
    }

    /// Bytes below `limit`, which is at most 0x80.
    @inline(__always)
    package static func below(_ limit: UInt8, in word: UInt64) -> UInt64 {
        (word &- ones &* UInt64(limit)) & ~word & tops
    }

    @inline(__always)
    static func nonASCII(_ word: UInt64) -> UInt64 { word & tops }

    /// The index, 0…7, of the lowest match; 8 when there is none.
    @inline(__always)
    static func firstMatch(_ matches: UInt64) -> Int { matches.trailingZeroBitCount &>> 3 }
}
