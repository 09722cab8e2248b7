extension ItemPage {
    /// A stored page larger than this would take an LMDB page of its own (with its key and checksum).
    static let packedByteLimit = 1_900

    /// No less than the bytes that ``pack(into:)`` writes, and little more.
    var packedByteBound: Int { byteBound(names: IdentityTable(of: entries)) }

    private func byteBound(names: borrowing IdentityTable) -> Int {
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

    /// Appends the page in its stored form (Docs/format.md, "Packed states").
    package func pack(into bytes: inout [UInt8]) {
        let names = IdentityTable(of: entries)
        bytes.append(addingCapacity: byteBound(names: names)) { output in
            output.appendVarint(first)
            output.appendVarint(markedThrough)
            output.appendVarint(changedBy)
            output.appendVarint(UInt64(names.identities.count))
            for identity in names.identities {
                for shift in stride(from: UInt64(0), to: 64, by: 8) {
                    output.append(UInt8(truncatingIfNeeded: identity >> shift))
                }
            }
            output.appendVarint(UInt64(entries.count))
            var position = first
            for entry in entries {
                let isMoved = entry.seq != entry.position
                let hasCount = entry.summaryCount != 1
                output.appendVarint(UInt64(entry.flags.rawValue) << 2 | (isMoved ? 2 : 0) | (hasCount ? 1 : 0))
                output.appendVarint(entry.position &- position)
                position = entry.position
                if isMoved { output.appendVarint(entry.seq) }
                output.appendVarint(names.index(of: entry.thread))
                output.appendVarint(names.index(of: entry.category))
                output.appendVarint(names.index(of: entry.argument))
                if hasCount { output.appendVarint(UInt64(entry.summaryCount)) }
            }
            output.appendVarint(UInt64(overrides.count))
            for override in overrides {
                output.appendVarint(override.item)
                output.append(override.field.rawValue)
                output.appendVarint(override.event)
            }
        }
    }

    package init(from reader: inout PackedReader) throws(PackedError) {
        self.init(first: try reader.varint())
        markedThrough = try reader.varint()
        changedBy = try reader.varint()
        var names: [UInt64] = [0]
        let nameCount = try reader.count(minimumBytes: 8)
        names.reserveCapacity(nameCount + 1)
        for _ in 0..<nameCount { names.append(try reader.fixed64()) }
        let count = try reader.count(minimumBytes: 5)
        // What is loaded is about to grow, as a rule.
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
            let field = ContentFields(rawValue: try reader.byte())
            overrides.append(ItemOverride(item: item, field: field, event: try reader.varint()))
        }
    }
}

/// The distinct identities of one page, in the order of their first use; entries refer to them by number from 1.
private struct IdentityTable {
    var identities: [UInt64] = []
    /// Numbers by the low bits of the identity, which are random; 0 is free. Larger tables are searched instead.
    private var places = [UInt8](repeating: 0, count: 256)
    private static let placed = 128

    init(of entries: [ItemEntry]) {
        for entry in entries {
            add(entry.thread)
            add(entry.category)
            add(entry.argument)
        }
    }

    mutating func add(_ identity: UInt64) {
        guard identity != 0, index(of: identity) == 0 else { return }
        identities.append(identity)
        guard identities.count <= IdentityTable.placed else { return }
        var place = UInt8(truncatingIfNeeded: identity)
        while places[Int(place)] != 0 { place &+= 1 }
        places[Int(place)] = UInt8(identities.count)
    }

    /// 0 for no identity and for one that is not there.
    func index(of identity: UInt64) -> UInt64 {
        guard identity != 0 else { return 0 }
        var place = UInt8(truncatingIfNeeded: identity)
        while places[Int(place)] != 0 {
            let number = places[Int(place)]
            if identities[Int(number) - 1] == identity { return UInt64(number) }
            place &+= 1
        }
        guard identities.count > IdentityTable.placed else { return 0 }
        let rest = identities[IdentityTable.placed...]
        return rest.firstIndex(of: identity).map { UInt64($0 + 1) } ?? 0
    }
}

extension PackedReader {
    /// An identity by its number in a table that begins with none.
    @inline(__always)
    fileprivate mutating func identity(_ table: [UInt64]) throws(PackedError) -> UInt64 {
        let number = try varint()
        guard number < UInt64(table.count) else { throw .damaged("identity number") }
        return table[Int(number)]
    }
}
