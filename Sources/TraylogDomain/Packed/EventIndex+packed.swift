extension EventIndex.Page {
    /// Appends the page in its stored form.
    package func pack(into bytes: inout [UInt8]) {
        bytes.appendVarint(first)
        bytes.appendVarint(UInt64(packed.count))
        bytes.append(contentsOf: packed)
    }

    package init(from reader: inout PackedReader) throws(PackedError) {
        let first = try reader.varint()
        self.init(first: first, packed: try reader.take(reader.count()))
    }
}
