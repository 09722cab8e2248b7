import TraylogDomain
import TraylogLMDB
import TraylogPages
import TraylogLog

/// The tables of a store's file (Docs/format.md, "Tables").
///
/// Names, states and what is due exist twice: a rebuild fills the generation that is not in use, and one commit swaps
/// them.
struct Tables: Sendable {
    static let allNames =
        EventLog.tableNames + [
            "meta", "names.0", "names.1", "states.0", "states.1", "due.0", "due.1", "projections", "fingerprints",
            "tree",
        ]

    let log: EventLog
    let meta: Database
    let archives: ArchiveList
    let projections: ProjectionTable
    let fingerprints: FingerprintTable
    let merkle: MerkleTable
    private let names: [Database]
    private let states: [Database]
    private let dues: [Database]

    init(_ environment: Environment) {
        log = EventLog(environment)
        meta = environment.database("meta")
        archives = ArchiveList(database: meta)
        projections = ProjectionTable(database: environment.database("projections"))
        fingerprints = FingerprintTable(database: environment.database("fingerprints"))
        merkle = MerkleTable(database: environment.database("tree"))
        names = [environment.database("names.0"), environment.database("names.1")]
        states = [environment.database("states.0"), environment.database("states.1")]
        dues = [environment.database("due.0"), environment.database("due.1")]
    }

    func names(_ generation: Generation) -> NameTable { NameTable(database: names[generation.index]) }
    func states(_ generation: Generation) -> StateTable { StateTable(database: states[generation.index]) }
    func dues(_ generation: Generation) -> DueTable { DueTable(database: dues[generation.index]) }
}

/// Which of the two copies of names and states is in use.
enum Generation: UInt8, Hashable, Sendable {
    case first = 0
    case second = 1

    var index: Int { Int(rawValue) }
    var other: Generation { self == .first ? .second : .first }
}
