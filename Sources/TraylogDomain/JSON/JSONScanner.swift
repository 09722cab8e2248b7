/// Reads strict JSON (RFC 8259) from bytes, value by value, without building a tree.
///
/// A position in bytes that every call is given anew (a span cannot be kept). No bytes make it trap.
/// Stricter than the grammar: half surrogate pairs in `\u` escapes are refused and values nest at most
/// ``JSONNesting/limit`` deep. A repeated member name is not its business.
package struct JSONScanner: Sendable {
    /// The index of the next byte.
    package var offset = 0

    package init() {}

    /// The next byte; 0, which starts nothing in JSON, at the end.
    @inline(__always)
    func peek(in bytes: Span<UInt8>) -> UInt8 {
        offset < bytes.count ? bytes[offset] : 0
    }

    /// Passes spaces, tabs and line ends.
    @inline(__always)
    package mutating func skipSpace(in bytes: Span<UInt8>) {
        while offset < bytes.count, bytes[offset] <= 0x20, JSONScanner.isSpace(bytes[offset]) {
            offset &+= 1
        }
    }

    /// Passes `byte` if it is next.
    @inline(__always)
    package mutating func skip(_ byte: UInt8, in bytes: Span<UInt8>) -> Bool {
        guard offset < bytes.count, bytes[offset] == byte else { return false }
        offset &+= 1
        return true
    }

    /// Passes the end of the text, space before it included.
    package mutating func end(in bytes: Span<UInt8>) throws(JSONFault) {
        skipSpace(in: bytes)
        guard offset == bytes.count else { throw JSONFault(.trailingBytes, at: offset) }
    }

    /// Passes `true` or `false`; nil, at the same place, when neither is next.
    package mutating func boolean(in bytes: Span<UInt8>) -> Bool? {
        if skipWord("true", in: bytes) { return true }
        return skipWord("false", in: bytes) ? false : nil
    }

    /// Passes `null` if it is next.
    package mutating func null(in bytes: Span<UInt8>) -> Bool {
        peek(in: bytes) == UInt8(ascii: "n") && skipWord("null", in: bytes)
    }

    private mutating func skipWord(_ word: String, in bytes: Span<UInt8>) -> Bool {
        var end = offset
        for byte in word.utf8 {
            guard end < bytes.count, bytes[end] == byte else { return false }
            end &+= 1
        }
        offset = end
        return true
    }

    /// The fault of finding no `reason` here: the text's end comes first.
    func fault(_ reason: JSONFault.Reason, in bytes: Span<UInt8>) -> JSONFault {
        JSONFault(offset < bytes.count ? reason : .endsEarly, at: offset)
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0a || byte == 0x0d
    }
}
