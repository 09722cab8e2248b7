@_spi(Operations) import TraylogChecks
import TraylogDomain
import TraylogLMDB
import TraylogLog
import TraylogPages
import TraylogStates
import TraylogTree

/// Writes the store anew beside itself, with names, states and due rows derived from the log, and lets the new
/// environment take the place of the old one.
///
/// Of the old states it reads nothing but the bases that a compaction kept, so it repairs whatever else is damaged. It has
/// the store to itself; readers in other processes go on. Killed at any moment, the store is the old one or the new one.
@_spi(Operations) public struct Rebuild {
    private static let rowsBetweenReports: UInt64 = 10_000

    let directory: String
    let source: Environment
    let successor: Environment
    let tables: Tables

    /// - Parameters:
    ///   - threads: one or two, of which the second one only reads; as many as there are processors when nil.
    ///   - progress: told how far it is and how far it goes, in events, each of which is copied, folded and compared; throws
    ///     to give up.
    /// - Returns: what the comparison of the new states with the log found: no difference.
    /// - Throws: ``TraylogError``: as for opening a store for writing, `damaged` for an event that cannot be read. The store
    ///   is as it was then.
    public static func run(
        directory: String, options: StoreOptions = StoreOptions(), threads: Int? = nil,
        progress: (_ done: UInt64, _ total: UInt64) throws -> Void
    ) throws(TraylogError) -> ReplayReport {
        do {
            try options.validate()
            let directory = try Environment.resolve(directory)
            var configuration = Environment.Configuration(options)
            configuration.creates = false
            let environment = try Environment.open(
                directory: directory, access: .readWrite, databases: Tables.allNames, configuration: configuration)
            defer { environment.close() }
            return try Replay.timed { try run(directory, environment, threads, progress) }
        } catch {
            throw TraylogError(error, in: directory)
        }
    }

    private static func run(
        _ directory: String, _ environment: Environment, _ threads: Int?, _ progress: (UInt64, UInt64) throws -> Void
    ) throws -> ReplayReport {
        let tables = Tables(environment)
        let record = try readableRecord(tables, environment)
        let successor = try environment.openSuccessor()
        // Belongs to the store once it has taken the old one's place.
        defer { successor.close() }
        let rebuild = Rebuild(directory: directory, source: environment, successor: successor, tables: tables)
        let report = try rebuild.fill(record, threads, progress)
        try environment.replace(by: successor)
        try environment.finishReplacement()
        return report
    }

    /// The store's record; a new one when it cannot be read: every identity is derived anew.
    ///
    /// - Throws: ``PackedError`` `newer`: whoever wrote that knows more than the log and this version.
    private static func readableRecord(_ tables: Tables, _ environment: Environment) throws -> StoreRecord {
        do {
            return try environment.read { try StoreRecord.read(tables.meta, in: $0) } ?? .new()
        } catch PackedError.damaged {
            return .new()
        }
    }

    private func fill(
        _ record: StoreRecord, _ threads: Int?, _ progress: (UInt64, UInt64) throws -> Void
    ) throws -> ReplayReport {
        let head = try source.read { try tables.log.head(in: $0).seq }
        try copyLog { try progress(min($0, head), 3 * head) }
        try copyOthers(record)
        let derived = try RebuiltRows.derive(in: successor, tables, record, threads: threads) {
            try progress(head + $0, 3 * head)
        }
        try successor.write { try derived.write(tables.meta, to: &$0) }
        let report = try Replay.compare(directory, successor, limit: 1, threads: threads) { done, _ in
            try progress(2 * head + done, 3 * head)
        }
        guard let difference = report.difference else { return report }
        throw StoreFailure(
            code: .damaged, message: "nothing was rebuilt: \(difference); this is a fault of the program: report it")
    }

    private func copyLog(progress: (UInt64) throws -> Void) throws {
        var tableCopy = TableCopy(from: source, to: successor)
        var rows: UInt64 = 0
        for name in EventLog.tableNames {
            try tableCopy.copy(source.database(name)) { _, _ in
                rows += 1
                if rows.isMultiple(of: Rebuild.rowsBetweenReports) { try progress(rows) }
                return true
            }
        }
    }

    /// Copies what a rebuild does not derive.
    private func copyOthers(_ record: StoreRecord) throws {
        var tableCopy = TableCopy(from: source, to: successor)
        try tableCopy.copy(tables.meta)
        try tableCopy.copy(tables.fingerprints.database)
        try tableCopy.copy(tables.bases.database)
        // Whoever asks next folds the projections anew.
        try copyOrEmpty(tables.projectionDatabase)
        // Of the tree, all but the hashes of events that left the log follows from it.
        if record.floor.seq > .zero {
            try tableCopy.copy(tables.treeDatabase) { key, _ in MerkleTable.isRemovedLeaves(key) }
        }
    }

    /// Leaves a table empty of which a page is damaged.
    private func copyOrEmpty(_ table: Database) throws {
        do {
            var tableCopy = TableCopy(from: source, to: successor)
            try tableCopy.copy(table)
        } catch let error as LMDBError where error.code == .corrupted || error.code == .truncated {
            try successor.empty(table)
        }
    }
}
