import TraylogDomain
import TraylogLMDB

/// The log: records by seq, and the chunks of large payloads, in two tables of the environment.
///
/// Reads check the record's checksum, unless they say otherwise, so that damage is an error and never an answer.
package struct EventLog: Sendable {
    package static let tableNames = ["log", "chunks"]

    let records: Database
    let largePayloads: Database

    package init(_ environment: Environment) {
        records = environment.database("log")
        largePayloads = environment.database("chunks")
    }

    /// The least that an event takes of the file (one that left the log still has a hash).
    ///
    /// So a forged seq is found before time or memory is spent on the events before it, or on as many streams.
    private static let fewestBytesPerEvent: UInt64 = 32

    /// The seq and the time of recording of the newest event.
    package struct Head: Hashable, Sendable {
        package var seq: UInt64 = 0
        package var recordedAt = Timestamp(milliseconds: .min)

        package init() {}
    }

    /// - Parameter isWhole: whether the file has all that its events leave; false for one that is still being written.
    /// - Throws: ``LMDBError``, ``CodecError``.
    /// - Complexity: O(log n).
    package func head(in transaction: borrowing ReadTransaction, isWhole: Bool = true) throws -> Head {
        try transaction.withCursor(records) { cursor in
            var head = Head()
            guard try cursor.last() else { return head }
            try cursor.withEntry { key, record in
                head.seq = try EventLog.seq(of: key)
                guard !isWhole || head.seq <= transaction.fileBytes / EventLog.fewestBytesPerEvent else {
                    throw CodecError(.damaged, seq: head.seq, "the file is too small for so many events")
                }
                head.recordedAt = try RecordHeader.read(record, seq: head.seq).recordedAt
            }
            return head
        }
    }

    /// Appends the records of `batch`, in order.
    ///
    /// - Throws: ``LMDBError``; `outOfOrder` when the batch does not start right after the head.
    package func append(_ batch: borrowing RecordBatch, to transaction: inout WriteTransaction) throws(LMDBError) {
        let (bytes, ends) = batch.records
        try transaction.append(records, from: batch.firstSeq, RawSpan(_elements: bytes.span), ends: ends.span)
        var key: [UInt8] = []
        for (seq, payload) in batch.largePayloads {
            for index in 0..<RecordCodec.chunkCount(of: payload.count) {
                key.removeAll(keepingCapacity: true)
                RecordCodec.appendChunkKey(seq: seq, index: index, to: &key)
                let range = RecordCodec.chunkRange(index, of: payload.count)
                try transaction.put(
                    largePayloads, RawSpan(_elements: key.span), RawSpan(_elements: payload.span).extracting(range))
            }
        }
    }

    /// The event with this seq; nil when the log does not hold it.
    package func event(_ seq: UInt64, in transaction: borrowing ReadTransaction) throws -> Event? {
        try transaction.get(records, seq) { try event(seq, $0, in: transaction) }
    }

    /// The event that a record of the log holds.
    package func event(_ seq: UInt64, _ record: RawSpan, in transaction: borrowing ReadTransaction) throws -> Event {
        if let skeleton = try EventLog.skeleton(seq, record) { return skeleton }
        return try withPayload(of: seq, record, in: transaction) { header, payload in
            try EventDecoder.event(seq: Seq(seq), header: header, payload: payload)
        }
    }

    /// The skeleton of an erased event; nil for any other event.
    package static func skeleton(_ seq: UInt64, _ record: RawSpan) throws(CodecError) -> Event? {
        let header = try RecordHeader.read(record, seq: seq)
        guard header.isErased else { return nil }
        try RecordCodec.verify(seq: seq, record: record)
        guard let kind = header.kind else {
            throw CodecError(.newer, seq: seq, "its kind is \(header.kindNumber)")
        }
        return Event(
            seq: Seq(seq), recordedAt: header.recordedAt, occurredAt: header.occurredAt,
            revision: UInt64(header.revision), user: Pseudonym.name(ofStream: header.stream), body: .redacted(kind))
    }

    /// Decodes the item that an event brought into an empty one, without edits and marks.
    package func fill(
        _ item: inout Item, from seq: UInt64, _ record: RawSpan, in transaction: borrowing ReadTransaction
    ) throws {
        let header = try RecordHeader.read(record, seq: seq)
        guard !header.isErased else {
            // An erased event has only its times.
            _ = try EventLog.skeleton(seq, record)
            (item.recordedAt, item.occurredAt) = (header.recordedAt, header.occurredAt)
            return
        }
        try withPayload(of: seq, header, record, in: transaction) { payload in
            try EventDecoder.fill(&item, seq: seq, header: header, payload: payload)
        }
    }

    /// Lends the record of an event, unchecked; nil when the log does not hold it.
    package func record<R>(
        _ seq: UInt64, in transaction: borrowing ReadTransaction, _ body: (RawSpan) throws -> R
    ) throws -> R? {
        try transaction.get(records, seq) { try body($0) }
    }

    /// The header of a record, after checking all of the record: for a decision that rests on the header alone.
    package func checkedHeader(
        of seq: UInt64, _ record: RawSpan, in transaction: borrowing ReadTransaction
    ) throws -> RecordHeader {
        let header = try RecordHeader.read(record, seq: seq)
        guard !header.isErased else {
            try RecordCodec.verify(seq: seq, record: record)
            return header
        }
        return try withPayload(of: seq, header, record, in: transaction) { _ in header }
    }

    /// The event's fact; nil when the log does not hold the event.
    package func fact(
        _ seq: UInt64, hasher: IdentityHasher, in transaction: borrowing ReadTransaction
    ) throws -> Fact? {
        try transaction.get(records, seq) { record in
            if let skeleton = try EventLog.skeleton(seq, record) { return Fact(skeleton, hasher: hasher) }
            return try withPayload(of: seq, record, in: transaction) { header, payload in
                try EventDecoder.fact(seq: seq, header: header, payload: payload, hasher: hasher)
            }
        }
    }

    /// Visits the records from `seq` on, unchecked, as long as `body` returns true.
    ///
    /// - Parameter floor: events below it may be missing.
    /// - Returns: the seq after the last one visited.
    /// - Throws: ``CodecError`` `damaged` for any other gap in the log; what `body` throws.
    @discardableResult
    package func forEachRecord(
        from seq: UInt64, floor: UInt64 = 0, in transaction: borrowing ReadTransaction,
        _ body: (UInt64, RawSpan) throws -> Bool
    ) throws -> UInt64 {
        try transaction.withCursor(records) { cursor in
            var expected = seq
            var found = try cursor.seek(seq)
            while found {
                let goesOn = try cursor.withEntry { key, record in
                    let seq = try EventLog.seq(of: key)
                    guard seq == expected || (seq > expected && seq <= floor) else {
                        throw CodecError(.damaged, seq: expected, "the log goes on with event \(seq)")
                    }
                    expected = seq + 1
                    return try body(seq, record)
                }
                guard goesOn else { break }
                found = try cursor.next()
            }
            return expected
        }
    }

    /// Lends the payload of a record, inline or chunked, after checking both.
    package func withPayload<R>(
        of seq: UInt64, _ record: RawSpan, in transaction: borrowing ReadTransaction,
        _ body: (RecordHeader, RawSpan) throws -> R
    ) throws -> R {
        let header = try RecordHeader.read(record, seq: seq)
        switch try RecordCodec.body(seq: seq, header: header, record: record) {
        case .inline(let range):
            try RecordCodec.verifyChecksum(seq: seq, record: record)
            return try body(header, record.extracting(range))
        case .chunked(let byteCount):
            let payload = try assemble(seq, byteCount: byteCount, in: transaction)
            let span = RawSpan(_elements: payload.span)
            try RecordCodec.verify(seq: seq, record: record, chunkedPayload: span)
            return try body(header, span)
        case .erased:
            throw CodecError(.erased, seq: seq, "only its header is left")
        }
    }

    private func assemble(
        _ seq: UInt64, byteCount: Int, in transaction: borrowing ReadTransaction
    ) throws -> [UInt8] {
        var payload: [UInt8] = []
        payload.reserveCapacity(byteCount)
        var key: [UInt8] = []
        for index in 0..<RecordCodec.chunkCount(of: byteCount) {
            key.removeAll(keepingCapacity: true)
            RecordCodec.appendChunkKey(seq: seq, index: index, to: &key)
            let found: Void? = try transaction.get(largePayloads, RawSpan(_elements: key.span)) { chunk in
                payload.append(copying: chunk)
            }
            guard found != nil else {
                throw CodecError(.truncated, seq: seq, "chunk \(index) of its payload is missing")
            }
        }
        return payload
    }

    private static func seq(of key: RawSpan) throws(CodecError) -> UInt64 {
        guard key.byteCount == 8 else {
            throw CodecError(.damaged, seq: nil, "the log has a key of \(key.byteCount) bytes")
        }
        let seq = key.littleEndian(at: 0, as: UInt64.self).byteSwapped
        guard seq <= Seq.highest else {
            throw CodecError(.damaged, seq: seq, "no log has so many events")
        }
        return seq
    }
}

extension [UInt8] {
    /// Appends a copy of `bytes`.
    package mutating func append(copying bytes: RawSpan) {
        // Nothing appended to an empty array would still be written to the storage that all empty arrays share.
        guard bytes.byteCount > 0 else { return }
        append(addingCapacity: bytes.byteCount) { $0.append(copying: bytes) }
    }
}

extension EventLog {
    /// Lends the payload of a record whose header was read, after checking both.
    ///
    /// - Throws: ``CodecError``, `erased` for an event without a payload; ``LMDBError``; what `body` throws.
    @inline(__always)
    package func withPayload<R>(
        of seq: UInt64, _ header: RecordHeader, _ record: RawSpan, in transaction: borrowing ReadTransaction,
        _ body: (RawSpan) throws -> R
    ) throws -> R {
        guard case .inline(let range) = try RecordCodec.body(seq: seq, header: header, record: record) else {
            return try withPayload(of: seq, record, in: transaction) { try body($1) }
        }
        try RecordCodec.verifyChecksum(seq: seq, record: record)
        return try body(record.extracting(range))
    }
}
