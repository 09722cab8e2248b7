@_spi(Replication) import TraylogDomain
import TraylogFold
import TraylogLMDB
import TraylogLog
import TraylogPlatform
import TraylogStates

/// The states that a fold gives, with their names and what is due, as rows of tables that nobody reads yet.
package struct RebuiltRows: FoldTaker {
    /// Rows that one transaction writes or deletes, so that it frees few pages.
    static let rowsPerTransaction = 300
    /// Names, and entries of what is due, that are put into the order of their tables at a time.
    private static let sortedRows = 200_000

    private let environment: Environment
    private let tables: Tables
    /// The store's record to be; its streams are counted on the way.
    private var record: StoreRecord
    private var waiting = RowBuffer()
    private var names: [(key: [UInt8], stream: StreamID)] = []
    private var dues: [(key: [UInt8], entry: DueEntry)] = []

    /// The greatest key of the states so far.
    private var last: [UInt8] = []
    private let check: Check?

    /// Looks at a folded state, with the rows that store it.
    package typealias Check = (LogFold.Folded, _ rows: RowBuffer, Range<Int>) throws -> Void

    /// Derives all names, states and due rows from log and bases of an environment, and writes them to its tables, which are
    /// empty.
    ///
    /// - Parameters:
    ///   - record: the store's; only its floor, its secret and the distance of landmarks are used.
    ///   - eventsPerPass: how many events are held in memory; as ``LogFold`` finds right when nil.
    ///   - check: called with each stream, and the rows of its changed pages and its root.
    ///   - progress: told the number of events folded so far.
    /// - Returns: the record to write, which says what was derived.
    package static func derive(
        in environment: Environment, _ tables: Tables, _ record: StoreRecord,
        eventsPerPass: Int? = nil, check: Check? = nil, progress: (UInt64) throws -> Void
    ) throws -> StoreRecord {
        var record = record
        record.states = StateProgress()
        record.states.nextStream = max(.first, record.floorStreams)
        record.states.through = try environment.read { try tables.log.events.head(in: $0, isWhole: false).seq }
        var fold = LogFold(rows: environment, log: tables.log, record: record, head: record.states.through)
        fold.bases = FoldBases(of: record, tables, environment)
        if let eventsPerPass { fold.eventsPerPass = eventsPerPass }
        var rows = RebuiltRows(environment: environment, tables: tables, record: record, check: check)
        try fold.run(into: &rows, progress: progress)
        try rows.finish()
        return rows.record
    }

    private init(environment: Environment, tables: Tables, record: StoreRecord, check: Check?) {
        self.environment = environment
        self.tables = tables
        self.record = record
        self.check = check
    }

    package mutating func reached(_ landmark: TrayState, of folded: LogFold.Folded, before: TrayState?) throws {
        guard let before else { return }
        write(before, of: folded, before: landmark)
        try write(from: Self.rowsPerTransaction)
    }

    private mutating func write(_ landmark: TrayState, of folded: LogFold.Folded, before next: TrayState) {
        landmark.packPages(into: &waiting, folded.stream, before: next)
        landmark.packLandmark(into: &waiting, folded.stream, folded.name)
    }

    package mutating func take(_ folded: LogFold.Folded) throws {
        if folded.name.isTopic { record.states.topics += 1 }
        record.states.nextStream = max(record.states.nextStream, folded.stream.next)
        if let base = folded.base {
            let rows = BaseRows(
                stream: folded.stream, base: base, folded: folded.state, hasLandmarks: folded.landmark != nil)
            let (environment, states) = (environment, states)
            try rows.append(to: &waiting) {
                if $0.count >= Self.rowsPerTransaction { try $0.drain(to: states, of: environment, after: &last) }
            }
        }
        if let landmark = folded.landmark {
            write(landmark, of: folded, before: folded.state)
            folded.state.packEnds(into: &waiting, folded.stream)
        }
        let first = waiting.count
        folded.state.pack(into: &waiting, stream: folded.stream, name: folded.name)
        try check?(folded, waiting, first..<waiting.count)
        try write(from: Self.rowsPerTransaction)
        if !folded.name.isErased { names.append((folded.name.key(record.hasher), folded.stream)) }
        for (seq, entry) in folded.dues
        where try folded.state.holds(
            entry, setBy: seq, isTopic: folded.name.isTopic, stored: folded.pages)
        {
            dues.append((entry.key, entry))
        }
        if names.count >= Self.sortedRows { try writeNames() }
        if dues.count >= Self.sortedRows { try writeDues() }
    }

    /// Writes what waits; to be called at the end.
    mutating func finish() throws {
        try write(from: 1)
        try writeNames()
        try writeDues()
    }

    private var states: Database { tables.derived.states.database }

    /// Writes the rows once there are enough of them.
    private mutating func write(from count: Int) throws {
        guard waiting.count >= count else { return }
        try waiting.drain(to: states, of: environment, after: &last)
    }

    private mutating func writeNames() throws {
        let table = tables.derived.names
        names.sort { $0.key.lexicographicallyPrecedes($1.key) }
        for start in stride(from: 0, to: names.count, by: Self.rowsPerTransaction) {
            try environment.write { transaction in
                for (key, stream) in names[start...].prefix(Self.rowsPerTransaction) {
                    try table.put(key, stream: stream, to: &transaction)
                }
            }
        }
        names.removeAll()
    }

    private mutating func writeDues() throws {
        let table = tables.derived.dues
        dues.sort { $0.key.lexicographicallyPrecedes($1.key) }
        for start in stride(from: 0, to: dues.count, by: Self.rowsPerTransaction) {
            let some = dues[start...].prefix(Self.rowsPerTransaction).map(\.entry)
            try environment.write { try table.add(some, to: &$0) }
        }
        dues.removeAll()
    }
}
