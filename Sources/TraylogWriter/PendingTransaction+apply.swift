@_spi(Replication) import TraylogDomain
import TraylogLog
@_spi(Replication) import TraylogQueries
import TraylogStates

extension PendingTransaction {
    /// Makes an event that was decided elsewhere part of the transaction, to the byte.
    ///
    /// - Throws: ``StoreFailure`` `diverged`, `unsupported`, `damaged`, which name the event; failures to read.
    mutating func apply(_ prepared: borrowing PreparedRecords, _ index: Int, store: inout LiveStore) throws {
        let entry = prepared.entries[index]
        let seq = Seq(batch.nextSeq)
        guard entry.recordedAt >= now else {
            throw StoreFailure.diverged(seq, "it was recorded before the event that stands before it here")
        }
        guard let notice = entry.notice, let user = entry.user else {
            let event = prepared.events[entry.place]
            let stream = try stream(of: event, entry.stream, store: &store)
            if let stream { try checkRevision(entry, of: stream, seq, store: &store) }
            try checkTopic(in: event, store: &store)
            let old = try stateBefore(event, of: stream, store: &store)
            now = entry.recordedAt
            batch.append(prepared.batch, index)
            link(event, to: stream, store: &store)
            guard let stream, let old else { return }
            if event.kind == .undone {
                try reviveDues(of: stream, since: old, by: seq.rawValue, store: &store)
            } else if old.hasReminders {
                try reviveReminders(after: event.body, of: stream, by: seq.rawValue, store: &store)
            }
            return
        }
        let known = try store.stream(of: user, expecting: entry.stream)
        let stream = try stream(.user(user.text), known, entry.stream, seq, store: &store)
        try checkRevision(entry, of: stream, seq, store: &store)
        now = entry.recordedAt
        batch.append(prepared.batch, index)
        store.append(notice, to: stream.number, revision: entry.revision)
    }

    /// Checks that no event of the stream is missing before this one, and that none is given twice.
    private func checkRevision(
        _ entry: PreparedRecords.Entry, of stream: LiveStream, _ seq: Seq, store: inout LiveStore
    ) throws {
        let expected = try store.nextRevision(of: stream.number)
        guard entry.revision == expected else {
            throw StoreFailure.diverged(
                seq,
                "it has revision \(entry.revision) in stream \(stream.number), where revision \(expected) comes next")
        }
    }

    /// Checks that the event can stand here, and finds or begins the stream that it says it is of.
    ///
    /// - Returns: nil for an event of the store itself.
    private mutating func stream(
        of event: borrowing Event, _ number: StreamID, store: inout LiveStore
    ) throws -> LiveStream? {
        let seq = event.seq
        switch (event.body, event.user) {
        case (.compacted, nil), (.lost, nil):
            guard number == .absent else {
                throw StoreFailure.diverged(seq, "an event of the store itself has no user")
            }
            return nil
        case (.broadcast(let topic, _), nil):
            let identity = store.hasher.identity(of: topic, as: .topic)
            return try stream(.topic(topic), try store.stream(ofTopic: identity), number, seq, store: &store)
        case (.edited(let item, _), nil), (.retracted(let item), nil), (.expired(let item), nil),
            (.reminded(let item), nil), (.arrived(let item, _, _, _, _), nil):
            guard let topic = try store.stream(number), topic.isTopic,
                case let (state, stored) = try self.state(of: topic, store: &store),
                try state.entry(of: item.rawValue, stored: stored) != nil
            else { throw StoreFailure.diverged(seq, "the broadcast \(item) is not of the topic that it says") }
            return topic
        case (_, let user?):
            let known = try store.stream(of: UserName(user, store.hasher), expecting: number)
            return try stream(.user(user), known, number, seq, store: &store)
        case (_, nil):
            throw StoreFailure.diverged(seq, "it has a user where its kind has none, or none where it has one")
        }
    }

    /// Checks that who joins or leaves a topic names the topic's newest event.
    private func checkTopic(in event: borrowing Event, store: inout LiveStore) throws {
        switch event.body {
        case .subscribed(let topic, let found), .unsubscribed(let topic, let found):
            let expected = try store.revision(ofTopic: topic)
            guard found == expected else {
                throw StoreFailure.diverged(
                    event.seq, "it says that its topic has \(found) events, and here it has \(expected)")
            }
        default: break
        }
    }

    /// Numbers of streams count who came first, so that logs with the same events have the same ones.
    private func stream(
        _ name: StreamName, _ known: LiveStream?, _ number: StreamID, _ seq: Seq, store: inout LiveStore
    ) throws -> LiveStream {
        let expected = known?.number ?? store.directory.nextNumber
        guard number == expected else {
            throw StoreFailure.diverged(
                seq, "its stream is \(number), but here the same user or topic has stream \(expected)")
        }
        return try known ?? store.newStream(name)
    }

    /// The state before the event, which an undo needs and what brings reminders back, and what was due, which an expiry needs.
    private mutating func stateBefore(
        _ event: borrowing Event, of stream: LiveStream?, store: inout LiveStore
    ) throws -> TrayState? {
        guard let stream else { return nil }
        switch event.body {
        case .undone:
            return try state(of: stream, store: &store).state
        case let body where body.mayMakeUnread:
            return try state(of: stream, store: &store).state
        case .expired(let item), .arrived(let item, _, _, _, _):
            let (state, stored) = try state(of: stream, store: &store)
            guard let entry = try state.entry(of: item.rawValue, stored: stored),
                try !stored.hasLeft(entry.seq)
            else { return nil }
            let content = try state.shown(entry, stored: stored).content(from: stored).content
            let (due, kind): (Timestamp?, DueEntry.Kind) =
                event.kind == .arrived ? (content.notBefore, .arrival) : (content.expiresAt, .expiry)
            guard let due else { return nil }
            settled.append(DueEntry(due: due, item: item.rawValue, kind: kind, stream: stream.number))
            return nil
        default:
            return nil
        }
    }
}

extension WriterLoop {
    /// Records that become part of a transaction in one turn of the lock.
    private static let recordsPerTurn = 1_000

    /// Applies records as one transaction, and makes it durable.
    ///
    /// - Parameter source: stored with them.
    package mutating func apply(
        _ records: PreparedRecords, expecting seq: Seq, source: SourcePosition?
    ) throws -> Seq {
        try prepare()
        if let source { try check(source) }
        try begin(records, expecting: seq)
        do {
            let count = records.entries.count
            for start in stride(from: 0, to: count, by: WriterLoop.recordsPerTurn) {
                if start > 0 { memory.letOthersIn() }
                try apply(records, start..<min(start + WriterLoop.recordsPerTurn, count))
            }
            // A record's fault is reported once the records before it have been checked.
            if let failure = records.failure { throw failure }
        } catch {
            memory.withLock { $0.rollBack() }
            throw error
        }
        memory.withLock { $0.transaction.source = source }
        try commit(isDecidedHere: false)
        return Seq(memory.withLock { $0.store.head.seq })
    }

    /// One turn of the lock.
    private func apply(_ records: PreparedRecords, _ range: Range<Int>) throws {
        try memory.withLock { memory in
            for index in range { try memory.transaction.apply(records, index, store: &memory.store) }
        }
    }

    private func begin(_ records: PreparedRecords, expecting seq: Seq) throws {
        try memory.withLock { memory in
            guard memory.store.head.seq == seq.rawValue else {
                throw StoreFailure.outOfSequence(
                    "the records were to follow event \(seq), and the newest event here is \(memory.store.head.seq); ask "
                        + "the source for what comes after that")
            }
            try memory.begin(events: records.entries.count, now: memory.store.head.recordedAt)
        }
    }

    private func check(_ source: SourcePosition) throws {
        try Limits.check(identifier: source.source, "source")
        let table = tables.log.source
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
    static func outOfSequence(_ message: String) -> StoreFailure {
        StoreFailure(code: .outOfSequence, message: message)
    }

    package static func diverged(_ seq: Seq, _ reason: String) -> StoreFailure {
        StoreFailure(
            code: .diverged,
            message: "event \(seq) does not continue this log: \(reason); begin this store with a backup of the other")
    }

    static func cannotApply(_ seq: Seq, _ reason: String) -> StoreFailure {
        StoreFailure(code: .unsupported, message: "event \(seq) cannot be applied: \(reason)")
    }
}
