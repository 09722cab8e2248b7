import TraylogDomain
import TraylogFold
import TraylogLMDB
import TraylogPlatform
import TraylogQueries
import TraylogStates

/// Folds the log anew and compares what is stored with what comes out.
@_spi(Operations) public enum Replay {
    /// - Parameters:
    ///   - moment: folds the log through it, and compares what comes out with the answers about that moment, and not with
    ///     what is stored of now.
    ///   - progress: called with the number of events folded and of all events; throws to give up.
    /// - Throws: ``TraylogError``: as for opening, `damaged` for an event that cannot be read.
    public static func run(
        directory: String, options: StoreOptions = StoreOptions(), asOf moment: Moment? = nil,
        progress: (_ done: UInt64, _ total: UInt64) throws -> Void
    ) throws(TraylogError) -> ReplayReport {
        do {
            let environment = try Tables.openForReading(directory, options)
            defer { environment.close() }
            try environment.expectScan(true)
            return try timed { try compare(directory, environment, asOf: moment, progress: progress) }
        } catch {
            throw TraylogError(error, in: directory)
        }
    }

    package static func timed(_ body: () throws -> ReplayReport) rethrows -> ReplayReport {
        let start = SystemClock.monotonicNanoseconds()
        var report = try body()
        report.seconds = Double(SystemClock.monotonicNanoseconds() - start) / 1e9
        return report
    }

    /// Compares every stored state with the fold of the log.
    ///
    /// - Parameters:
    ///   - limit: the number of differences to name.
    ///   - eventsPerPass: how many events are held in memory; as ``LogFold`` finds right when nil.
    ///   - skipsDamage: goes on without events that cannot be read.
    package static func compare(
        _ directory: String, _ environment: Environment, asOf moment: Moment? = nil, limit: Int = 1,
        eventsPerPass: Int? = nil, skipsDamage: Bool = false,
        progress: (UInt64, UInt64) throws -> Void
    ) throws -> ReplayReport {
        // A compaction or an erasure that ends meanwhile takes nothing away.
        let source = FileSource(
            directory: directory, environment: environment, tables: Tables(environment),
            pinned: try PinnedFile(environment))
        let (record, head) = try source.read { ($0.record, try $0.seq(of: moment)) }
        var fold = LogFold(rows: source.rows, log: source.tables.log, record: record, head: head)
        fold.bases = source.bases(record)
        if let eventsPerPass { fold.eventsPerPass = eventsPerPass }
        fold.skipsDamage = skipsDamage
        fold.foldsTopicsThroughHead = moment != nil
        var check = StateCheck(StreamCheck(source: source, head: head, isPast: moment != nil), limit: limit)
        try fold.run(into: &check) { try progress($0, head) }
        try check.finish()
        var report = ReplayReport(events: check.events, users: check.users)
        report.differences = check.differences
        return report
    }
}
