import TraylogLMDB
import TraylogLog

/// The tables of a store's file (Docs/internals/format.md, "Tables").
package struct Tables: Sendable {
    package static let allNames =
        EventLog.tableNames + ["meta", "bases"] + DerivedTables.names + ["projections", "fingerprints", "tree"]

    package let log: LogTables
    package let derived: DerivedTables
    /// Values of custom projections.
    ///
    /// They can be folded again, as far as the log reaches; after a compaction they know more.
    package let projectionDatabase: Database

    package init(_ environment: Environment) {
        log = LogTables(environment)
        derived = DerivedTables(environment)
        projectionDatabase = environment.database("projections")
    }
}

/// The tables that nothing else can restore: the events, and the remains of events that left the log.
package struct LogTables: Sendable {
    package let events: EventLog
    package let meta: Database
    package let archives: ArchiveList
    package let source: SourceTable
    package let fingerprints: FingerprintTable
    /// The Merkle tree; higher floors know its rows.
    package let treeDatabase: Database
    /// The state of each stream right before the floor, from which the log is folded: a root and its pages.
    package let bases: StateTable

    init(_ environment: Environment) {
        events = EventLog(environment)
        meta = environment.database("meta")
        archives = ArchiveList(database: meta)
        source = SourceTable(database: meta)
        fingerprints = FingerprintTable(database: environment.database("fingerprints"))
        treeDatabase = environment.database("tree")
        bases = StateTable(database: environment.database("bases"))
    }
}

/// The tables that a fold of the log fills, so that queries need not fold it.
package struct DerivedTables: Sendable {
    package static let names = ["names", "states", "due"]

    package let names: NameTable
    package let states: StateTable
    package let dues: DueTable
    /// Has the row that says how far these tables have come.
    let meta: Database

    init(_ environment: Environment) {
        names = NameTable(database: environment.database("names"))
        states = StateTable(database: environment.database("states"))
        dues = DueTable(database: environment.database("due"))
        meta = environment.database("meta")
    }
}

extension Tables {
    /// Opens the environment of a store.
    ///
    /// - Throws: ``PackedError`` `older` for a store that lacks tables because an older version wrote it.
    package static func openForReading(_ directory: String, _ options: StoreOptions) throws -> Environment {
        do {
            return try open(directory, options, allNames)
        } catch let error as LMDBError where error.code == .missingDatabase {
            let old = try open(directory, options, ["meta"])
            defer { old.close() }
            let meta = old.database("meta")
            _ = try old.read { try StoreRecord.read(meta, in: $0) }
            throw error
        }
    }

    private static func open(_ directory: String, _ options: StoreOptions, _ names: [String]) throws -> Environment {
        try Environment.open(
            directory: directory, access: .readOnly, databases: names,
            configuration: Environment.Configuration(options))
    }
}
