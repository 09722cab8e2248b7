import TraylogDomain

/// Writing Protocol Buffers fields. Absent values write nothing.
extension OutputSpan<UInt8> {
    @inline(__always)
    mutating func append(varint number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(truncatingIfNeeded: rest))
    }

    @inline(__always)
    mutating func append(tag field: FieldNumber) {
        append(varint: UInt64(field.rawValue << 3 | UInt32(field.wireType.rawValue)))
    }

    @inline(__always)
    mutating func append(_ field: FieldNumber, _ text: borrowing String?) {
        switch text {
        case .none: break
        case .some(let text): append(field, some: text)
        }
    }

    mutating func append(_ field: FieldNumber, some text: borrowing String) {
        let bytes = RawSpan(_elements: text.utf8Span.span)
        append(tag: field)
        append(varint: UInt64(bytes.byteCount))
        append(copying: bytes)
    }

    @inline(__always)
    mutating func append(_ field: FieldNumber, _ number: UInt64) {
        append(tag: field)
        append(varint: number)
    }

    @inline(__always)
    mutating func append(_ field: FieldNumber, _ seq: Seq?) {
        if let seq { append(field, seq.rawValue) }
    }

    /// A `sint64`: small negative numbers stay short.
    @inline(__always)
    mutating func append(_ field: FieldNumber, _ time: Timestamp?) {
        guard let milliseconds = time?.milliseconds else { return }
        append(field, UInt64(bitPattern: (milliseconds << 1) ^ (milliseconds >> 63)))
    }

    @inline(__always)
    mutating func append(_ field: FieldNumber, _ flag: Bool) {
        if flag { append(field, 1) }
    }

    /// Packed numbers; none write nothing.
    mutating func append(_ field: FieldNumber, packed numbers: [Seq]) {
        guard !numbers.isEmpty else { return }
        append(tag: field)
        append(varint: numbers.reduce(into: 0) { $0 += varintBytes($1.rawValue) })
        for number in numbers { append(varint: number.rawValue) }
    }

    private func varintBytes(_ number: UInt64) -> UInt64 {
        UInt64((70 - (number | 1).leadingZeroBitCount) / 7)
    }
}
