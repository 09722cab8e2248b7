extension KeyIndex {
    /// Appends what is at hand; pages are stored by themselves.
    func packRecent(into bytes: inout [UInt8]) {
        bytes.appendVarint(pageCount)
        bytes.appendVarint(UInt64(recent.count))
        for entry in recent {
            bytes.appendFixed64(entry.identity)
            bytes.appendVarint(entry.seq)
        }
    }

    init(from reader: inout PackedReader) throws(PackedError) {
        pageCount = try reader.varint()
        let count = try reader.count(minimumBytes: 9)
        recent.reserveCapacity(count)
        for _ in 0..<count {
            let identity = try reader.fixed64()
            recent.append(Entry(identity: identity, seq: try reader.varint()))
        }
    }
}

extension KeyIndex.Page {
    package func pack(into bytes: inout [UInt8]) {
        bytes.appendFixed64(first)
        bytes.appendVarint(changedBy)
        bytes.appendVarint(UInt64(entries.count))
        for entry in entries {
            bytes.appendFixed64(entry.identity)
            bytes.appendVarint(entry.seq)
        }
    }

    package init(from reader: inout PackedReader) throws(PackedError) {
        self.init(first: try reader.fixed64())
        changedBy = try reader.varint()
        let count = try reader.count(minimumBytes: 9)
        entries.reserveCapacity(count)
        for _ in 0..<count {
            let identity = try reader.fixed64()
            guard identity >= entries.last?.identity ?? first else { throw .damaged("key order") }
            entries.append(KeyIndex.Entry(identity: identity, seq: try reader.varint()))
        }
    }
}
