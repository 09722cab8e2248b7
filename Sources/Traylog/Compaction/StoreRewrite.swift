import TraylogDomain
import TraylogLMDB
import TraylogLog

/// Writes the store anew beside itself, without what is to go, and lets the new file take the place of the old one.
///
/// Appends and queries go on meanwhile; what they change is brought in at the end, in one turn of the writer. Killed at
/// any moment, the store is the old one or the new one.
final class StoreRewrite {
    /// Events and streams that the last step may have to copy, while the writer waits.
    private static let eventsAtEnd: UInt64 = 1_000
    private static let streamsAtEnd = 64
    private static let roundsAtMost = 20

    let directory: String
    let environment: Environment
    let tables: Tables
    let writer: Writer
    let goal: RewriteGoal
    /// Told how far the work is; throws to give it up.
    let progress: (_ done: UInt64, _ total: UInt64) throws -> Void
    private let source: FileSource

    /// What the writer said when the copy began.
    struct Start {
        var record: StoreRecord
        var head: UInt64
        var streams: UInt32
    }

    /// What came of it.
    struct Outcome {
        var dropped: UInt64 = 0
        var droppedKinds: [UInt8: UInt64] = [:]
        var droppedBytes: UInt64 = 0
        var archive: String?
        var head: UInt64 = 0
    }

    init(
        directory: String, environment: Environment, tables: Tables, writer: Writer, goal: RewriteGoal,
        progress: @escaping (UInt64, UInt64) throws -> Void
    ) {
        self.directory = directory
        self.environment = environment
        self.tables = tables
        self.writer = writer
        self.goal = goal
        self.progress = progress
        source = FileSource(directory: directory, environment: environment, tables: tables)
    }

    /// - Throws: what reading and writing throw; the store is as it was then.
    func run() throws -> Outcome {
        let start = try begin()
        do {
            let successor = try environment.openSuccessor()
            do {
                return try fill(successor, start)
            } catch {
                successor.close()
                throw error
            }
        } catch {
            try? writer.endCapture()
            throw error
        }
    }

    /// Lets the writer note what it changes from now on, with all states below the floor stored.
    private func begin() throws -> Start {
        let floor = goal.floor
        let start = Monitor<Start?>(nil)
        while start.withLock({ $0 }) == nil {
            try writer.perform { loop in
                guard let begun = try loop.beginRewrite(floor: floor) else { return }
                start.withLock { $0 = begun }
            }
            try progress(0, 1)
        }
        guard let begun = start.withLock({ $0 }) else { preconditionFailure("the loop ends with a start") }
        return begun
    }

    private func fill(_ successor: Environment, _ start: Start) throws -> Outcome {
        let floor = max(goal.floor, start.record.floor.seq.rawValue)
        var kept = KeptEvents(floor: floor)
        if floor > start.record.floor.seq.rawValue { try note(through: start.head, from: floor, &kept, start.record) }
        var states = StateCopy(
            source: source, record: start.record, target: successor, floor: floor, kept: kept)
        let total = 2 * start.head
        try states.run(before: start.streams) { try progress($0, total) }
        var log = LogCopy(
            source: source, target: successor, oldFloor: start.record.floor.seq.rawValue, kept: states.kept,
            wholeTopics: try streams(ofTopics: states.kept.wholeTopics, start.record))
        let archive = try goal.archive?.begin(floor: floor)
        log.archive = archive.map { archive in { try archive.append($0, $1, $2) } }
        do {
            try log.run(through: start.head) { try progress(start.head + $0, total) }
            let name = log.dropped.count > 0 ? try archive?.finish() : nil
            if name == nil { archive?.cancel() }
            try copyRest(to: successor, start.record, log)
            return try close(successor, start, &states, &log, archive: name)
        } catch {
            archive?.cancel()
            throw error
        }
    }

    /// Looks at what was restored and undone above the floor.
    private func note(through head: UInt64, from floor: UInt64, _ kept: inout KeptEvents, _ record: StoreRecord) throws {
        var next = floor
        while next <= head {
            next = try environment.read { transaction in
                let end = min(head, next + 9_999)
                let log = tables.log
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

    private func streams(ofTopics identities: Set<UInt64>, _ record: StoreRecord) throws -> Set<UInt32> {
        let names = tables.names(record.generation)
        return Set(
            try identities.compactMap { identity in
                try environment.read { try names.stream(ofTopic: identity, in: $0) }
            })
    }

    /// Copies the tables that are as they are, but for what is due with events that leave.
    private func copyRest(to successor: Environment, _ record: StoreRecord, _ log: LogCopy) throws {
        for table in tables.unchanged(record.generation) {
            try TableCopy(table: table, source: environment, target: successor).run()
        }
        try TableCopy(table: tables.dues(record.generation).database, source: environment, target: successor).run {
            key in try !log.dropped.contains(DueEntry(key: key).item)
        }
    }

    /// Brings the copy up to the head, as near as it gets while the writer goes on, and then quite.
    private func close(
        _ successor: Environment, _ start: Start, _ states: inout StateCopy, _ log: inout LogCopy, archive: String?
    ) throws -> Outcome {
        // Values of projections are copied last, and must not change any more.
        writer.holdChores(true)
        defer { writer.holdChores(false) }
        try writer.perform { _ in }
        for table in tables.chored {
            try TableCopy(table: table, source: environment, target: successor).run()
        }
        var late = CopyCapture()
        for _ in 0..<StoreRewrite.roundsAtMost {
            let (more, head) = try writer.takeCapture()
            try successor.write { try late.take(more, &states, &log, to: &$0, self.tables, start.record.generation) }
            try log.run(through: head) { _ in try progress(0, 0) }
            if head - log.next < StoreRewrite.eventsAtEnd, more.streams.count < StoreRewrite.streamsAtEnd { break }
        }
        try successor.sync()
        if goal.checks { try check(successor) }
        return try finish(successor, start, states, log, late, archive)
    }
}
