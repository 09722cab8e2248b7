/// Reading a record: what it holds, and whether it is what was written.
extension RecordCodec {
    /// What follows the header of a record.
    package enum Body: Hashable, Sendable {
        /// The payload is these bytes of the record.
        case inline(Range<Int>)
        /// The payload has this many bytes, in chunks; see ``chunkCount(of:)``.
        case chunked(byteCount: Int)
        /// SHA-256(salt ‖ payload) is these bytes of the record.
        case erased(digest: Range<Int>)
    }

    /// Where the payload of `record` is. Costs a few comparisons; does not check the checksum.
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

    /// Checks the checksum and the shape of a record that is complete: inline or erased.
    ///
    /// - Throws: ``CodecError``: `damaged` when any bit of record or seq is not what was written; `newer` when it
    ///   is, but of a later format; `truncated` for a record whose payload is in chunks, which ``ChunkedRecord``
    ///   checks.
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

    /// Checks the checksum alone, of a record that is complete and whose header and shape were read already.
    ///
    /// - Throws: ``CodecError`` `damaged`.
    package static func verifyChecksum(seq: UInt64, record: RawSpan) throws(CodecError) {
        guard checksum(seq: seq, record: record) == record.littleEndian(at: 0, as: UInt32.self) else {
            throw CodecError(.damaged, seq: seq, "its checksum does not match")
        }
    }

    /// Checks a record whose payload is in chunks and was put together again.
    ///
    /// - Throws: ``CodecError``, as for ``verify(seq:record:)``; `truncated` when the payload's length is not
    ///   the stored one.
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
