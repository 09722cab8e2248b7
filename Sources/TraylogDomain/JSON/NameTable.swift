/// Finds the case of an enumeration that a name stands for.
///
/// - Complexity: O(1); a lookup takes a few nanoseconds.
struct NameTable<Value: Sendable>: Sendable {
    private static var bits: Int { 6 }
    /// An open-addressed hash table, at most half full.
    private var slots: [(name: PackedName, value: Value)?]

    /// - Precondition: at most 32 names, each of 1…15 bytes.
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

    /// The value of a name as it stands in the bytes.
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
