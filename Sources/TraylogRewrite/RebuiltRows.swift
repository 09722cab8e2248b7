@_spi(Replication) import TraylogDomain
import TraylogFold
import TraylogLMDB
import TraylogLog
import TraylogPages
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

    /// Derives all names, states and due rows from the log, and writes them to tables that are empty.
    ///
    /// - Parameters:
    ///   - source: has the log and, below a floor, the bases; its tables are numbered like the target's.
    ///   - record: the store's; only its floor, its secret and the distance of landmarks are used.
    ///   - threads: one or two; as many as there are processors when nil.
    ///   - progress: told the number of events folded so far.
    /// - Returns: the record to write, which says what was derived.
    package static func derive(
        from source: Environment, to target: Environment, _ tables: Tables, _ record: StoreRecord, threads: Int? = nil,
        progress: (UInt64) throws -> Void
    ) throws -> StoreRecord {
        var record = record
        record.flushedThrough = try source.read { try tables.log.head(in: $0).seq }
        (record.nextStream, record.topics, record.staged) = (.first, 0, nil)
        var fold = LogFold(rows: source, tables: tables, record: record, head: record.flushedThrough)
        fold.bases = FoldBases(of: record, tables, source)
        fold.threads = CurrentProcess.threads(threads)
        var takers = [RebuiltRows(environment: target, tables: tables, record: record)]
        try fold.run(into: &takers, progress: progress)
        try takers[0].finish()
        return takers[0].record
    }

    package mutating func reached(_ landmark: TrayState, of folded: LogFold.Folded, before: TrayState?) throws {
        let kept = KeptRows(stream: folded.stream, floor: record.floor.seq.rawValue, stored: nil)
        try kept.append(for: landmark, name: folded.name, landmarks: before.map { [$0] } ?? [], to: &waiting)
        try writeIfFull()
    }

    package mutating func take(_ folded: LogFold.Folded) throws {
        if folded.name.isTopic { record.topics += 1 }
        record.nextStream = max(record.nextStream, folded.stream.next)
        if let base = folded.base {
            let rows = BaseRows(
                stream: folded.stream, floor: record.floor.seq.rawValue, base: base, folded: folded.state)
            let (environment, states) = (environment, states)
            try rows.append(to: &waiting) {
                try Self.write(&$0, from: Self.rowsPerTransaction, to: states, of: environment)
            }
        }
        if let landmark = folded.landmark {
            let kept = KeptRows(stream: folded.stream, floor: 0, stored: nil)
            try kept.append(for: folded.state, name: folded.name, landmarks: [landmark], to: &waiting)
        }
        folded.state.pack(into: &waiting, stream: folded.stream, name: folded.name)
        try writeIfFull()
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
        try Self.write(&waiting, from: 1, to: states, of: environment)
        try writeNames()
        try writeDues()
    }

    private var states: Database { tables.states.database }

    private mutating func writeIfFull() throws {
        try Self.write(&waiting, from: Self.rowsPerTransaction, to: states, of: environment)
    }

    /// Writes the rows once there are enough of them.
    private static func write(
        _ rows: inout RowBuffer, from count: Int, to states: Database, of environment: Environment
    ) throws {
        guard rows.count >= count else { return }
        try environment.write { try rows.write(to: states, in: &$0) }
        rows.removeAll()
    }

    private mutating func writeNames() throws {
        let table = tables.names
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
        let table = tables.dues
        dues.sort { $0.key.lexicographicallyPrecedes($1.key) }
        for start in stride(from: 0, to: dues.count, by: Self.rowsPerTransaction) {
            let some = dues[start...].prefix(Self.rowsPerTransaction).map(\.entry)
            try environment.write { try table.add(some, to: &$0) }
        }
        dues.removeAll()
    }
}
