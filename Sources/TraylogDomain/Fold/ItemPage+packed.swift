extension ItemPage {
    /// A larger page, with its key and checksum, would not share an LMDB page with others.
    static let packedByteLimit = 1_900

    /// A tight upper bound of the bytes that ``pack(into:)`` writes.
    var packedByteBound: Int {
        let names = IdentityTable(of: entries)
        let perEntry = 3 * varintBytes(UInt64(names.identities.count))
        var bound = varintBytes(first) + varintBytes(markedThrough) + varintBytes(changedBy)
        bound += varintBytes(UInt64(names.identities.count)) + 8 * names.identities.count
        bound += varintBytes(UInt64(entries.count))
        var position = first
        for entry in entries {
            bound += perEntry + varintBytes(UInt64(entry.flags.rawValue) << 2)
            bound += varintBytes(entry.position &- position)
            position = entry.position
            if entry.seq != entry.position { bound += varintBytes(entry.seq) }
            if entry.summaryCount != 1 { bound += varintBytes(UInt64(entry.summaryCount)) }
        }
        bound += varintBytes(UInt64(overrides.count))
        for override in overrides { bound += varintBytes(override.item) + 1 + varintBytes(override.event) }
        return bound
    }

    /// Appends the page in its stored form (Docs/internals/format.md, "Packed states").
    package func pack(into bytes: inout [UInt8]) {
        let names = IdentityTable(of: entries)
        // No varint is longer than ten bytes.
        let bound = 60 + 8 * names.identities.count + 50 * entries.count + 21 * overrides.count
        bytes.append(addingCapacity: bound) { output in
            output.appendVarint(first)
            output.appendVarint(markedThrough)
            output.appendVarint(changedBy)
            output.appendVarint(UInt64(names.identities.count))
            for identity in names.identities {
                for shift in stride(from: UInt64(0), to: 64, by: 8) {
                    output.append(UInt8(truncatingIfNeeded: identity.rawValue >> shift))
                }
            }
            output.appendVarint(UInt64(entries.count))
            var position = first
            for (index, entry) in entries.enumerated() {
                let isMoved = entry.seq != entry.position
                let hasCount = entry.summaryCount != 1
                output.appendVarint(UInt64(entry.flags.rawValue) << 2 | (isMoved ? 2 : 0) | (hasCount ? 1 : 0))
                output.appendVarint(entry.position &- position)
                position = entry.position
                if isMoved { output.appendVarint(entry.seq) }
                for number in 3 * index..<3 * index + 3 { output.appendVarint(UInt64(names.numbers[number])) }
                if hasCount { output.appendVarint(UInt64(entry.summaryCount)) }
            }
            output.appendVarint(UInt64(overrides.count))
            for override in overrides {
                output.appendVarint(override.item)
                output.append(override.field.number)
                output.appendVarint(override.event)
            }
        }
    }

    package init(from reader: inout PackedReader) throws(PackedError) {
        self.init(first: try reader.varint())
        markedThrough = try reader.varint()
        changedBy = try reader.varint()
        let names = try reader.words(reader.count(minimumBytes: 8))
        let count = try reader.count(minimumBytes: 5)
        // A loaded page usually grows soon.
        entries.reserveCapacity(count + 8)
        var position = first
        for _ in 0..<count {
            let head = try reader.varint()
            guard head >> 2 <= UInt64(UInt16.max) else { throw .damaged("item flags") }
            let (next, overflow) = position.addingReportingOverflow(try reader.varint())
            guard !overflow, entries.isEmpty || next > position else { throw .damaged("item order") }
            position = next
            let seq = head & 2 != 0 ? try reader.varint() : position
            let thread = try reader.identity(names)
            let category = try reader.identity(names)
            let argument = try reader.identity(names)
            let summaryCount = head & 1 != 0 ? try reader.varint() : 1
            guard summaryCount <= UInt64(UInt32.max) else { throw .damaged("summary count") }
            entries.append(
                ItemEntry(
                    seq: seq, position: position, thread: thread, category: category, argument: argument,
                    summaryCount: UInt32(summaryCount), flags: ItemFlags(rawValue: UInt16(head >> 2))))
        }
        for _ in 0..<(try reader.count(minimumBytes: 3)) {
            let item = try reader.varint()
            guard let field = ContentFields(number: try reader.byte()) else { throw .damaged("field") }
            overrides.append(ItemOverride(item: item, field: field, event: try reader.varint()))
        }
    }
}

/// The distinct identities of one page, in the order of their first use.
///
/// Entries refer to them by number, from 1.
private struct IdentityTable {
    private(set) var identities: [Identity] = []
    /// Three numbers for each entry, for thread, category and argument; 0 for none.
    private(set) var numbers: [UInt32] = []
    /// Numbers by the low bits of the identity, which are random; 0 is free.
    ///
    /// Identities beyond ``placed`` are searched.
    private var places = InlineArray<256, UInt8>(repeating: 0)
    private static let placed = 128

    init(of entries: [ItemEntry]) {
        identities.reserveCapacity(2 * entries.count + 1)
        numbers.reserveCapacity(3 * entries.count)
        for entry in entries {
            numbers.append(number(of: entry.thread))
            numbers.append(number(of: entry.category))
            numbers.append(number(of: entry.argument))
        }
    }

    private mutating func number(of identity: Identity) -> UInt32 {
        guard identity != .absent else { return 0 }
        var place = UInt8(truncatingIfNeeded: identity.rawValue)
        while places[Int(place)] != 0 {
            let number = places[Int(place)]
            if identities[Int(number) - 1] == identity { return UInt32(number) }
            place &+= 1
        }
        if identities.count > IdentityTable.placed,
            let index = identities[IdentityTable.placed...].firstIndex(of: identity)
        {
            return UInt32(index + 1)
        }
        identities.append(identity)
        if identities.count <= IdentityTable.placed { places[Int(place)] = UInt8(identities.count) }
        return UInt32(identities.count)
    }
}

extension PackedReader {
    /// Reads the number of an identity in `table`, from 1, and returns the identity; number 0 is absent.
    @inline(__always)
    fileprivate mutating func identity(_ table: Range<Int>) throws(PackedError) -> Identity {
        let number = try varint()
        if number == 0 { return .absent }
        guard number <= UInt64(table.count / 8) else { throw .damaged("identity number") }
        return Identity(rawValue: word(at: table.lowerBound + Int(number - 1) * 8))
    }
}
