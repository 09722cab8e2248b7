import TraylogDomain
import TraylogLog
import TraylogQueries
import TraylogStates

extension PendingTransaction {
    /// Makes an event that was decided elsewhere part of the transaction, to the byte.
    ///
    /// - Throws: ``StoreFailure`` `outOfSequence`, `diverged`, `unsupported`, `damaged`, which name the event; failures to
    ///   read.
    mutating func apply(_ record: borrowing LogRecord, store: inout LiveStore) throws {
        guard record.seq.rawValue == batch.nextSeq else {
            throw StoreFailure.outOfSequence(
                "event \(record.seq) was given where event \(batch.nextSeq) comes next; give every event, in order")
        }
        let (seq, bytes) = (record.seq, RawSpan(_elements: record.bytes.span))
        let header = try RecordHeader.read(bytes, seq: seq.rawValue)
        guard !header.isErased else {
            throw StoreFailure.cannotApply(seq, "its content was erased; begin this store with a backup of the other")
        }
        let payload = bytes.extracting(RecordHeader.byteCount..<bytes.byteCount)
        guard payload.byteCount <= RecordCodec.largestPayloadBytes, let kind = header.kind else {
            throw StoreFailure.cannotApply(seq, "a newer version of Traylog made it; run that version here, too")
        }
        guard header.recordedAt >= now else {
            throw StoreFailure.diverged(seq, "it was recorded before the event that stands before it here")
        }
        let event = try EventDecoder.event(seq: seq, header: header, payload: payload)
        let stream = try stream(of: event, header.stream, store: &store)
        let old = try stateBefore(event, of: stream, store: &store)
        now = header.recordedAt
        try batch.append(copying: header, kind: kind, payload: payload)
        link(event, to: stream, store: &store)
        if let stream, let old { try reviveDues(of: stream, since: old, by: seq.rawValue, store: &store) }
    }

    /// Checks that the event can stand here, and finds or begins the stream that it says it is of.
    ///
    /// - Returns: nil for an event of the store itself.
    private mutating func stream(
        of event: borrowing Event, _ number: UInt32, store: inout LiveStore
    ) throws -> LiveStream? {
        let seq = event.seq
        guard event.body.greatestNamed < seq else {
            throw StoreFailure.diverged(seq, "it names an event that is not before it")
        }
        do throws(Refusal) { try event.body.checkData() } catch {
            throw CodecError(.damaged, seq: seq.rawValue, error.description)
        }
        switch (event.body, event.user) {
        case (.compacted, nil), (.lost, nil):
            guard number == 0 else { throw StoreFailure.diverged(seq, "an event of the store itself has no user") }
            return nil
        case (.erased, _):
            throw StoreFailure.cannotApply(seq, "it erases somebody; apply it alone")
        case (.redacted, _), (.compacted, .some), (.lost, .some):
            throw StoreFailure.cannotApply(seq, "its content was erased; begin this store with a backup of the other")
        case (.broadcast(let topic, _), nil):
            try Limits.check(identifier: topic, "topic")
            let identity = store.hasher.identity(of: topic, as: .topic)
            return try stream(.topic(topic), try store.stream(ofTopic: identity), number, seq, store: &store)
        case (.edited(let item, _), nil), (.retracted(let item), nil), (.expired(let item), nil):
            guard let topic = try store.stream(number), topic.isTopic,
                try self.state(of: topic, store: &store).state.entry(
                    of: item.rawValue, stored: source(of: number, store)) != nil
            else { throw StoreFailure.diverged(seq, "the broadcast \(item) is not of the topic that it says") }
            return topic
        case (.broadcast, .some), (_, nil):
            throw StoreFailure.diverged(seq, "it has a user where its kind has none, or none where it has one")
        case (_, let user?):
            try Limits.check(identifier: user, "user")
            guard Pseudonym.stream(of: user) == nil else {
                throw StoreFailure.diverged(seq, "its user has a name that only an erasure gives")
            }
            let known = try store.stream(of: UserName(user, store.hasher))
            return try stream(.user(user), known, number, seq, store: &store)
        }
    }

    /// Numbers of streams count who came first, so that logs with the same events have the same ones.
    private func stream(
        _ name: StreamName, _ known: LiveStream?, _ number: UInt32, _ seq: Seq, store: inout LiveStore
    ) throws -> LiveStream {
        let expected = known?.number ?? store.directory.nextNumber
        guard number == expected else {
            throw StoreFailure.diverged(
                seq, "its stream is \(number), and here that of the same user or topic is \(expected)")
        }
        return known ?? store.newStream(name)
    }

    /// The state before the event, which an undo needs, and what was due, which an expiry needs.
    private mutating func stateBefore(
        _ event: borrowing Event, of stream: LiveStream?, store: inout LiveStore
    ) throws -> TrayState? {
        guard let stream else { return nil }
        if store.capture != nil { try noteRestored(event.body, stream, store: &store) }
        switch event.body {
        case .undone:
            return try state(of: stream, store: &store).state
        case .expired(let item):
            let (state, stored) = try state(of: stream, store: &store)
            guard let entry = try state.entry(of: item.rawValue, stored: stored),
                try !stored.floor.isAbove(entry.seq) || stored.holds(entry.seq),
                let due = try state.shown(entry, stored: stored).content(from: stored).content.expiresAt
            else { return nil }
            settled.append(DueEntry(due: due, item: item.rawValue, kind: .expiry, stream: stream.number))
            return nil
        default:
            return nil
        }
    }
}

extension WriterMemory {
    /// Applies records as one transaction.
    mutating func apply(_ records: [LogRecord], expecting seq: Seq) throws {
        guard store.head.seq == seq.rawValue else {
            throw StoreFailure.outOfSequence(
                "the records were to follow event \(seq), and the newest event here is \(store.head.seq); ask the source "
                    + "for what comes after that")
        }
        begin(events: records.count, now: store.head.recordedAt)
        do {
            for record in records { try transaction.apply(record, store: &store) }
        } catch {
            rollBack()
            throw error
        }
    }
}

extension WriterLoop {
    /// Applies records as one transaction, and makes it durable.
    ///
    /// - Parameter source: stored with them.
    package mutating func apply(
        _ records: [LogRecord], expecting seq: Seq, source: SourcePosition?
    ) throws -> Seq {
        try recover()
        if let source { try check(source) }
        try memory.withLock { memory in
            try memory.apply(records, expecting: seq)
            memory.transaction.source = source
        }
        try commit(isDecidedHere: false)
        return Seq(memory.withLock { $0.store.head.seq })
    }

    private func check(_ source: SourcePosition) throws {
        try Limits.check(identifier: source.source, "source")
        let table = tables.source
        guard let stored = try environment.read({ try table.read(in: $0) }) else { return }
        guard stored.source.hasSameBytes(as: source.source) else {
            throw StoreFailure(
                code: .diverged,
                message:
                    "\(directory) follows \(stored.source), and the records are from \(source.source); use another directory"
            )
        }
        guard stored.position <= source.position else {
            throw StoreFailure.outOfSequence(
                "\(directory) is at position \(stored.position) of \(source.source), beyond \(source.position); go on from "
                    + "there")
        }
    }
}

extension StoreFailure {
    fileprivate static func outOfSequence(_ message: String) -> StoreFailure {
        StoreFailure(code: .outOfSequence, message: message)
    }

    fileprivate static func diverged(_ seq: Seq, _ reason: String) -> StoreFailure {
        StoreFailure(
            code: .diverged,
            message: "event \(seq) does not continue this log: \(reason); begin this store with a backup of the other")
    }

    fileprivate static func cannotApply(_ seq: Seq, _ reason: String) -> StoreFailure {
        StoreFailure(code: .unsupported, message: "event \(seq) cannot be applied: \(reason)")
    }
}
