/// Reads strict JSON (RFC 8259) from bytes, value by value, without building a tree.
///
/// It holds only a position; every call takes the bytes, because a span cannot be stored. No bytes make it trap.
/// It is stricter than the grammar: it refuses half surrogate pairs in `\u` escapes, and values that nest more than
/// ``deepest`` levels. It does not look for repeated member names.
package struct JSONScanner: Sendable {
    /// How many arrays and objects may stand in each other.
    package static var deepest: Int { JSONNesting.limit }

    /// The index of the next byte.
    package var offset = 0

    package init() {}

    /// The next byte; at the end 0, which starts no JSON value.
    @inline(__always)
    package func peek(in bytes: Span<UInt8>) -> UInt8 {
        offset < bytes.count ? bytes[offset] : 0
    }

    /// Skips spaces, tabs and line ends.
    @inline(__always)
    package mutating func skipSpace(in bytes: Span<UInt8>) {
        while offset < bytes.count, bytes[offset] <= 0x20, JSONScanner.isSpace(bytes[offset]) {
            offset &+= 1
        }
    }

    /// Skips `byte` if it is next.
    @inline(__always)
    package mutating func skip(_ byte: UInt8, in bytes: Span<UInt8>) -> Bool {
        guard offset < bytes.count, bytes[offset] == byte else { return false }
        offset &+= 1
        return true
    }

    /// Checks that only space is left.
    package mutating func end(in bytes: Span<UInt8>) throws(JSONFault) {
        skipSpace(in: bytes)
        guard offset == bytes.count else { throw JSONFault(.trailingBytes, at: offset) }
    }

    /// Reads `true` or `false`; nil, without moving, when neither is next.
    package mutating func boolean(in bytes: Span<UInt8>) -> Bool? {
        if skipWord("true", in: bytes) { return true }
        return skipWord("false", in: bytes) ? false : nil
    }

    /// Skips `null` if it is next.
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

    /// A fault at this place: `reason`, or the early end of the text.
    package func fault(_ reason: JSONFault.Reason, in bytes: Span<UInt8>) -> JSONFault {
        JSONFault(offset < bytes.count ? reason : .endsEarly, at: offset)
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0a || byte == 0x0d
    }
}

/// The arrays and objects that are open around a value: one bit each, in a fixed space.
struct JSONNesting {
    /// The maximum depth.
    static let limit = 512

    private var bits = [8 of UInt64](repeating: 0)
    private(set) var depth = 0

    var isEmpty: Bool { depth == 0 }

    /// Whether the innermost container is an object.
    ///
    /// - Precondition: a container is open.
    var isObject: Bool {
        let index = depth &- 1
        return bits[index &>> 6] &>> UInt64(index & 63) & 1 == 1
    }

    /// Opens a container; false when `deepest` are open already.
    ///
    /// - Parameter deepest: at most ``limit``.
    mutating func open(object: Bool, deepest: Int) -> Bool {
        guard depth < min(deepest, JSONNesting.limit) else { return false }
        let mask: UInt64 = 1 &<< UInt64(depth & 63)
        if object { bits[depth &>> 6] |= mask } else { bits[depth &>> 6] &= ~mask }
        depth &+= 1
        return true
    }

    mutating func close() { depth &-= 1 }
}

/// The reason why bytes are not strict JSON, and the place.
package struct JSONFault: Error, Hashable, Sendable {
    package enum Reason: Hashable, Sendable {
        case endsEarly
        case noValue
        case leadingZero
        case noDigit
        case controlCharacter
        case badEscape
        case loneSurrogate
        case invalidUTF8
        case noName
        case noColon
        case noSeparator
        case repeatedName
        case tooDeep(most: Int)
        case trailingBytes
    }

    package var reason: Reason
    /// The index of the byte at fault, from 0.
    package var offset: Int

    package init(_ reason: Reason, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }
}

extension JSONFault: CustomStringConvertible {
    /// A clause for an error message; it counts bytes from 1.
    package var description: String {
        let what =
            switch reason {
            case .endsEarly: "the JSON ends early"
            case .noValue: "there is no JSON value"
            case .leadingZero: "a number has a leading zero"
            case .noDigit: "a number lacks a digit"
            case .controlCharacter: "a string has an unescaped control character"
            case .badEscape: "a string has an unknown escape"
            case .loneSurrogate: "a string has half of a surrogate pair"
            case .invalidUTF8: "a string is not UTF-8"
            case .noName: "a member name in quotes is missing"
            case .noColon: "a colon is missing"
            case .noSeparator: "a comma or closing bracket is missing"
            case .repeatedName: "a member is given twice"
            case .tooDeep(let most): "values are nested more than \(most) deep"
            case .trailingBytes: "something follows the JSON value"
            }
        return "\(what) (byte \(offset &+ 1))"
    }
}
