import TraylogAudit
import TraylogDomain
import TraylogLog
import TraylogLMDB

extension EventLog {
    /// An event's leaf, from its record, erased or not, after checking it; nil when the log does not
    /// hold it (any more).
    ///
    /// - Throws: ``CodecError``, ``LMDBError``.
    package func leaf(_ seq: UInt64, in transaction: borrowing ReadTransaction) throws -> EventLeaf? {
        try record(seq, in: transaction) { try leaf(of: seq, $0, in: transaction) }
    }

    /// The same for a record that the caller has read.
    func leaf(of seq: UInt64, _ record: RawSpan, in transaction: borrowing ReadTransaction) throws -> EventLeaf {
        let header = try RecordHeader.read(record, seq: seq)
        return EventLeaf(seq, header, digest: try digest(of: seq, header, record, in: transaction))
    }

    /// SHA-256(salt ‖ payload): computed, or of an erased payload what was kept of it.
    func digest(
        of seq: UInt64, _ header: RecordHeader, _ record: RawSpan, in transaction: borrowing ReadTransaction
    ) throws -> MerkleHash {
        switch try RecordCodec.body(seq: seq, header: header, record: record) {
        case .inline(let range):
            try RecordCodec.verify(seq: seq, record: record)
            return EventLog.digest(ofPayload: range, in: record)
        case .chunked:
            return try withPayload(of: seq, record, in: transaction) { header, payload in
                let salt = header.salt.bytes
                return .sha256(RawSpan(_elements: salt.span), payload)
            }
        case .erased(let range):
            try RecordCodec.verify(seq: seq, record: record)
            guard let digest = MerkleHash(bytes: record.extracting(range)) else {
                throw CodecError(.damaged, seq: seq, "the digest in the place of its payload")
            }
            return digest
        }
    }

    private static let saltBytes = 16

    /// The same for a payload in its record, where the salt stands right before it.
    package static func digest(ofPayload range: Range<Int>, in record: RawSpan) -> MerkleHash {
        .sha256(record.extracting((range.lowerBound - saltBytes)..<range.upperBound))
    }
}

extension LogRow {
    /// The event's leaf, erased or not, after checking the record.
    ///
    /// - Throws: ``CodecError``.
    package func leaf() throws -> EventLeaf {
        let span = RawSpan(_elements: record.span)
        let header = try RecordHeader.read(span, seq: seq)
        guard case .erased(let range) = try RecordCodec.body(seq: seq, header: header, record: span) else {
            return try withPayload { header, payload in
                let salt = header.salt.bytes
                return EventLeaf(seq, header, digest: .sha256(RawSpan(_elements: salt.span), payload))
            }
        }
        try RecordCodec.verify(seq: seq, record: span)
        guard let digest = MerkleHash(bytes: span.extracting(range)) else {
            throw CodecError(.damaged, seq: seq, "the digest in the place of its payload")
        }
        return EventLeaf(seq, header, digest: digest)
    }
}

extension EventLeaf {
    /// The leaf of an event, from its record's header.
    package init(_ seq: UInt64, _ header: RecordHeader, digest: MerkleHash) {
        self.init(
            version: RecordHeader.version, kind: header.kindNumber, stream: header.stream.rawValue,
            revision: header.revision, seq: seq, recordedAt: header.recordedAt.milliseconds,
            occurredAt: header.occurredAt?.milliseconds, digest: digest)
    }
}

extension EventLog {
    /// The record that stays of an event once its user is erased; nil for events of others, and for what says nothing
    /// already.
    ///
    /// - Parameter payload: of a record whose payload is in chunks; else empty.
    package static func erasedRecord(
        _ seq: UInt64, _ record: RawSpan, _ payload: RawSpan, ifOf stream: StreamID
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
