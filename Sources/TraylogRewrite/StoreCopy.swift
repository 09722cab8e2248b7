import TraylogArchive
@_spi(Replication) import TraylogDomain
import TraylogLMDB
import TraylogLog
import TraylogQueries
import TraylogStates
import TraylogTree

/// A store on its way into a new file: the first copy, and the changes that follow while the writer goes on.
struct StoreCopy {
    /// Streams that one transaction renews.
    private static let streamsAtOnce = 256

    let source: FileSource
    let target: Environment
    let record: StoreRecord
    let floor: UInt64
    private(set) var states: StateCopy
    private(set) var log: LogCopy
    /// The levels of the Merkle tree; nil where it is copied as it is.
    private var tree: TreeCopy?
    let erasure: Erasure?
    private let plan: RewritePlan
    /// The newest event once the copy is complete.
    private(set) var head: UInt64 = 0

    init(
        source: FileSource, target: Environment, record: StoreRecord, floor: UInt64, kept: KeptEvents,
        plan: RewritePlan
    ) {
        self.plan = plan
        erasure = plan.erasure
        self.source = source
        self.target = target
        self.record = record
        self.floor = floor
        states = StateCopy(source: source, record: record, target: target, floor: floor, kept: kept)
        states.erased = erasure?.stream
        log = LogCopy(source: source, target: target, oldFloor: record.floor.seq.rawValue, kept: kept, wholeTopics: [])
    }

    var movesFloor: Bool { floor > record.floor.seq.rawValue }
    private var tables: Tables { source.tables }
    private var environment: Environment { source.environment }

    mutating func copyStates(before end: StreamID, progress: (UInt64) throws -> Void) throws {
        try states.run(before: end, progress: progress)
    }

    mutating func copyLog(
        through head: UInt64, _ archive: ArchiveWriter?, progress: (UInt64) throws -> Void
    ) throws {
        let forgotten = erasure?.keyedEvents ?? []
        var tableCopy = TableCopy(from: environment, to: target)
        try tableCopy.copy(tables.fingerprints.database) { key, _ in
            !forgotten.contains(key.littleEndian(at: 0, as: UInt64.self).byteSwapped)
        }
        log = LogCopy(
            source: source, target: target, oldFloor: record.floor.seq.rawValue, kept: states.kept,
            wholeTopics: try wholeTopics())
        log.erased = erasure?.stream
        if movesFloor {
            log.holdsKnown = head
            log.tree = try environment.read { try TreeCopy(of: tables.merkle, tables.log, in: $0) }
        }
        log.archive = archive.map { archive in { try archive.append(seq: $0, record: $1, payload: $2) } }
        try log.run(through: head, progress: progress)
        log.archive = nil
        tree = try log.finishTree()
    }

    private func wholeTopics() throws -> Set<StreamID> {
        let names = tables.names
        return Set(
            try states.kept.wholeTopics.compactMap { identity in
                try environment.read { try names.stream(ofTopic: identity, in: $0) }
            })
    }

    /// Names and what is due as they are, without the user who is erased.
    func copyRest() throws {
        let erasedName = erasure.map { NameTable.key(user: $0.user) }
        let names = tables.names.database
        var tableCopy = TableCopy(from: environment, to: target)
        try tableCopy.copy(names) { key, _ in erasedName.map { !key.holds($0) } ?? true }
        // Rows of items that left are hints that the next tick drops.
        try tableCopy.copy(tables.dues.database) { key, _ in
            try erasure == nil || DueEntry(key: key).stream != erasure?.stream
        }
    }

    /// The tables that only maintenance changes: `meta`, values of projections, the tree.
    func copyMaintained() throws {
        // Values of projections may hold what is erased; they are folded anew.
        var tableCopy = TableCopy(from: environment, to: target)
        try tableCopy.copy(tables.meta)
        if erasure == nil { try tableCopy.copy(tables.projections.database) }
        guard let tree else { return try tableCopy.copy(tables.merkle.database) }
        try tree.writeLevels(from: environment, to: target)
    }

    // MARK: What changed since

    /// Brings the copy up to what the writer said, in transactions of bounded size.
    mutating func take(_ late: CapturedChanges, archive: String?) throws {
        try log.run(through: late.head.seq) { _ in }
        var changes = late.changes
        try target.write { try putBack(&changes, in: &$0) }
        var next = StreamID.absent
        while let first = changes.streams.next(from: next) {
            var some = StreamSet()
            next = first
            while some.count < StoreCopy.streamsAtOnce, let stream = changes.streams.next(from: next) {
                some.insert(stream)
                next = stream.next
            }
            try target.write { try states.renew(some, in: &$0) }
        }
        try target.write { transaction in
            try put(changes, in: &transaction)
            if let erasure { try states.writeErased(erasure.stream, log.erasedSeqs, in: &transaction) }
            try finalRecord(late.record, archive: archive, dropped: log.droppedCount)
                .write(tables.meta, to: &transaction)
        }
    }

    /// The same in one transaction, while the writer waits; and the event that reports it.
    mutating func finish(
        _ late: CapturedChanges, archive: String?, in directory: String?, told: ToldRewrite?, agreement: Agreement
    ) throws -> RewrittenStore {
        var head = late.head
        var record = late.record
        // That of the last transaction, which may have come after `meta` was copied.
        var place = try environment.read { try tables.source.read(in: $0) }
        try target.write { transaction in
            try log.run(through: late.head.seq, in: &transaction)
            // A rewrite that is repeated goes by the holds that the log of record had at its place.
            if told == nil { try checkHolds() }
            var changes = late.changes
            try putBack(&changes, in: &transaction)
            try states.renew(changes.streams, in: &transaction)
            try put(changes, in: &transaction)
            record = finalRecord(late.record, archive: archive, dropped: log.droppedCount)
            if let event = try told?.batch(after: head) ?? self.event(after: head, archive),
                let header = try event.header(head.seq + 1)
            {
                try check(header, head.seq + 1)
                place = try (told == nil ? agreement(event) : told?.place) ?? place
                try tables.log.append(event, to: &transaction)
                (head.seq, head.recordedAt) = (head.seq + 1, header.recordedAt)
            }
            if let erasure {
                try states.writeErased(erasure.stream, log.erasedSeqs + [head.seq], in: &transaction)
            }
            if let place {
                try tables.source.write(source: place.source, position: place.position, to: &transaction)
            }
            if let archive, let directory { try tables.archives.add(archive, in: directory, to: &transaction) }
            try record.write(tables.meta, to: &transaction)
        }
        self.head = head.seq
        return RewrittenStore(record: record, head: head)
    }

    /// Holds are known from before the first copy.
    ///
    /// One that came since then counts, on every copy of the log alike.
    private func checkHolds() throws {
        if let erasure, log.isErasedHeld { throw Refusal.held(user: erasure.user) }
        guard log.holdsChanged else { return }
        throw StoreFailure(
            code: .busy,
            message:
                "\(source.directory): a user was held or released meanwhile, so nothing was compacted; try again")
    }

    /// The revision of the `erased` event that ends a stream.
    private func lastRevision(of erasure: Erasure) -> UInt64 {
        // The newest events may have left the log, or may have come after the erasure was asked for.
        max(erasure.revision, UInt64(log.erasedRevision)) + 1
    }

    /// Checks that the event that another copy made for an erasure continues the stream here.
    private func check(_ told: RecordHeader, _ seq: UInt64) throws {
        guard let erasure, UInt64(told.revision) != lastRevision(of: erasure) else { return }
        throw StoreFailure(
            code: .diverged,
            message:
                "event \(seq) does not continue this log: it has revision \(told.revision) in stream \(erasure.stream), "
                + "where revision \(lastRevision(of: erasure)) comes next; begin this store with a backup of the other")
    }

    /// The event that reports the rewrite; nil for a rewrite that removes nothing.
    private func event(after head: EventLog.Head, _ archive: String?) throws -> RecordBatch? {
        if let erasure {
            let spans = try spans(of: erasure, endedBy: head.seq + 1)
            return RecordBatch(
                .erased(spans: spans), of: Pseudonym.name(ofStream: erasure.stream), stream: erasure.stream,
                revision: UInt32(clamping: lastRevision(of: erasure)), actor: erasure.actor,
                device: erasure.device, after: head)
        }
        guard movesFloor else { return nil }
        return RecordBatch(
            .compacted(through: Seq(floor - 1), dropped: log.droppedCount, archive: archive), actor: plan.actor,
            device: plan.device, after: head)
    }

    /// The subscriptions of the user who is erased, with what changed since the erasure began.
    private func spans(of erasure: Erasure, endedBy end: UInt64) throws -> [SubscriptionSpan] {
        guard var spans = erasure.spans else { return [] }
        for seq in log.erasedSeqs where seq > spans.through {
            if let event = try environment.read({ try tables.log.event(seq, in: $0) }) { spans.note(event) }
        }
        return spans.all(endedBy: Seq(end))
    }

    /// Puts back the events that a restored item needs and that were left out.
    private mutating func putBack(_ changes: inout CopyCapture, in transaction: inout WriteTransaction) throws {
        let needed = Set(changes.needed.filter(log.dropped.contains))
        guard !needed.isEmpty else { return }
        try target.read { try tables.merkle.remove(needed, as: $0, in: &transaction) }
        for seq in needed.sorted() {
            states.keep(seq)
            guard let (stream, body) = try log.restore(seq, in: &transaction) else { continue }
            changes.streams.insert(stream)
            // Whether it still holds, the tick will see.
            let dues = [
                DueEntry(body, seq: seq, stream: stream), DueEntry(reminding: body, seq: seq, stream: stream),
            ].compactMap(\.self)
            try tables.dues.add(dues, to: &transaction)
        }
    }

    private func put(_ changes: CopyCapture, in transaction: inout WriteTransaction) throws {
        for (key, stream) in changes.names where stream != erasure?.stream {
            try tables.names.put(key, stream: stream, to: &transaction)
        }
        for (entry, isAdded) in changes.dues where entry.stream != erasure?.stream {
            if isAdded {
                try tables.dues.add([entry], to: &transaction)
            } else {
                try tables.dues.remove([entry], from: &transaction)
            }
        }
    }

    private func finalRecord(_ stored: StoreRecord, archive: String?, dropped: UInt64) -> StoreRecord {
        var record = stored
        if erasure != nil { record.erased += 1 }
        guard movesFloor else { return record }
        record.floor = Floor(seq: Seq(floor), archive: archive ?? stored.floor.archive)
        record.floorStreams = states.streamsBelowFloor
        record.dropped += dropped
        return record
    }
}

extension RawSpan {
    fileprivate func holds(_ bytes: [UInt8]) -> Bool {
        byteCount == bytes.count && starts(with: RawSpan(_elements: bytes.span), count: bytes.count)
    }
}
