extension ItemPage {
    /// A stored page larger than this would take an LMDB page of its own (with its key and checksum).
    static let packedByteLimit = 1_900

    /// No less than the bytes that ``pack(into:)`` writes; exact where it matters.
    var packedByteBound: Int {
        let rough = 40 + entries.count * 44 + overrides.count * 19
        guard rough > ItemPage.packedByteLimit else { return rough }
        var bytes: [UInt8] = []
        pack(into: &bytes)
        return bytes.count
    }

    /// Appends the page in its stored form (Docs/format.md, "Packed states").
    package func pack(into bytes: inout [UInt8]) {
        bytes.appendVarint(first)
        bytes.appendVarint(markedThrough)
        bytes.appendVarint(changedBy)
        var names = IdentityTable()
        for entry in entries {
            names.add(entry.thread)
            names.add(entry.category)
            names.add(entry.argument)
        }
        bytes.appendVarint(UInt64(names.identities.count))
        for identity in names.identities { bytes.appendFixed64(identity) }
        bytes.appendVarint(UInt64(entries.count))
        var position = first
        for entry in entries {
            let isMoved = entry.seq != entry.position
            let hasCount = entry.summaryCount != 1
            bytes.appendVarint(UInt64(entry.flags.rawValue) << 2 | (isMoved ? 2 : 0) | (hasCount ? 1 : 0))
            bytes.appendVarint(entry.position - position)
            position = entry.position
            if isMoved { bytes.appendVarint(entry.seq) }
            bytes.appendVarint(names.index(of: entry.thread))
            bytes.appendVarint(names.index(of: entry.category))
            bytes.appendVarint(names.index(of: entry.argument))
            if hasCount { bytes.appendVarint(UInt64(entry.summaryCount)) }
        }
        bytes.appendVarint(UInt64(overrides.count))
        for override in overrides {
            bytes.appendVarint(override.item)
            bytes.append(override.field.rawValue)
            bytes.appendVarint(override.event)
        }
    }

    package init(from reader: inout PackedReader) throws(PackedError) {
        self.init(first: try reader.varint())
        markedThrough = try reader.varint()
        changedBy = try reader.varint()
        let names = try IdentityTable(from: &reader)
        let count = try reader.count(minimumBytes: 5)
        entries.reserveCapacity(count)
        var position = first
        for _ in 0..<count {
            let head = try reader.varint()
            guard head >> 2 <= UInt64(UInt16.max) else { throw .damaged("item flags") }
            let (next, overflow) = position.addingReportingOverflow(try reader.varint())
            guard !overflow, entries.isEmpty || next > position else { throw .damaged("item order") }
            position = next
            let seq = head & 2 != 0 ? try reader.varint() : position
            let thread = try names.identity(at: reader.varint())
            let category = try names.identity(at: reader.varint())
            let argument = try names.identity(at: reader.varint())
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

    init() {}

    init(from reader: inout PackedReader) throws(PackedError) {
        let count = try reader.count(minimumBytes: 8)
        identities.reserveCapacity(count)
        for _ in 0..<count { identities.append(try reader.fixed64()) }
    }

    mutating func add(_ identity: UInt64) {
        if identity != 0, !identities.contains(identity) { identities.append(identity) }
    }

    func index(of identity: UInt64) -> UInt64 {
        guard identity != 0, let index = identities.firstIndex(of: identity) else { return 0 }
        return UInt64(index + 1)
    }

    func identity(at index: UInt64) throws(PackedError) -> UInt64 {
        if index == 0 { return 0 }
        guard index <= UInt64(identities.count) else { throw .damaged("identity number") }
        return identities[Int(index - 1)]
    }
}
