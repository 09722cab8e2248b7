import TraylogDomain
import TraylogLMDB
import TraylogLog
import TraylogPlatform
@_spi(Replication) import TraylogQueries
import TraylogStates

/// The transaction in the making: commands decided against the state after the last commit and each other, their
/// events encoded, nothing visible yet.
///
/// ``LogTail`` and ``StreamDirectory`` know how to take its events back, so that a refused batch or a failed commit leaves
/// no trace.
struct PendingTransaction {
    var batch = RecordBatch(firstSeq: 1)
    /// Deleted items may be back, which did not wake while they were deleted.
    private var mayEndWaiting = false
    /// Times at which items fall due because of the events, and which event each comes from.
    private var dues: [(seq: UInt64, entry: DueEntry)] = []
    /// Due times that a tick has dealt with.
    var settled: [DueEntry] = []
    /// The position in the followed log that these events reach.
    var source: SourcePosition?
    /// The time of the events.
    var now = Timestamp(milliseconds: .min)

    /// The head that the next command is decided against.
    var head: UInt64 { batch.nextSeq - 1 }

    /// Starts the next transaction, at the head.
    mutating func begin(_ store: borrowing LiveStore, now: Timestamp) {
        batch.reset(firstSeq: store.head.seq + 1)
        dues.removeAll(keepingCapacity: true)
        settled.removeAll()
        source = nil
        mayEndWaiting = false
        self.now = store.head.recordedAt
        moveOn(to: now)
    }

    /// Sets the time of the events that follow.
    ///
    /// A clock that steps back is clamped, so that times never decrease along the log.
    mutating func moveOn(to now: Timestamp) {
        if Timestamp.rfc3339Range.contains(now) { self.now = max(self.now, now) }
    }

    /// The values to write; nil when there are none.
    ///
    /// - Parameter flushBatch: what is stored beside them.
    func values(with flushBatch: FlushRows?, _ store: borrowing LiveStore) -> TransactionValues? {
        guard !batch.isEmpty || !settled.isEmpty || flushBatch != nil || source != nil else { return nil }
        return TransactionValues(
            batch: batch, dues: dues.map(\.entry), settled: settled, rows: flushBatch, source: source)
    }

    /// Takes the events from `seq` on back.
    mutating func rollBack(to seq: UInt64, store: inout LiveStore) {
        store.rollBack(to: seq)
        dues.removeAll { $0.seq >= seq }
        batch.truncate(from: seq)
    }

    /// Makes the transaction's events the newest of the store: it is durable.
    ///
    /// - Returns: whose trays the events may change.
    mutating func publish(to store: inout LiveStore, wantsTouched: Bool) -> Touched? {
        guard !batch.isEmpty else { return nil }
        let touched = wantsTouched ? store.pendingTouched : nil
        var head = store.head
        (head.seq, head.recordedAt) = (batch.nextSeq - 1, now)
        store.publish(head)
        for due in dues { store.nextDue = min(store.nextDue ?? due.entry.due, due.entry.due) }
        if mayEndWaiting, store.hasWaitingDues {
            store.hasWaitingDues = false
            store.nextDue = Timestamp(milliseconds: .min)
        }
        return touched
    }
}

// MARK: Events

extension PendingTransaction {
    /// Appends the event that a command came to.
    mutating func append(
        _ command: Command, _ body: Event.Body, fingerprint: UInt64, edits: UInt64 = 0, salt: Salt,
        to stream: LiveStream,
        store: inout LiveStore
    ) throws -> Seq {
        let revision = try store.nextRevision(of: stream.number)
        batch.append(
            command, body: body, kind: body.kind, fingerprint: fingerprint, edits: edits, stream: stream.number,
            revision: revision,
            recordedAt: now, salt: salt)
        return link(body, key: command.key, to: stream, revision: revision, store: &store)
    }

    /// Appends an event that no command caused.
    ///
    /// - Parameter origin: the notification that is told of, whose actor and time the event has; nil for most.
    mutating func append(
        _ body: Event.Body, to stream: LiveStream, origin: Event? = nil, edits: UInt64 = 0, store: inout LiveStore,
        random: inout RandomPool
    ) throws {
        let revision = try store.nextRevision(of: stream.number)
        batch.append(
            body, user: stream.isTopic ? nil : stream.text, actor: origin?.actor, kind: body.kind, edits: edits,
            stream: stream.number, revision: revision, recordedAt: now, occurredAt: origin?.occurredAt,
            salt: random.nextSalt())
        _ = link(body, key: nil, to: stream, revision: revision, store: &store)
    }

    /// Makes the newest event of the batch known to the store.
    private mutating func link(
        _ body: Event.Body, key: String?, to stream: LiveStream, revision: UInt32, store: inout LiveStore
    ) -> Seq {
        let seq = batch.nextSeq - 1
        for due in DueEntry.all(body, seq: seq, stream: stream.number) { addDue(due, by: seq) }
        let fact = Fact(seq: seq, body: body, key: key, hasher: store.hasher)
        store.append(fact, to: stream.number, revision: revision, topic: stream.topic)
        if body.mayEndWaiting { mayEndWaiting = true }
        return Seq(seq)
    }

    /// The same for an event that was decided elsewhere.
    ///
    /// - Parameter stream: nil for an event of the store itself.
    mutating func link(_ event: borrowing Event, to stream: LiveStream?, store: inout LiveStore) {
        if let stream {
            _ = link(
                event.body, key: event.key, to: stream, revision: UInt32(clamping: event.revision), store: &store)
        } else {
            store.append(Fact(event, hasher: store.hasher), to: .absent, revision: 0)
        }
    }

    /// Appends the event of a `notify`, which was encoded before its turn came.
    ///
    /// - Parameter stream: the user's.
    mutating func append(
        _ prepared: borrowing PreparedCommands, _ index: Int, salt: Salt, to stream: StreamID,
        store: inout LiveStore
    ) throws -> Seq {
        let seq = batch.nextSeq
        let revision = try store.nextRevision(of: stream)
        batch.append(
            payload: RawSpan(_elements: prepared.payloads.span).extracting(prepared.entries[index].payload),
            kind: .notified, stream: stream, revision: revision, recordedAt: now,
            occurredAt: prepared.commands[index].occurredAt, salt: salt)
        if let notice = prepared.entries[index].notice {
            store.append(notice, to: stream, revision: revision)
        } else if var fact = prepared.fact(index) {
            fact.seq = seq
            store.append(fact, to: stream, revision: revision)
            let times = prepared.times(index)
            if let due = times.due { addDue(DueEntry(due: due, item: seq, kind: .expiry, stream: stream), by: seq) }
            if let due = times.remindAt {
                addDue(DueEntry(due: due, item: seq, kind: .reminder, stream: stream), by: seq)
            }
        }
        return Seq(seq)
    }

    /// Notes what an event makes due.
    mutating func addDue(_ entry: DueEntry, by seq: UInt64) { dues.append((seq, entry)) }
}

extension Event.Body {
    /// Whether deleted items may be back after it.
    fileprivate var mayEndWaiting: Bool {
        switch self {
        case .undone, .marked(.restored, _): true
        default: false
        }
    }
}

/// The values that one transaction writes; they leave the lock.
struct TransactionValues: Sendable {
    let batch: RecordBatch
    let dues: [DueEntry]
    let settled: [DueEntry]
    let rows: FlushRows?
    var source: SourcePosition?

    /// The last event; nil without any.
    var newHead: UInt64? { batch.isEmpty ? nil : batch.nextSeq - 1 }

    func write(_ tables: Tables, _ environment: Environment) throws {
        try environment.write { transaction in
            try tables.log.events.append(batch, to: &transaction)
            try tables.derived.dues.add(dues, to: &transaction)
            try tables.derived.dues.remove(settled, from: &transaction)
            try rows?.write(tables.derived, to: &transaction)
            if let source {
                try tables.log.source.write(source: source.source, position: source.position, to: &transaction)
            }
        }
    }
}
