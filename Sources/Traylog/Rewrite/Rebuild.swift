import TraylogDomain
import TraylogFold
import TraylogLMDB
import TraylogLog
import TraylogPlatform
import TraylogStates

/// Derives all names and states from the log again, beside those in use, and swaps them in with one commit.
///
/// Killed at any moment, the store has the old ones or the new ones. It reads nothing but the log, so that it mends
/// whatever else is damaged.
struct Rebuild {
    let environment: Environment
    let tables: Tables

    init(environment: Environment) {
        self.environment = environment
        tables = Tables(environment)
    }

    /// - Parameters:
    ///   - known: the store's record, where the stored one is not to be used.
    ///   - threads: one or two, of which the second one only reads; as many as there are processors when nil.
    func run(
        known: StoreRecord? = nil, threads: Int? = nil, progress: (UInt64, UInt64) throws -> Void
    ) throws -> ReplayReport {
        let head = try environment.read { try tables.log.head(in: $0).seq }
        let old = try known ?? readableRecord()
        var record = old ?? StoreRecord.new()
        record.generation = (old?.generation ?? .first).other
        record.flushedThrough = head
        (record.nextStream, record.topics) = (1, 0)
        try clear(record.generation)
        var report = ReplayReport()
        var fold = LogFold(rows: environment, tables: tables, record: record, head: head)
        // What a compaction kept, in the states that are in use; a rebuild reads nothing else of them.
        if let old { fold.base = FoldBase.reader(of: old, tables, environment) }
        fold.threads = CurrentProcess.threads(threads)
        var takers = [RebuiltRows(environment, tables, record)]
        try fold.run(into: &takers) { try progress($0, head) }
        try takers[0].finish()
        record = takers[0].record
        report.events = takers[0].events
        report.users = takers[0].users
        try environment.write { try record.write(tables.meta, to: &$0) }
        try clear(record.generation.other)
        return report
    }

    /// The store's record, if it can be read; otherwise nothing is lost, as every identity is derived anew.
    ///
    /// - Throws: ``PackedError`` `newer`: whoever wrote that knows more than the log and this version.
    private func readableRecord() throws -> StoreRecord? {
        do {
            return try environment.read { try StoreRecord.read(tables.meta, in: $0) }
        } catch PackedError.damaged {
            return nil
        }
    }

    private func clear(_ generation: Generation) throws {
        for table in [
            tables.states(generation).database, tables.names(generation).database, tables.dues(generation).database,
        ] {
            try environment.empty(table, rowsPerTransaction: RebuiltRows.rowsPerTransaction)
        }
    }
}
