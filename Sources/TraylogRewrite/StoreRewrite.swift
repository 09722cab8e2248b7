import TraylogArchive
import TraylogAudit
@_spi(Operations) import TraylogChecks
@_spi(Replication) import TraylogDomain
import TraylogLMDB
import TraylogLog
import TraylogPlatform
import TraylogQueries
import TraylogStates
import TraylogTree

/// Writes the store anew beside itself, without what is to go, and lets the new file take the place of the old one.
///
/// Appends and queries go on meanwhile; the last events are copied at the end, in one turn of the writer. Killed at any
/// moment, the store is the old one or the new one.
package final class StoreRewrite {
    /// Events that the last step has to copy as a rule, while the writer waits.
    private static let eventsAtEnd: UInt64 = 250
    /// Above this it does not begin: everybody would wait too long.
    static let eventsAtMost: UInt64 = 5_000
    private static let roundsAtMost = 20

    let directory: String
    let environment: Environment
    let tables: Tables
    let host: any RewriteHost
    let plan: RewritePlan
    /// Told how far the work is; throws to give it up.
    let progress: (_ done: UInt64, _ total: UInt64) throws -> Void
    private let source: FileSource

    /// The outcome of a rewrite.
    package struct Outcome {
        var dropped: UInt64 = 0
        var droppedKinds: [UInt8: UInt64] = [:]
        /// What the new file takes before the last step.
        var sizes: FileSizes
        var archive: String?
        /// Whether the new file was given up, and nothing was changed.
        var isGivenUp = false
        /// Events that lost what they said.
        package var erased: UInt64 = 0
        package var head: UInt64 = 0
        /// How the new states compare with the log, after a rebuild.
        package var replay: ReplayReport?
    }

    init(
        directory: String, environment: Environment, tables: Tables, host: any RewriteHost, plan: RewritePlan,
        progress: @escaping (UInt64, UInt64) throws -> Void
    ) {
        self.directory = directory
        self.environment = environment
        self.tables = tables
        self.host = host
        self.plan = plan
        self.progress = progress
        source = FileSource(directory: directory, environment: environment, tables: tables)
    }

    /// - Throws: what reading and writing throw; the store is as it was then.
    func run() throws -> Outcome {
        defer { host.withdrawFloor() }
        let start = try host.announce(floor: plan.floor)
        try progress(0, 1)
        let successor = try environment.openSuccessor()
        // Both files are read from one end to the other, several times; the new one may be the environment's by the end.
        try environment.expectScan(true)
        try successor.expectScan(true)
        defer { try? environment.expectScan(false) }
        do {
            var (copy, made, replay) = try Handover.inBackground { try self.copy(to: successor, start) }
            var outcome = try close(successor, &copy, made)
            outcome.replay = replay
            return outcome
        } catch {
            successor.close()
            throw error
        }
    }

    /// Copies what was there at the start, and what stays of it, and folds it.
    ///
    /// - Returns: what is made of it, too, and what a rebuild found.
    private func copy(
        to successor: Environment, _ start: StoreMoment
    ) throws -> (StoreCopy, Made, replay: ReplayReport?) {
        // Without a new one, nothing lies below.
        let floor = plan.floor > start.record.floor.seq.rawValue ? plan.floor : 0
        let head = start.head.seq
        var kept = KeptEvents(floor: floor)
        if floor > 0 {
            let held = try HeldStreams.find(
                tables.log.events, in: environment, floor: start.record.floor.seq.rawValue, through: head)
            for stream in held { kept.keepWhole(stream) }
        }
        if floor > 0 { try note(from: floor, through: head, &kept, start.record) }
        var copy = StoreCopy(
            source: source, target: successor, record: start.record, floor: floor, kept: kept,
            plan: plan)
        // Each event is folded up to the floor, copied, and folded again.
        let total = 3 * head
        try copy.copyBases { try progress($0, total) }
        let isThere = try floor > 0 && isArchived(through: floor - 1, start)
        let archive = try (floor > 0 && !isThere ? plan.archiveDirectory : nil).map {
            try ArchiveWriter(
                directory: $0,
                header: ArchiveHeader(
                    store: start.record.identity, through: floor - 1,
                    history: start.record.history.id(at: Seq(floor - 1))))
        }
        // Without `finish` there will be no archive.
        defer { archive?.cancel() }
        let folded = plan.isRebuild ? 0 : head
        try copy.copyLog(through: head, archive) { try progress(folded + $0, total) }
        let dropped = copy.log.droppedCount
        try catchUp(&copy)
        // A rebuild copies, folds and compares.
        let before = plan.isRebuild ? head : 2 * head
        try copy.fold { try progress(min(before + $0, total), total) }
        let replay = plan.isRebuild ? try copy.compare { try progress(min(2 * head + $0, total), total) } : nil
        // A fold reports nothing for events that are gone.
        try progress(total, total)
        if plan.isDryRun { return (copy, .nothing, replay) }
        if plan.isOnlyIfSmaller {
            let (old, new) = (try environment.information().fileBytes, try successor.information().fileBytes)
            guard CompactionReport.isWorthIt(from: UInt64(old), to: UInt64(new)) else {
                return (copy, .nothing, replay)
            }
        }
        let name = try !isThere ? finish(archive, dropped) : dropped > 0 ? archiveName : nil
        return (copy, .successor(archive: name), replay)
    }

    /// The result of a copy.
    private enum Made {
        /// It is given up.
        case nothing
        /// It takes the place of the store's file; `archive` has what leaves, nil for none.
        case successor(archive: String?)
    }

    /// Whether the directory for what leaves has an archive of the whole log.
    private var archivesLog: Bool { plan.archiveDirectory.map { SegmentDirectory.isOne($0) } ?? false }

    /// The name of the directory, which stands for all of its files.
    private var archiveName: String? {
        plan.archiveDirectory.map(Files.absolutePath(of:))?.split(separator: "/").last.map(String.init)
    }

    /// Whether what leaves is in an archive of the log already.
    ///
    /// - Throws: ``ArchiveError`` for such an archive that lacks some of it, or is not of this log; it says what to do.
    private func isArchived(through last: UInt64, _ start: StoreMoment) throws -> Bool {
        guard let directory = plan.archiveDirectory, archivesLog else { return false }
        let (segments, record) = (SegmentDirectory(directory), start.record)
        let chain = SegmentChain(try segments.segments(), of: record.history)
        guard chain.through >= last else {
            if let gap = chain.gap { throw segments.missing(gap) }
            throw ArchiveError(
                .incomplete, path: segments.path,
                "the archive of the log ends at event \(chain.through), before event \(last)")
        }
        let storage = TreeStorage(rows: environment, table: tables.log.merkle, log: tables.log.events)
        let nodes = try TreeTail().nodes(through: start.head.seq, storage)
        for link in chain.links where link.first <= last {
            guard try isOfThisLog(link, in: segments, start, nodes) else {
                throw ArchiveError(
                    .otherStore, path: segments.path(of: link.name), "its events are not those of this store's log")
            }
        }
        return true
    }

    /// Whether a segment can be read, and has the log through its last event.
    private func isOfThisLog(
        _ link: SegmentChain.Link, in segments: SegmentDirectory, _ start: StoreMoment, _ nodes: LogNodes
    ) throws -> Bool {
        let (reader, end) = try segments.open(link.name)
        guard reader.summary.header.store == start.record.identity, link.last <= start.head.seq else { return false }
        if link.last == link.name.last { return try nodes.root(of: link.last) == end.rootAfter }
        // A history ended within it: only the event is left to compare.
        let own = try environment.read { transaction in
            try tables.log.events.record(link.last, in: transaction) { try RecordHeader.read($0, seq: link.last) }
        }
        return try reader.event(link.last) { record, _ in
            try own.map { try RecordHeader.read(record, seq: link.last).salt == $0.salt } ?? true
        } ?? false
    }

    /// - Returns: the archive's name; nil without one.
    private func finish(_ archive: ArchiveWriter?, _ events: UInt64) throws -> String? {
        guard let archive, events > 0, let directory = plan.archiveDirectory else { return nil }
        // An erasure must find it, whatever becomes of this run.
        let (name, path, archives) = (archive.name, Files.absolutePath(of: directory), tables.log.archives)
        try host.write { try archives.addPending(name, in: path, to: &$0) }
        return try archive.finish().name
    }

    /// Looks at what was restored and undone above the floor.
    private func note(
        from floor: UInt64, through head: UInt64, _ kept: inout KeptEvents, _ record: StoreRecord
    ) throws {
        let log = tables.log.events
        var next = floor
        while next <= head {
            next = try environment.read { transaction in
                let end = min(head, next + 9_999)
                return try log.forEachRecord(from: next, in: transaction) { seq, bytes in
                    let header = try RecordHeader.read(bytes, seq: seq)
                    if header.kind == .undone || header.kind == .marked, !header.isErased {
                        let fact = try log.withPayload(of: seq, bytes, in: transaction) {
                            try EventDecoder.fact(seq: seq, header: $0, payload: $1, hasher: record.hasher)
                        }
                        kept.note(fact, stream: header.stream)
                    }
                    return seq < end
                }
            }
        }
    }

    /// Brings the copy up to the head, as near as it gets while the writer goes on, and then quite.
    private func close(_ successor: Environment, _ copy: inout StoreCopy, _ made: Made) throws -> Outcome {
        // Only maintenance changes what is copied now, and it waits until the end.
        defer { host.releaseWrites() }
        try host.holdWrites()
        try copy.copyMaintained()
        try catchUp(&copy)
        // So that there is little left to sync while the writer waits.
        try successor.sync()
        var outcome = Outcome(
            dropped: copy.log.droppedCount, droppedKinds: copy.log.droppedKinds, sizes: try FileSizes(of: successor))
        guard case .successor(let archive) = made else {
            successor.close()
            outcome.isGivenUp = true
            return outcome
        }
        outcome.archive = archive
        let handover = Handover(copy)
        // An erasure finds the archive of a log by itself.
        let archiveDirectory = archivesLog ? nil : plan.archiveDirectory.map(Files.absolutePath(of:))
        let (told, onErased) = (plan.told, plan.onErased)
        try host.replaceEnvironment(
            by: successor, erasing: plan.erasure?.stream,
            fill: { now, agreement in
                try handover.value.finish(
                    now, archive: told?.archive ?? archive, in: archiveDirectory, told: told, agreement: agreement)
            }, onExchange: { onErased?() })
        copy = handover.value
        (outcome.dropped, outcome.droppedKinds) = (copy.log.droppedCount, copy.log.droppedKinds)
        outcome.erased = UInt64(copy.log.erasedSeqs.count)
        outcome.head = copy.head
        return outcome
    }

    private func catchUp(_ copy: inout StoreCopy) throws {
        for _ in 0..<StoreRewrite.roundsAtMost {
            let head = try host.announce(floor: plan.floor).head.seq
            let isNear = head - copy.log.through < StoreRewrite.eventsAtEnd
            try copy.take(through: head)
            if isNear { break }
            try progress(0, 0)
        }
    }
}
