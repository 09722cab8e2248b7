/// One field of a payload: its place and its value.
package struct PayloadField: Hashable, Sendable {
    /// 1…536,870,911; a ``FieldNumber`` when this version knows it.
    package var number: UInt32
    package var wireType: WireType
    /// The value or, of `bytes`, their count.
    package var value: UInt64
    /// The offset of the tag.
    package var start: Int
    /// The offset of the value; for `bytes`, of the first byte.
    package var valueStart: Int
    /// The offset after the last byte.
    package var end: Int

    /// The field with its tag.
    package var range: Range<Int> { start..<end }
    /// The bytes of a string, or of packed numbers.
    package var valueRange: Range<Int> { valueStart..<end }
}

/// Reads the fields of a Protocol Buffers message in their order.
///
/// Total: any bytes give fields or a ``PayloadFault``, never a trap. Allocates nothing. It holds only a position; every
/// call takes the bytes, which must be the same each time.
package struct PayloadReader: Sendable {
    package private(set) var position = 0

    package init() {}

    /// The next field; nil at the end of `payload`.
    ///
    /// - Throws: ``PayloadFault``: `truncated` or `malformed`; groups, which proto3 does not have, are malformed.
    @inline(__always)
    package mutating func next(_ payload: RawSpan) throws(PayloadFault) -> PayloadField? {
        let start = position
        guard start < payload.byteCount else { return nil }
        let tag = try varint(payload)
        guard tag >= 8, tag <= UInt64(UInt32.max), let wireType = WireType(rawValue: UInt8(tag & 7)) else {
            throw .malformed(offset: start)
        }
        var field = PayloadField(
            number: UInt32(tag >> 3), wireType: wireType, value: 0, start: start, valueStart: position, end: 0)
        switch wireType {
        case .varint:
            field.value = try varint(payload)
        case .fixed64:
            try skip(8, of: payload)
            field.value = payload.littleEndian(at: field.valueStart)
        case .fixed32:
            try skip(4, of: payload)
            field.value = UInt64(payload.littleEndian(at: field.valueStart, as: UInt32.self))
        case .bytes:
            field.value = try varint(payload)
            field.valueStart = position
            try skip(field.value, of: payload)
        }
        field.end = position
        return field
    }

    /// The number at the position: 7 bits a byte, lowest first.
    @inline(__always)
    package mutating func varint(_ payload: RawSpan) throws(PayloadFault) -> UInt64 {
        guard position < payload.byteCount else { throw .truncated }
        let first = payload.byte(at: position)
        if first < 0x80 {
            position &+= 1
            return UInt64(first)
        }
        return try longVarint(payload)
    }

    private mutating func longVarint(_ payload: RawSpan) throws(PayloadFault) -> UInt64 {
        let start = position
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while position < payload.byteCount {
            let byte = payload.byte(at: position)
            position &+= 1
            // The tenth byte has room for one bit.
            guard shift < 63 || (shift == 63 && byte <= 1) else { throw .malformed(offset: start) }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift &+= 7
        }
        throw .truncated
    }

    @inline(__always)
    private mutating func skip(_ byteCount: UInt64, of payload: RawSpan) throws(PayloadFault) {
        guard byteCount <= UInt64(payload.byteCount &- position) else { throw .truncated }
        position &+= Int(byteCount)
    }
}
