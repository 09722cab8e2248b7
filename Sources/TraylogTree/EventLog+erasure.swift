import TraylogAudit
import TraylogLog

extension EventLog {
    /// The record that stays of an event once its user is erased; nil for events of others, and for what says nothing
    /// already.
    ///
    /// - Parameter payload: of a record whose payload is in chunks; else empty.
    package static func erasedRecord(
        _ seq: UInt64, _ record: RawSpan, _ payload: RawSpan, ifOf stream: UInt32
    ) throws -> [UInt8]? {
        let header = try RecordHeader.read(record, seq: seq)
        guard header.stream == stream, !header.isErased else { return nil }
        let salt = header.salt.bytes
        let payload =
            header.isChunked ? payload : record.extracting(RecordHeader.byteCount..<record.byteCount)
        var digest: [UInt8] = []
        MerkleHash.sha256(RawSpan(_elements: salt.span), payload).append(to: &digest)
        var bytes: [UInt8] = []
        RecordCodec.appendErased(seq: seq, header: header, digest: RawSpan(_elements: digest.span), to: &bytes)
        return bytes
    }
}
