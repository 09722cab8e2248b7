import TraylogDomain

/// The fields of one payload that this version knows, found in one pass and without allocation.
///
/// When a field is repeated the last one counts, by the rules of Protocol Buffers. Strings are ranges of the payload,
/// and unchecked.
struct PayloadFields {
    /// The known fields that are there.
    private(set) var present = FieldSet(rawValue: 0)
    /// The fields that an edit cleared.
    private(set) var cleared = ContentFields(rawValue: 0)
    /// Whether there are fields with numbers that this version does not know.
    private(set) var hasUnknown = false
    /// By field number: a number or, of a string, offset << 32 | count.
    private var slots: InlineArray<48, UInt64> = InlineArray(repeating: 0)

    /// - Throws: ``PayloadFault`` for bytes that are no message, and for a known field of another wire type.
    @inline(__always)
    init(_ payload: RawSpan) throws(PayloadFault) {
        guard payload.byteCount <= Int(UInt32.max) else { throw .malformed(offset: 0) }
        var reader = PayloadReader()
        while let field = try reader.next(payload) {
            guard field.number < 64 else {
                hasUnknown = true
                continue
            }
            try insert(field, payload)
        }
    }

    @inline(__always)
    private mutating func insert(_ field: PayloadField, _ payload: RawSpan) throws(PayloadFault) {
        let number = FieldSet(rawValue: 1 &<< UInt64(field.number))
        var value = field.value
        var expected = FieldSet.varints
        switch field.wireType {
        case .varint: break
        case .bytes:
            expected = .texts
            value |= UInt64(field.valueStart) &<< 32
        case .fixed64: expected = .fixed64s
        case .fixed32: expected = FieldSet(rawValue: 0)
        }
        if !expected.contains(number) { return try insertOther(field, number, payload) }
        if field.number == FieldNumber.cleared.rawValue { try insertCleared(field, payload) }
        slots[Int(field.number)] = value
        present.insert(number)
    }

    /// Takes a field of an unexpected wire type: it is unknown, unpacked or wrong.
    private mutating func insertOther(
        _ field: PayloadField, _ number: FieldSet, _ payload: RawSpan
    ) throws(PayloadFault) {
        guard let known = FieldNumber(rawValue: field.number) else {
            hasUnknown = true
            return
        }
        guard FieldSet.repeated.contains(number), field.wireType == .varint else { throw .badValue(known) }
        if known == .cleared { try insertCleared(field.value) }
        present.insert(number)
    }

    private mutating func insertCleared(_ field: PayloadField, _ payload: RawSpan) throws(PayloadFault) {
        guard field.wireType == .bytes else { return try insertCleared(field.value) }
        let packed = payload.extracting(field.valueRange)
        var reader = PayloadReader()
        while reader.position < packed.byteCount { try insertCleared(try reader.varint(packed)) }
    }

    private mutating func insertCleared(_ number: UInt64) throws(PayloadFault) {
        cleared.insert(try ContentFields(cleared: number))
    }
}

extension PayloadFields {
    @inline(__always)
    func has(_ field: FieldNumber) -> Bool { present.has(field) }

    /// The number as stored; 0 when absent.
    @inline(__always)
    func raw(_ field: FieldNumber) -> UInt64 { slots[Int(field.rawValue)] }

    /// The range of a string's bytes; nil when absent.
    @inline(__always)
    func range(_ field: FieldNumber) -> Range<Int>? {
        guard has(field) else { return nil }
        let slot = raw(field)
        let start = Int(slot >> 32)
        return start..<(start &+ Int(slot & 0xFFFF_FFFF))
    }

    @inline(__always)
    func required(_ field: FieldNumber) throws(PayloadFault) -> UInt64 {
        guard has(field) else { throw .missing(field) }
        return raw(field)
    }

    func requiredSeq(_ field: FieldNumber) throws(PayloadFault) -> Seq { Seq(try required(field)) }

    /// The time in a `sint64` field of milliseconds; nil when absent.
    ///
    /// - Throws: ``PayloadFault`` `badTime` outside of the years that commands may name.
    @inline(__always)
    func time(_ field: FieldNumber) throws(PayloadFault) -> Timestamp? {
        has(field) ? try requiredTime(field) : nil
    }

    private func requiredTime(_ field: FieldNumber) throws(PayloadFault) -> Timestamp {
        let slot = raw(field)
        let time = Timestamp(milliseconds: Int64(bitPattern: slot >> 1) ^ -Int64(bitPattern: slot & 1))
        guard Timestamp.rfc3339Range.contains(time) else { throw .badTime(field) }
        return time
    }

    /// Nil when absent.
    @inline(__always)
    func summaryCount() throws(PayloadFault) -> UInt32? {
        guard has(.summaryCount) else { return nil }
        guard let count = UInt32(exactly: raw(.summaryCount)) else { throw .badValue(.summaryCount) }
        return count
    }

    /// Nil when absent or unspecified.
    @inline(__always)
    func level() throws(PayloadFault) -> InterruptionLevel? {
        try InterruptionLevel(stored: raw(.level))
    }

    /// The fields that an edit sets or clears.
    ///
    /// - Throws: ``PayloadFault`` `contradiction` for one that it both sets and clears.
    func edited() throws(PayloadFault) -> ContentFields {
        var set = ContentFields(rawValue: 0)
        for (content, number) in ContentFields.numbered where has(number) { set.insert(content) }
        if try level() == nil { set.remove(.level) }
        for (content, number) in ContentFields.numbered where set.contains(content) {
            guard !cleared.contains(content) else { throw .contradiction(number, .cleared) }
        }
        return set.union(cleared)
    }

    /// The elements of `items` in their order, packed or not.
    func items<Element>(
        _ payload: RawSpan, _ element: (UInt64) -> Element
    ) throws(PayloadFault) -> [Element] {
        guard has(.items) else { return [] }
        var items: [Element] = []
        var reader = PayloadReader()
        while let field = try reader.next(payload) {
            guard field.number == FieldNumber.items.rawValue else { continue }
            guard field.wireType == .bytes else {
                items.append(element(field.value))
                continue
            }
            let packed = payload.extracting(field.valueRange)
            items.reserveCapacity(items.count + packed.byteCount / 2)
            var numbers = PayloadReader()
            while numbers.position < packed.byteCount { items.append(element(try numbers.varint(packed))) }
        }
        return items
    }
}
