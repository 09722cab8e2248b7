import TraylogDomain

/// Maps names to the cases of an enumeration, in O(1): a lookup takes a few nanoseconds.
struct WordTable<Value: Sendable>: Sendable {
    private static var bits: Int { 6 }
    /// An open-addressed hash table, at most half full.
    private var slots: [(name: PackedName, value: Value)?]

    /// - Precondition: at most 32 names, each of 1…16 bytes.
    init(_ values: some Collection<Value>, name: (Value) -> String) {
        slots = Array(repeating: nil, count: 1 << Self.bits)
        precondition(values.count <= slots.count / 2, "too many names")
        for value in values {
            guard let packed = PackedName(name(value)) else { preconditionFailure("too long: \(name(value))") }
            var slot = packed.slot(bits: Self.bits)
            while slots[slot] != nil { slot = (slot + 1) % slots.count }
            slots[slot] = (packed, value)
        }
    }

    /// The value of the name at `range`; nil for an unknown name.
    @inline(__always)
    func value(_ range: Range<Int>, in bytes: Span<UInt8>) -> Value? {
        guard let name = PackedName(range, in: bytes) else { return nil }
        var slot = name.slot(bits: Self.bits)
        while let entry = slots[slot] {
            if entry.name == name { return entry.value }
            slot = (slot &+ 1) & (slots.count &- 1)
        }
        return nil
    }

    func value(_ name: String) -> Value? {
        let bytes = name.utf8Span.span
        return value(0..<bytes.count, in: bytes)
    }
}

/// A member name or keyword of at most 16 bytes in two words, so that comparing takes no loop.
struct PackedName: Hashable, Sendable {
    private let low: UInt64
    /// The top byte holds the length or, of a name of 16 bytes, the last one, which is above any length.
    private let high: UInt64

    /// - Returns: nil when the name is longer than 16 bytes, or has that many and ends with a control character.
    @inline(__always)
    init?(_ range: Range<Int>, in bytes: Span<UInt8>) {
        let count = range.count
        guard count <= 16 else { return nil }
        low = PackedName.word(range.lowerBound, min(count, 8), bytes)
        let rest = count > 8 ? PackedName.word(range.lowerBound &+ 8, count &- 8, bytes) : 0
        high = count == 16 ? rest : rest | UInt64(count) &<< 56
        guard count < 16 || rest &>> 56 > 16 else { return nil }
    }

    init?(_ name: String) {
        let bytes = name.utf8Span.span
        self.init(0..<bytes.count, in: bytes)
    }

    /// The first slot to look at, in a table of 2ᵇⁱᵗˢ slots.
    @inline(__always)
    func slot(bits: Int) -> Int {
        let mixed = (low ^ (high &* 0x9e37_79b9_7f4a_7c15)) &* 0xd6e8_feb8_6659_fd93
        return Int(mixed &>> UInt64(64 &- bits))
    }

    /// The `count` (0…8) bytes from `start` on, the first one lowest.
    @inline(__always)
    private static func word(_ start: Int, _ count: Int, _ bytes: Span<UInt8>) -> UInt64 {
        if count > 0, start &+ 8 <= bytes.count {
            return bytes.word(at: start) & (UInt64.max &>> UInt64(64 &- count &* 8))
        }
        var word: UInt64 = 0
        for index in 0..<count { word |= UInt64(bytes[start &+ index]) &<< UInt64(index &* 8) }
        return word
    }
}

extension Mark {
    static let names = WordTable(allCases) { $0.rawValue }
}

extension InterruptionLevel {
    static let names = WordTable(allCases) { $0.rawValue }
}
