/// The check of a record whose payload is in chunks, fed chunk by chunk in order.
package struct ChunkedRecord: Sendable {
    package let seq: UInt64
    package let header: RecordHeader
    /// Of the whole payload.
    package let byteCount: Int
    private var added = 0
    private var crc: UInt32

    /// - Throws: ``CodecError``: `damaged` when the payload of `record` is not in chunks.
    package init(seq: UInt64, record: RawSpan) throws(CodecError) {
        let header = try RecordHeader.read(record, seq: seq)
        guard case .chunked(let byteCount) = try RecordCodec.body(seq: seq, header: header, record: record)
        else { throw CodecError(.damaged, seq: seq, "its payload is not in chunks") }
        self.seq = seq
        self.header = header
        self.byteCount = byteCount
        crc = RecordCodec.checksum(seq: seq, record: record)
    }

    package mutating func add(_ chunk: RawSpan) {
        crc = crc32c(chunk, from: crc)
        added += chunk.byteCount
    }

    /// - Throws: ``CodecError``: `truncated` when bytes are missing or too many, `damaged` when they differ.
    package func finish() throws(CodecError) {
        guard added == byteCount else {
            throw CodecError(
                .truncated, seq: seq, "\(added) of the \(byteCount) bytes of its payload are there")
        }
        guard crc == header.crc else { throw CodecError(.damaged, seq: seq, "its checksum does not match") }
    }
}
