import TraylogArchive
@_spi(Operations) import TraylogChecks
@_spi(Replication) import TraylogDomain
import TraylogFold
import TraylogLMDB
import TraylogLog
import TraylogQueries
import TraylogStates
import TraylogTree

/// A store on its way into a new file: bases and log are copied, all else is folded from them.
///
/// The writer goes on meanwhile. What it appends are rows at the end of the log, which are copied later; the new file has no
/// states of them, as after a kill.
struct StoreCopy {
    let source: FileSource
    let target: Environment
    let record: StoreRecord
    let floor: UInt64
    private var bases: BaseCopy
    private(set) var log: LogCopy
    /// The levels of the Merkle tree; nil where it is copied as it is.
    private var tree: TreeCopy?
    /// The store's record, as far as the fold says it.
    private var folded: StoreRecord
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
        folded = record
        bases = BaseCopy(source: source, record: record, target: target, kept: kept, erased: erasure?.stream)
        log = LogCopy(source: source, target: target, oldFloor: record.floor.seq.rawValue, kept: kept, wholeTopics: [])
    }

    var movesFloor: Bool { floor > record.floor.seq.rawValue }
    private var tables: Tables { source.tables }
    private var environment: Environment { source.environment }

    mutating func copyBases(progress: (UInt64) throws -> Void) throws { try bases.run(progress: progress) }

    mutating func copyLog(
        through head: UInt64, _ archive: ArchiveWriter?, progress: (UInt64) throws -> Void
    ) throws {
        let forgotten = erasure?.keyedEvents ?? []
        var tableCopy = TableCopy(from: environment, to: target)
        try tableCopy.copy(tables.log.fingerprints.database) { key, _ in
            !forgotten.contains(key.littleEndian(at: 0, as: UInt64.self).byteSwapped)
        }
        log = LogCopy(
            source: source, target: target, oldFloor: record.floor.seq.rawValue, kept: bases.kept,
            wholeTopics: try wholeTopics())
        log.erased = erasure?.stream
        log.known = head
        if movesFloor {
            log.tree = try environment.read { try TreeCopy(of: tables.log.merkle, tables.log.events, in: $0) }
        }
        log.archive = archive.map { archive in { try archive.append(seq: $0, record: $1, payload: $2) } }
        try log.run(through: head, progress: progress)
        log.archive = nil
        tree = try log.finishTree()
    }

    private func wholeTopics() throws -> Set<StreamID> {
        let topics = bases.kept.wholeTopics
        // Without any, nothing is read that may be damaged.
        guard !topics.isEmpty else { return [] }
        return try source.readTail { snapshot in
            Set(try topics.compactMap { try snapshot.stream(ofTopic: $0) })
        }
    }

    /// Folds names, states and due times from what was copied, and compares the states with those of the old file.
    mutating func fold(progress: (UInt64) throws -> Void) throws {
        let old = OldStates(environment: environment, states: tables.derived.states, passedOver: erasure?.stream)
        let new = finalRecord(record, archive: nil, dropped: log.droppedCount)
        folded = try RebuiltRows.derive(
            in: target, tables, new, eventsPerPass: BaseCopy.eventsPerPass(of: log.through),
            check: plan.isRebuild ? nil : { try old.check($0, $1, $2) }, progress: progress)
        log.late.forgetDues()
    }

    /// The tables that only maintenance changes: `meta`, values of projections, the tree.
    func copyMaintained() throws {
        // Values of projections may hold what is erased; they are folded anew.
        var tableCopy = TableCopy(from: environment, to: target)
        try tableCopy.copy(tables.log.meta)
        if erasure == nil { try copyValues(&tableCopy) }
        if plan.isRebuild {
            // All but the hashes of events that left the log follows from it.
            return try tableCopy.copy(tables.log.merkle.database) { key, _ in MerkleTable.isRemovedLeaves(key) }
        }
        guard let tree else { return try tableCopy.copy(tables.log.merkle.database) }
        try tree.writeLevels(from: environment, to: target)
    }

    /// Copies the values of custom projections.
    ///
    /// A rebuild leaves damaged ones out: they are folded anew.
    private func copyValues(_ tableCopy: inout TableCopy) throws {
        do {
            try tableCopy.copy(tables.projections.database)
        } catch let error as LMDBError where plan.isRebuild && error.table != nil {
            try target.empty(tables.projections.database)
        }
    }

    /// Compares what was folded with the log once more, read from the new file as any program will read it.
    ///
    /// The new file has a record for that time only, because ``copyMaintained()`` copies the table that it stands in.
    func compare(progress: (UInt64) throws -> Void) throws -> ReplayReport {
        try target.write { try folded.write(tables, to: &$0) }
        let report = try Replay.compare(
            source.directory, target, limit: 1, progress: { done, _ in try progress(done) })
        if let difference = report.difference {
            throw StoreFailure(
                code: .damaged,
                message: "nothing was rebuilt: \(difference); this is a fault of the program: report it")
        }
        try target.empty(tables.log.meta)
        return report
    }

    // MARK: What came since

    /// Copies what was appended, in transactions of bounded size.
    mutating func take(through head: UInt64) throws {
        try log.run(through: head) { _ in }
        try target.write { try settle(&$0) }
    }

    /// Brings in what the events that came since ask for.
    private mutating func settle(_ transaction: inout WriteTransaction) throws {
        let needed = try log.late.takeNeeded(source, below: floor).filter(log.dropped.contains)
        if !needed.isEmpty {
            try target.read { try tables.log.merkle.remove(needed, as: $0, in: &transaction) }
            try log.restore(needed, in: &transaction)
        }
        try tables.derived.dues.add(
            try log.late.takeDues(source).filter { $0.stream != erasure?.stream }, to: &transaction)
    }

    /// The same in one transaction, while the writer waits; and the event that reports the rewrite.
    ///
    /// - Parameter now: the store as the writer leaves it.
    mutating func finish(
        _ now: StoreMoment, archive: String?, in directory: String?, told: ToldRewrite?, agreement: Agreement
    ) throws {
        var head = now.head
        guard head.seq - log.through <= StoreRewrite.eventsAtMost else {
            throw StoreFailure(
                code: .busy,
                message:
                    "\(source.directory): events came faster than they could be copied, and \(head.seq - log.through) are left, for "
                    + "which every caller would have to wait; nothing was changed; try again when less is appended")
        }
        // That of the last transaction, which may have come after `meta` was copied.
        var place = try environment.read { try tables.log.source.read(in: $0) }
        try target.write { transaction in
            try log.run(through: head.seq, in: &transaction)
            // A rewrite that is repeated goes by the holds that the log of record had at its place.
            if told == nil { try checkHolds() }
            try settle(&transaction)
            if let event = try told?.batch(after: head) ?? self.event(after: head, at: now.now, archive),
                let header = try event.header(head.seq + 1)
            {
                try check(header, head.seq + 1)
                place = try (told == nil ? agreement(event) : told?.place) ?? place
                try tables.log.events.append(event, to: &transaction)
                head.seq += 1
            }
            if let place {
                try tables.log.source.write(source: place.source, position: place.position, to: &transaction)
            }
            if let archive, let directory { try tables.log.archives.add(archive, in: directory, to: &transaction) }
            var record = finalRecord(now.record, archive: archive, dropped: log.droppedCount)
            record.states = folded.states
            try record.write(tables, to: &transaction)
        }
        self.head = head.seq
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
    private func event(after head: EventLog.Head, at now: Timestamp, _ archive: String?) throws -> RecordBatch? {
        if let erasure {
            let spans = try spans(of: erasure, endedBy: head.seq + 1)
            return RecordBatch(
                .erased(spans: spans), of: Pseudonym.name(ofStream: erasure.stream), stream: erasure.stream,
                revision: UInt32(clamping: lastRevision(of: erasure)), actor: erasure.actor,
                device: erasure.device, after: head, at: now)
        }
        guard movesFloor else { return nil }
        return RecordBatch(
            .compacted(through: Seq(floor - 1), dropped: log.droppedCount, archive: archive), actor: plan.actor,
            device: plan.device, after: head, at: now)
    }

    /// The subscriptions of the user who is erased, with what changed since the erasure began.
    private func spans(of erasure: Erasure, endedBy end: UInt64) throws -> [SubscriptionSpan] {
        guard var spans = erasure.spans else { return [] }
        for seq in log.erasedSeqs where seq > spans.through {
            if let event = try environment.read({ try tables.log.events.event(seq, in: $0) }) { spans.note(event) }
        }
        return spans.all(endedBy: Seq(end))
    }

    private func finalRecord(_ stored: StoreRecord, archive: String?, dropped: UInt64) -> StoreRecord {
        var record = stored
        if erasure != nil { record.erased += 1 }
        guard movesFloor else { return record }
        record.floor = Floor(seq: Seq(floor), archive: archive ?? stored.floor.archive)
        record.floorStreams = bases.floorStreams
        record.dropped += dropped
        return record
    }
}

/// The states of the old file, which those of the new one are compared with.
private struct OldStates {
    let environment: Environment
    let states: StateTable
    let passedOver: StreamID?

    /// Compares a folded state with the one that is stored, if that has come as far.
    func check(_ folded: LogFold.Folded, _ rows: RowBuffer, _ range: Range<Int>) throws {
        guard folded.stream != passedOver else { return }
        let isOther = try environment.read { transaction in
            // What cannot be read is made anew.
            guard let root = try? states.root(folded.stream, in: transaction),
                root.state.appliedSeq == folded.state.appliedSeq
            else { return false }
            return try !rows.areStored(range, in: states.database, transaction)
        }
        guard isOther else { return }
        throw StoreFailure(
            code: .damaged,
            message:
                "nothing was compacted: a stored state is not what the log gives; run `traylog verify`, which names it, "
                + "then `traylog replay --rebuild`")
    }
}
