import TraylogDomain
import TraylogLMDB
import TraylogPlatform

/// The encoded records of one transaction, waiting to be written.
package struct RecordBatch {
    /// The seq of the first record.
    package private(set) var firstSeq: UInt64
    private var bytes: [UInt8] = []
    /// The end of each record in ``bytes``.
    private var ends: [Int] = []
    private var large: [(seq: UInt64, payload: [UInt8])] = []
    private var scratch: [UInt8] = []

    package init(firstSeq: UInt64) {
        self.firstSeq = firstSeq
    }

    package var count: Int { ends.count }
    package var isEmpty: Bool { ends.isEmpty }
    /// The seq of the next record.
    package var nextSeq: UInt64 { firstSeq + UInt64(ends.count) }
    /// The size of ``large``: it is asked for after each request.
    private var largeBytes = 0
    /// The size of the records, with chunks.
    package var byteCount: Int { bytes.count + largeBytes }

    /// Starts again and keeps the memory.
    package mutating func reset(firstSeq: UInt64) {
        self.firstSeq = firstSeq
        let isUsual = bytes.count < 32 << 20
        bytes.removeAll(keepingCapacity: isUsual)
        ends.removeAll(keepingCapacity: true)
        large.removeAll()
        largeBytes = 0
    }

    /// Encodes the event that a command came to as the next record.
    package mutating func append(
        _ command: borrowing Command, body: borrowing Event.Body, kind: EventKind, fingerprint: UInt64,
        edits: UInt64 = 0, stream: StreamID, revision: UInt32, recordedAt: Timestamp, salt: Salt
    ) {
        encode(kind, stream, revision, recordedAt, command.occurredAt, salt) { payload in
            PayloadEncoder.append(
                user: command.user, key: command.key, actor: command.actor, device: command.device,
                commandFingerprint: fingerprint, body: body, unknownFields: [], edits: edits, to: &payload)
        }
    }

    /// Encodes an event that no command caused as the next record.
    package mutating func append(
        _ body: borrowing Event.Body, user: String?, actor: String? = nil, kind: EventKind, edits: UInt64 = 0,
        stream: StreamID, revision: UInt32, recordedAt: Timestamp, occurredAt: Timestamp? = nil, salt: Salt
    ) {
        encode(kind, stream, revision, recordedAt, occurredAt, salt) { payload in
            PayloadEncoder.append(
                user: user, key: nil, actor: actor, device: nil, commandFingerprint: 0, body: body, unknownFields: [],
                edits: edits, to: &payload)
        }
    }

    private mutating func encode(
        _ kind: EventKind, _ stream: StreamID, _ revision: UInt32, _ recordedAt: Timestamp, _ occurredAt: Timestamp?,
        _ salt: Salt, _ body: (inout [UInt8]) -> Void
    ) {
        // Out of `self` while it is lent, and back with its memory at the end.
        var payload: [UInt8] = []
        swap(&payload, &scratch)
        payload.removeAll(keepingCapacity: true)
        body(&payload)
        append(
            payload: RawSpan(_elements: payload.span), kind: kind, stream: stream, revision: revision,
            recordedAt: recordedAt, occurredAt: occurredAt, salt: salt)
        swap(&payload, &scratch)
    }

    /// Adds an event with an encoded payload as the next record.
    package mutating func append(
        payload: RawSpan, kind: EventKind, stream: StreamID, revision: UInt32, recordedAt: Timestamp,
        occurredAt: Timestamp?, salt: Salt
    ) {
        let seq = firstSeq + UInt64(ends.count)
        bytes.growGeometrically(for: RecordCodec.inlineBytes)
        let placement = RecordCodec.append(
            seq: seq, kind: kind, stream: stream, revision: revision, recordedAt: recordedAt, occurredAt: occurredAt,
            salt: salt, payload: payload, to: &bytes)
        if case .chunks = placement {
            var copy: [UInt8] = []
            copy.append(copying: payload)
            large.append((seq, copy))
            largeBytes += copy.count
        }
        ends.append(bytes.count)
    }

    /// Adds the record of another store as the next one, to the byte.
    ///
    /// - Parameters:
    ///   - kind: the header's.
    ///   - payload: all of it, wherever it will be stored.
    /// - Throws: ``CodecError`` `damaged` when the header's checksum does not match; the batch is as it was then.
    package mutating func append(
        copying header: RecordHeader, kind: EventKind, payload: RawSpan
    ) throws(CodecError) {
        let seq = nextSeq
        append(
            payload: payload, kind: kind, stream: header.stream, revision: header.revision,
            recordedAt: header.recordedAt,
            occurredAt: header.occurredAt, salt: header.salt)
        guard try self.header(seq) == header else {
            truncate(from: seq)
            throw CodecError(.damaged, seq: seq, "its checksum does not match; ask its source for it again")
        }
    }

    /// Adds the record of an archive as the next one, erased or not, to the byte.
    ///
    /// - Parameter payload: of a chunked record, put together; empty for any other.
    /// - Throws: ``CodecError`` when the bytes are not those of the event.
    package mutating func append(stored record: RawSpan, payload: RawSpan) throws(CodecError) {
        let seq = nextSeq
        if payload.byteCount > 0 {
            try RecordCodec.verify(seq: seq, record: record, chunkedPayload: payload)
            var copy: [UInt8] = []
            copy.append(copying: payload)
            large.append((seq, copy))
            largeBytes += copy.count
        } else {
            try RecordCodec.verify(seq: seq, record: record)
        }
        bytes.growGeometrically(for: RecordCodec.inlineBytes)
        bytes.append(copying: record)
        ends.append(bytes.count)
    }

    /// Adds a record of another batch as the next one; it must have the same seq there.
    package mutating func append(_ other: borrowing RecordBatch, _ index: Int) {
        let seq = nextSeq
        precondition(other.firstSeq + UInt64(index) == seq, "a record's checksum covers its seq")
        let start = index == 0 ? 0 : other.ends[index - 1]
        let record = RawSpan(_elements: other.bytes.span).extracting(start..<other.ends[index])
        bytes.growGeometrically(for: RecordCodec.inlineBytes)
        bytes.append(copying: record)
        if let (_, payload) = other.largePayload(of: seq) {
            large.append((seq, payload))
            largeBytes += payload.count
        }
        ends.append(bytes.count)
    }

    /// Removes the records from `seq` on.
    package mutating func truncate(from seq: UInt64) {
        let kept = Int(seq - firstSeq)
        guard kept < ends.count else { return }
        let end = kept == 0 ? 0 : ends[kept - 1]
        bytes.removeSubrange(end...)
        ends.removeSubrange(kept...)
        while let last = large.last, last.seq >= seq {
            largeBytes -= last.payload.count
            large.removeLast()
        }
    }

    /// - Complexity: O(log n) in the number of large payloads, which are in order.
    private func largePayload(of seq: UInt64) -> (seq: UInt64, payload: [UInt8])? {
        var (low, high) = (0, large.count)
        while low < high {
            let middle = (low + high) / 2
            if large[middle].seq < seq { low = middle + 1 } else { high = middle }
        }
        return low < large.count && large[low].seq == seq ? large[low] : nil
    }

    /// The event of a record of this batch; nil when the batch does not have it.
    package func event(_ seq: UInt64) throws(CodecError) -> Event? {
        guard seq >= firstSeq, seq < nextSeq else { return nil }
        return try withRecord(seq) { (record) throws(CodecError) in
            let header = try RecordHeader.read(record, seq: seq)
            switch try RecordCodec.body(seq: seq, header: header, record: record) {
            case .inline(let range):
                return try EventDecoder.event(seq: Seq(seq), header: header, payload: record.extracting(range))
            case .chunked, .erased:
                let payload = largePayload(of: seq)?.payload ?? []
                return try EventDecoder.event(
                    seq: Seq(seq), header: header, payload: RawSpan(_elements: payload.span))
            }
        }
    }

    /// The header of a record of this batch; nil when the batch does not have it.
    package func header(_ seq: UInt64) throws(CodecError) -> RecordHeader? {
        guard seq >= firstSeq, seq < nextSeq else { return nil }
        return try withRecord(seq) { (record) throws(CodecError) in try RecordHeader.read(record, seq: seq) }
    }

    /// Calls `body` with the header and the whole payload of each record, in order.
    package func forEachWhole(
        _ body: (_ seq: UInt64, _ header: RawSpan, _ payload: RawSpan) throws(CodecError) -> Void
    ) throws(CodecError) {
        var others = large[...]
        for seq in firstSeq..<nextSeq {
            let separate = others.first?.seq == seq ? others.popFirst()?.payload : nil
            try withRecord(seq) { (record) throws(CodecError) in
                let header = record.extracting(0..<RecordHeader.byteCount)
                if let separate {
                    try body(seq, header, RawSpan(_elements: separate.span))
                } else {
                    try body(seq, header, record.extracting(RecordHeader.byteCount..<record.byteCount))
                }
            }
        }
    }

    func withRecord<R>(_ seq: UInt64, _ body: (RawSpan) throws(CodecError) -> R) throws(CodecError) -> R {
        let index = Int(seq - firstSeq)
        let start = index == 0 ? 0 : ends[index - 1]
        return try body(RawSpan(_elements: bytes.span).extracting(start..<ends[index]))
    }

    var records: (bytes: [UInt8], ends: [Int]) { (bytes, ends) }
    var largePayloads: [(seq: UInt64, payload: [UInt8])] { large }
}

extension RecordBatch {
    /// A batch of one event that no command caused, right after `head`, no earlier than that one.
    ///
    /// - Parameter now: the present by the store's clock.
    package init(
        _ body: Event.Body, of user: String? = nil, stream: StreamID = .absent, revision: UInt32 = 0,
        actor: String? = nil, device: String? = nil, after head: EventLog.Head, at now: Timestamp
    ) {
        self.init(firstSeq: head.seq + 1)
        var payload: [UInt8] = []
        PayloadEncoder.append(
            user: user, key: nil, actor: actor, device: device, commandFingerprint: 0, body: body, unknownFields: [],
            to: &payload)
        var random = RandomPool()
        let (first, second) = random.next16()
        append(
            payload: RawSpan(_elements: payload.span), kind: body.kind, stream: stream, revision: revision,
            recordedAt: max(head.recordedAt, now),
            occurredAt: nil, salt: Salt(first, second))
    }
}
