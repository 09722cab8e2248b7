extension Span<UInt8> {
    /// The eight bytes from `offset` on as one number, the first byte lowest; one load in optimised code.
    ///
    /// - Precondition: eight bytes are there.
    @inline(__always)
    func word(at offset: Int) -> UInt64 {
        // Known to have eight bytes, so that the compiler joins the loads and drops their bounds checks.
        let eight = extracting(offset..<offset &+ 8)
        let low =
            UInt64(eight[0]) | UInt64(eight[1]) &<< 8 | UInt64(eight[2]) &<< 16 | UInt64(eight[3]) &<< 24
        let high =
            UInt64(eight[4]) | UInt64(eight[5]) &<< 8 | UInt64(eight[6]) &<< 16 | UInt64(eight[7]) &<< 24
        return low | high &<< 32
    }
}

extension Span<UInt8> {
    package func hasSameBytes(as other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        for index in indices where self[index] != other[index] { return false }
        return true
    }
}
