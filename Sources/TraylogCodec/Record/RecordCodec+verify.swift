/// Reading and checking a record.
extension RecordCodec {
    /// The part of a record after its header.
    package enum Body: Hashable, Sendable {
        /// The payload is these bytes of the record.
        case inline(Range<Int>)
        /// The payload has this many bytes, in chunks; see ``chunkCount(of:)``.
        case chunked(byteCount: Int)
        /// SHA-256(salt ‖ payload) is these bytes of the record.
        case erased(digest: Range<Int>)
    }

    /// The place of the payload.
    ///
    /// Costs a few comparisons; does not check the checksum.
    ///
    /// - Throws: ``CodecError`` `damaged` when the length of the record does not fit its header.
    package static func body(
        seq: UInt64, header: RecordHeader, record: RawSpan
    ) throws(CodecError) -> Body {
        let end = record.byteCount
        if header.isErased {
            guard end == RecordHeader.byteCount + digestBytes else { throw badLength(end, seq: seq) }
            return .erased(digest: RecordHeader.byteCount..<end)
        }
        guard header.isChunked else {
            guard end <= inlineBytes, end >= RecordHeader.byteCount else { throw badLength(end, seq: seq) }
            return .inline(RecordHeader.byteCount..<end)
        }
        guard end == RecordHeader.byteCount + 4 else { throw badLength(end, seq: seq) }
        let byteCount = Int(record.littleEndian(at: RecordHeader.byteCount, as: UInt32.self))
        guard byteCount > inlinePayloadBytes, byteCount <= largestPayloadBytes else {
            throw CodecError(.damaged, seq: seq, "a payload of \(byteCount) bytes is not stored in chunks")
        }
        return .chunked(byteCount: byteCount)
    }

    /// Checks the checksum and the shape of an inline or erased record.
    ///
    /// - Throws: ``CodecError``: `damaged` when any bit of record or seq differs from the written one; `newer` for an
    ///   undamaged record of a later format; `truncated` for a record with its payload in chunks, which
    ///   ``ChunkedRecord`` checks.
    /// - Complexity: one pass over the record.
    package static func verify(seq: UInt64, record: RawSpan) throws(CodecError) {
        guard record.byteCount >= RecordHeader.byteCount else {
            _ = try RecordHeader.read(record, seq: seq)
            return
        }
        // The checksum comes first, so that a flipped bit of the version is not taken for a newer format.
        let matches = checksum(seq: seq, record: record) == record.littleEndian(at: 0, as: UInt32.self)
        let flags = RecordFlags(rawValue: record.littleEndian(at: 6))
        guard matches || flags == .chunked else {
            throw CodecError(.damaged, seq: seq, "its checksum does not match")
        }
        let header = try RecordHeader.read(record, seq: seq)
        if case .chunked = try body(seq: seq, header: header, record: record) {
            throw CodecError(.truncated, seq: seq, "the chunks of its payload are missing")
        }
    }

    /// Checks only the checksum, of an inline or erased record whose header and shape were read already.
    ///
    /// - Throws: ``CodecError`` `damaged`.
    package static func verifyChecksum(seq: UInt64, record: RawSpan) throws(CodecError) {
        guard checksum(seq: seq, record: record) == record.littleEndian(at: 0, as: UInt32.self) else {
            throw CodecError(.damaged, seq: seq, "its checksum does not match")
        }
    }

    /// Checks a chunked record, given its payload put together.
    ///
    /// - Throws: ``CodecError``, as for ``verify(seq:record:)``; `truncated` when the length of the payload is not the
    ///   stored one.
    package static func verify(
        seq: UInt64, record: RawSpan, chunkedPayload payload: RawSpan
    ) throws(CodecError) {
        var check = try ChunkedRecord(seq: seq, record: record)
        check.add(payload)
        try check.finish()
    }

    private static func badLength(_ byteCount: Int, seq: UInt64) -> CodecError {
        CodecError(.damaged, seq: seq, "its record has \(byteCount) bytes, which does not fit its header")
    }
}

/// Checks a record with its payload in chunks, which are added in order.
package struct ChunkedRecord: Sendable {
    package let seq: UInt64
    package let header: RecordHeader
    /// The size of the whole payload.
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
