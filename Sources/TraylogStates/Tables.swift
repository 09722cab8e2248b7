import TraylogLMDB
import TraylogLog
import TraylogPages

/// The tables of a store's file (Docs/format.md, "Tables").
///
/// Names, states and what is due exist twice: a rebuild fills the generation that is not in use, and one commit swaps
/// them.
package struct Tables: Sendable {
    package static let allNames =
        EventLog.tableNames + [
            "meta", "names.0", "names.1", "states.0", "states.1", "due.0", "due.1", "projections", "fingerprints",
            "tree",
        ]

    package let log: EventLog
    package let meta: Database
    package let archives: ArchiveList
    /// The table of projections, and that of the tree: higher floors know their rows.
    package let projectionDatabase: Database
    package let fingerprints: FingerprintTable
    package let treeDatabase: Database
    private let names: [Database]
    private let states: [Database]
    private let dues: [Database]

    package init(_ environment: Environment) {
        log = EventLog(environment)
        meta = environment.database("meta")
        archives = ArchiveList(database: meta)
        projectionDatabase = environment.database("projections")
        fingerprints = FingerprintTable(database: environment.database("fingerprints"))
        treeDatabase = environment.database("tree")
        names = [environment.database("names.0"), environment.database("names.1")]
        states = [environment.database("states.0"), environment.database("states.1")]
        dues = [environment.database("due.0"), environment.database("due.1")]
    }

    package func names(_ generation: Generation) -> NameTable { NameTable(database: names[generation.index]) }
    package func states(_ generation: Generation) -> StateTable { StateTable(database: states[generation.index]) }
    package func dues(_ generation: Generation) -> DueTable { DueTable(database: dues[generation.index]) }
}

/// Which of the two copies of names and states is in use.
package enum Generation: UInt8, Hashable, Sendable {
    case first = 0
    case second = 1

    var index: Int { Int(rawValue) }
    package var other: Generation { self == .first ? .second : .first }
}
