import TraylogLMDB
import TraylogLog
import TraylogPages

/// The tables of a store's file (Docs/internals/format.md, "Tables").
package struct Tables: Sendable {
    package static let allNames =
        EventLog.tableNames + [
            "meta", "names", "states", "due", "projections", "fingerprints", "tree",
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
        dues = DueTable(database: environment.database("due"))
    }
}
