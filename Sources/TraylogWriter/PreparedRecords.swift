import TraylogDomain
import TraylogLog
@_spi(Replication) import TraylogQueries
import TraylogStates

/// Records of another store with all that can be checked and made of them without this store's state: decoded, named by
/// identities, copied together with their checksums.
///
/// Made on the caller's thread, so that the writer's has less to do.
package struct PreparedRecords: Sendable {
    struct Entry: Sendable {
        /// The stream that the record says it is of.
        let stream: StreamID
        /// The revision that it says it has there.
        let revision: UInt32
        let recordedAt: Timestamp
        /// Of the fact of a `notified`, if it is compact and sets no time.
        var notice: CompactFact?
        /// The user of the notice; nil unless there is a ``notice``.
        var user: UserName?
        /// Where the event stands in ``events``, unless there is a ``notice``.
        var place = 0
    }

    private(set) var entries: ContiguousArray<Entry> = []
    private(set) var events: [Event] = []
    /// The records, to the byte.
    private(set) var batch: RecordBatch
    /// Why the record after those of ``entries`` cannot be applied, whatever the store holds.
    private(set) var failure: (any Error)?

    /// - Parameters:
    ///   - records: to be applied together.
    ///   - seq: the event that the first one follows.
    package init(_ records: [LogRecord], after seq: Seq, hasher: IdentityHasher) {
        batch = RecordBatch(firstSeq: seq.rawValue + 1)
        entries.reserveCapacity(records.count)
        do {
            for record in records { try add(record, hasher) }
        } catch {
            failure = error
        }
    }

    private mutating func add(_ record: borrowing LogRecord, _ hasher: IdentityHasher) throws {
        guard record.seq.rawValue == batch.nextSeq else {
            throw StoreFailure.outOfSequence(
                "event \(record.seq) was given where event \(batch.nextSeq) comes next; give every event, in order")
        }
        let (seq, bytes) = (record.seq, RawSpan(_elements: record.bytes.span))
        let header = try RecordHeader.read(bytes, seq: seq.rawValue)
        guard !header.isErased else { throw StoreFailure.wasErased(seq) }
        let payload = bytes.extracting(RecordHeader.byteCount..<bytes.byteCount)
        guard payload.byteCount <= RecordCodec.largestPayloadBytes, let kind = header.kind else {
            throw StoreFailure.cannotApply(seq, "a newer version of Traylog made it; run that version here, too")
        }
        var entry = Entry(stream: header.stream, revision: header.revision, recordedAt: header.recordedAt)
        if kind == .notified {
            try setNotice(of: &entry, seq, header, payload, hasher)
        }
        if entry.notice == nil {
            let event = try EventDecoder.event(seq: seq, header: header, payload: payload)
            try check(event)
            entry.place = events.count
            events.append(event)
        }
        try batch.append(copying: header, kind: kind, payload: payload)
        entries.append(entry)
    }

    /// Most events are notices, and few of those need more than this.
    private func setNotice(
        of entry: inout Entry, _ seq: Seq, _ header: RecordHeader, _ payload: RawSpan, _ hasher: IdentityHasher
    ) throws {
        let decoded = try EventDecoder.notice(seq: seq.rawValue, header: header, payload: payload, hasher: hasher)
        guard let decoded, let notice = CompactFact(decoded.fact) else { return }
        if let data = decoded.data { try check(data: Span(_bytes: payload.extracting(data)), of: seq) }
        try check(user: decoded.user, of: seq)
        entry.notice = notice
        entry.user = UserName(decoded.user, hasher)
    }

    /// Checks what no state has to be known for.
    private func check(_ event: borrowing Event) throws {
        let seq = event.seq
        guard event.body.greatestNamed < seq else {
            throw StoreFailure.diverged(seq, "it names an event that is not before it")
        }
        do throws(Refusal) { try event.body.checkData() } catch {
            throw CodecError(.damaged, seq: seq.rawValue, error.description)
        }
        switch (event.body, event.user) {
        case (.compacted, nil), (.lost, nil): break
        case (.erased, _): throw StoreFailure.cannotApply(seq, "it erases somebody; apply it alone")
        case (.redacted, _), (.compacted, .some), (.lost, .some): throw StoreFailure.wasErased(seq)
        case (.broadcast(let topic, _), nil): try Limits.check(identifier: topic, "topic")
        case (.broadcast, .some):
            throw StoreFailure.diverged(seq, "it has a user where its kind has none, or none where it has one")
        case (.arrived(_, let topic, _, _, _), let user) where (topic == nil) != (user != nil):
            throw StoreFailure.diverged(seq, "it has a user and a topic, or neither")
        case (_, let user?): try check(user: user, of: seq)
        case (_, nil): break
        }
    }

    private func check(user: String, of seq: Seq) throws {
        try Limits.check(identifier: user, "user")
        guard Pseudonym.stream(of: user) == nil else {
            throw StoreFailure.diverged(seq, "its user has a name that only an erasure gives")
        }
    }

    /// Data is JSON, because answers and exports contain it as it is.
    private func check(data: Span<UInt8>, of seq: Seq) throws(CodecError) {
        guard data.count <= Limits.dataBytes else {
            throw CodecError(.damaged, seq: seq.rawValue, "data is longer than \(Limits.dataBytes) bytes")
        }
        guard let fault = JSONScanner.fault(in: data) else { return }
        throw CodecError(.damaged, seq: seq.rawValue, "data \(fault.description)")
    }
}

extension StoreFailure {
    fileprivate static func wasErased(_ seq: Seq) -> StoreFailure {
        cannotApply(seq, "its content was erased; begin this store with a backup of the other")
    }
}
