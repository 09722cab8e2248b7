extension JSONScanner {
    /// Whether two JSON values, known to be valid, say the same with their members in the same order.
    ///
    /// Space does not count, nor how a character is escaped. Numbers are equal as integers, or as they are written.
    package static func areEqual(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
        var (one, other) = (JSONScanner(), JSONScanner())
        // Both are valid, so that the same tokens in the same order are the same value.
        while true {
            one.skipSpace(in: left)
            other.skipSpace(in: right)
            guard one.offset < left.count, other.offset < right.count else {
                return one.offset == left.count && other.offset == right.count
            }
            guard one.passesSameToken(as: &other, left, right) else { return false }
        }
    }

    private mutating func passesSameToken(
        as other: inout JSONScanner, _ left: Span<UInt8>, _ right: Span<UInt8>
    ) -> Bool {
        switch (peek(in: left), other.peek(in: right)) {
        case (UInt8(ascii: "\""), UInt8(ascii: "\"")):
            guard let mine = try? string(in: left), let theirs = try? other.string(in: right) else { return false }
            return mine.hasSameBytes(as: theirs)
        case (UInt8(ascii: "-"), _), (UInt8(ascii: "0")...UInt8(ascii: "9"), _):
            return passesSameNumber(as: &other, left, right)
        case (let byte, let otherByte) where byte == otherByte:
            offset &+= 1
            other.offset &+= 1
            return true
        default:
            return false
        }
    }

    private mutating func passesSameNumber(
        as other: inout JSONScanner, _ left: Span<UInt8>, _ right: Span<UInt8>
    ) -> Bool {
        let (start, otherStart) = (offset, other.offset)
        guard let mine = try? integer(in: left), let theirs = try? other.integer(in: right) else { return false }
        if case .value = mine { return mine == theirs }
        return left.extracting(start..<offset).hasSameBytes(as: right.extracting(otherStart..<other.offset))
    }
}
