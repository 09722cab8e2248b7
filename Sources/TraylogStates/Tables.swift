import TraylogLMDB
import TraylogLog
import TraylogPages

/// The tables of a store's file (Docs/internals/format.md, "Tables").
package struct Tables: Sendable {
    package static let allNames =
        EventLog.tableNames + [
            "meta", "bases", "names", "states", "due", "projections", "fingerprints", "tree",
        ]

    package let log: EventLog
    package let meta: Database
    package let archives: ArchiveList
    package let source: SourceTable
    /// The table of projections, and that of the tree: higher floors know their rows.
    package let projectionDatabase: Database
    package let fingerprints: FingerprintTable
    package let treeDatabase: Database
    package let names: NameTable
    package let states: StateTable
    /// The state of each stream right before the floor, from which the log is folded: a root and its pages, in their places.
    package let bases: StateTable
    package let dues: DueTable

    package init(_ environment: Environment) {
        log = EventLog(environment)
        meta = environment.database("meta")
        archives = ArchiveList(database: meta)
        source = SourceTable(database: meta)
        projectionDatabase = environment.database("projections")
        fingerprints = FingerprintTable(database: environment.database("fingerprints"))
        treeDatabase = environment.database("tree")
        names = NameTable(database: environment.database("names"))
        states = StateTable(database: environment.database("states"))
        bases = StateTable(database: environment.database("bases"))
        dues = DueTable(database: environment.database("due"))
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
