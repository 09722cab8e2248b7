/// The reason why packed bytes cannot be read.
package enum PackedError: Error, Hashable, Sendable {
    case damaged(String)
    case newer(version: UInt8)
    case older(version: UInt8)
}

/// Reads packed integers in order; every read is checked, so that no bytes make it trap.
package struct PackedReader {
    private let bytes: [UInt8]
    private var offset = 0
    private let end: Int

    /// Reads `bytes`, or those before `end`.
    package init(_ bytes: [UInt8], end: Int? = nil) {
        self.bytes = bytes
        self.end = min(end ?? bytes.count, bytes.count)
    }

    package var isAtEnd: Bool { offset >= end }
    package var remaining: Int { end - offset }

    package mutating func byte() throws(PackedError) -> UInt8 {
        guard offset < end else { throw .damaged("ends early") }
        defer { offset += 1 }
        return bytes[offset]
    }

    @inline(__always)
    package mutating func varint() throws(PackedError) -> UInt64 {
        // Most numbers are small.
        guard offset < end, bytes[offset] < 0x80 else { return try longVarint() }
        defer { offset &+= 1 }
        return UInt64(bytes[offset])
    }

    private mutating func longVarint() throws(PackedError) -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let byte = try byte()
            guard shift < 63 || byte <= 1 else { throw .damaged("number too large") }
            value |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
    }

    package mutating func fixed64() throws(PackedError) -> UInt64 {
        guard remaining >= 8 else { throw .damaged("ends early") }
        defer { offset += 8 }
        return bytes.span.word(at: offset)
    }

    package mutating func identity() throws(PackedError) -> Identity { Identity(rawValue: try fixed64()) }

    /// Skips `count` numbers of eight bytes each.
    ///
    /// - Returns: their offsets, for ``word(at:)``.
    package mutating func words(_ count: Int) throws(PackedError) -> Range<Int> {
        guard count >= 0, count <= remaining / 8 else { throw .damaged("ends early") }
        defer { offset += count * 8 }
        return offset..<offset + count * 8
    }

    @inline(__always)
    package func word(at offset: Int) -> UInt64 { bytes.span.word(at: offset) }

    /// Reads a count of things that take at least `minimumBytes` each.
    ///
    /// A damaged count cannot ask for more memory than the bytes that are left.
    package mutating func count(minimumBytes: Int = 1) throws(PackedError) -> Int {
        let count = try varint()
        guard count <= UInt64(remaining / minimumBytes) else { throw .damaged("count too large") }
        return Int(count)
    }

    /// Reads `count` bytes.
    ///
    /// - Parameter spare: how many bytes the caller is about to append to the result.
    package mutating func take(_ count: Int, spare: Int = 0) throws(PackedError) -> [UInt8] {
        guard count >= 0, remaining >= count else { throw .damaged("ends early") }
        defer { offset += count }
        var taken: [UInt8] = []
        taken.reserveCapacity(count + spare)
        taken.append(contentsOf: bytes[offset..<(offset + count)])
        return taken
    }
}

/// The bytes that a varint takes.
func varintBytes(_ value: UInt64) -> Int {
    max(1, (UInt64.bitWidth - value.leadingZeroBitCount + 6) / 7)
}

extension OutputSpan<UInt8> {
    @inline(__always)
    mutating func appendVarint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(truncatingIfNeeded: rest))
    }
}

extension [UInt8] {
    /// Makes room for `count` more bytes, and doubles the capacity when it must grow.
    ///
    /// Appending with a stated capacity grows an array by just that, so that a buffer filled in small steps would move
    /// with every step.
    package mutating func growGeometrically(for count: Int) {
        if capacity - self.count < count { reserveCapacity(Swift.max(capacity * 2, self.count + count)) }
    }

    package mutating func appendVarint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(truncatingIfNeeded: rest))
    }

    package mutating func appendFixed64(_ value: UInt64) {
        append(addingCapacity: 8) { output in
            for shift in stride(from: UInt64(0), to: 64, by: 8) {
                output.append(UInt8(truncatingIfNeeded: value >> shift))
            }
        }
    }
}
