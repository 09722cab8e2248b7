import TraylogDomain

/// Writes Protocol Buffers fields one after the other into bytes that have room for them.
///
/// The counterpart of ``PayloadReader``: it holds a position only, and the bytes are lent to each call. (A closure
/// over an `OutputSpan` would be shorter, but capturing an event copies it: half of the time of an encoding.)
/// Absent values write nothing.
struct PayloadWriter {
    /// Where the next byte goes.
    private(set) var position: Int

    @inline(__always)
    init(at position: Int) { self.position = position }

    @inline(__always)
    mutating func put(byte: UInt8, _ bytes: inout MutableSpan<UInt8>) {
        bytes[position] = byte
        position &+= 1
    }

    @inline(__always)
    mutating func put(varint number: UInt64, _ bytes: inout MutableSpan<UInt8>) {
        var rest = number
        while rest >= 0x80 {
            put(byte: UInt8(truncatingIfNeeded: rest) | 0x80, &bytes)
            rest >>= 7
        }
        put(byte: UInt8(truncatingIfNeeded: rest), &bytes)
    }

    @inline(__always)
    mutating func put(tag field: FieldNumber, _ bytes: inout MutableSpan<UInt8>) {
        put(varint: UInt64(field.rawValue << 3 | UInt32(field.wireType.rawValue)), &bytes)
    }

    @inline(__always)
    mutating func put(_ field: FieldNumber, _ text: borrowing String?, _ bytes: inout MutableSpan<UInt8>) {
        switch text {
        case .none: break
        case .some(let text): put(field, some: text, &bytes)
        }
    }

    @inline(__always)
    mutating func put(_ field: FieldNumber, some text: borrowing String, _ bytes: inout MutableSpan<UInt8>) {
        put(tag: field, &bytes)
        put(text, &bytes)
    }

    /// Length and bytes. Not inlined: it is the bulk of the code of a text field.
    @inline(never)
    mutating func put(_ text: borrowing String, _ bytes: inout MutableSpan<UInt8>) {
        let size = text.utf8.count
        put(varint: UInt64(size), &bytes)
        bytes.store(text, at: position)
        position &+= size
    }

    @inline(__always)
    mutating func put(_ field: FieldNumber, _ number: UInt64, _ bytes: inout MutableSpan<UInt8>) {
        put(tag: field, &bytes)
        put(varint: number, &bytes)
    }

    @inline(__always)
    mutating func put(_ field: FieldNumber, _ seq: Seq?, _ bytes: inout MutableSpan<UInt8>) {
        if let seq { put(field, seq.rawValue, &bytes) }
    }

    /// A `sint64`: small negative numbers stay short.
    @inline(__always)
    mutating func put(_ field: FieldNumber, _ time: Timestamp?, _ bytes: inout MutableSpan<UInt8>) {
        guard let milliseconds = time?.milliseconds else { return }
        put(field, UInt64(bitPattern: (milliseconds << 1) ^ (milliseconds >> 63)), &bytes)
    }

    @inline(__always)
    mutating func put(_ field: FieldNumber, _ flag: Bool, _ bytes: inout MutableSpan<UInt8>) {
        if flag { put(field, 1, &bytes) }
    }

    @inline(__always)
    mutating func put(_ field: FieldNumber, fixed64 number: UInt64, _ bytes: inout MutableSpan<UInt8>) {
        put(tag: field, &bytes)
        bytes.store(littleEndian: number, at: position)
        position &+= 8
    }

    /// Packed numbers; none write nothing.
    mutating func put(_ field: FieldNumber, packed numbers: [Seq], _ bytes: inout MutableSpan<UInt8>) {
        guard !numbers.isEmpty else { return }
        put(tag: field, &bytes)
        put(varint: numbers.reduce(into: 0) { $0 += varintBytes($1.rawValue) }, &bytes)
        for number in numbers { put(varint: number.rawValue, &bytes) }
    }

    /// Bytes as they are.
    mutating func put(raw source: RawSpan, _ bytes: inout MutableSpan<UInt8>) {
        bytes.store(source, at: position)
        position &+= source.byteCount
    }

    private func varintBytes(_ number: UInt64) -> UInt64 {
        UInt64((70 - (number | 1).leadingZeroBitCount) / 7)
    }
}
