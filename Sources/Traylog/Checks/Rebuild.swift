import TraylogDomain
import TraylogLMDB
import TraylogLog

/// Derives all names and states from the log again, beside those in use, and swaps them in with one commit.
///
/// Killed at any moment, the store has the old ones or the new ones. It reads nothing but the log, so that it mends
/// whatever else is damaged.
struct Rebuild {
    /// Rows that one transaction writes or deletes, so that it frees few pages.
    private static let rowsPerTransaction = 300

    let environment: Environment
    let tables: Tables

    init(environment: Environment) {
        self.environment = environment
        tables = Tables(environment)
    }

    /// - Parameter known: the store's record, where the stored one is not to be used.
    func run(known: StoreRecord? = nil, progress: (UInt64, UInt64) -> Void) throws -> ReplayReport {
        let head = try environment.read { try tables.log.head(in: $0).seq }
        let old = try known ?? readableRecord()
        var record = old ?? StoreRecord.new()
        record.generation = (old?.generation ?? .first).other
        record.flushedThrough = head
        (record.nextStream, record.topics) = (1, 0)
        try clear(record.generation)
        var report = ReplayReport()
        var fold = LogFold(environment: environment, tables: tables, record: record, head: head)
        if let old { fold.base = bases(old) }
        let states = tables.states(record.generation)
        fold.landmark = { stream, name, reached, before in
            var rows = RowBuffer()
            let kept = KeptRows(stream: stream, floor: record.floor.seq.rawValue, stored: nil)
            try kept.append(for: reached, name: name, landmarks: before.map { [$0] } ?? [], to: &rows)
            try write(rows, to: states)
        }
        try fold.run(progress: { progress($0, head) }) { first, users in
            for (index, folded) in users.enumerated() {
                guard let folded else { continue }
                if folded.name.isTopic { record.topics += 1 } else { report.users += 1 }
                report.events += UInt64(folded.events)
                record.nextStream = max(record.nextStream, first + UInt32(index) + 1)
            }
            try write(users, first: first, record)
        }
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

    /// What a compaction kept, in the states that are in use; a rebuild reads nothing else of them.
    private func bases(_ old: StoreRecord) -> (UInt32) throws -> FoldBase? {
        FoldBase.reader(
            of: StoredPages(
                environment: environment, tables: tables, generation: old.generation, stream: 0,
                view: .current(limit: .max), floor: old.floor, isShared: false, categoryNames: CategoryNames()),
            below: old.floorStreams)
    }

    private func write(_ rows: RowBuffer, to states: StateTable) throws {
        guard !rows.isEmpty else { return }
        try environment.write { try rows.write(to: states.database, in: &$0) }
    }

    /// Writes the rows once there are enough for a transaction.
    private func writeFull(_ rows: inout RowBuffer, to states: StateTable) throws {
        guard rows.count >= Rebuild.rowsPerTransaction else { return }
        try write(rows, to: states)
        rows.removeAll()
    }

    private func write(
        _ users: [LogFold.Folded?], first: UInt32, _ record: StoreRecord
    ) throws {
        let generation = record.generation
        let states = tables.states(generation)
        let names = tables.names(generation)
        var waiting = RowBuffer()
        for (index, folded) in users.enumerated() {
            guard let folded else { continue }
            let stream = first + UInt32(index)
            if let base = folded.base {
                let floor = record.floor.seq.rawValue
                try BaseRows(stream: stream, floor: floor, base: base, folded: folded.state)
                    .append(to: &waiting) { try writeFull(&$0, to: states) }
            }
            if let landmark = folded.landmark {
                let kept = KeptRows(stream: stream, floor: 0, stored: nil)
                try kept.append(for: folded.state, name: folded.name, landmarks: [landmark], to: &waiting)
            }
            folded.state.pack(into: &waiting, stream: stream, name: folded.name)
            try writeFull(&waiting, to: states)
        }
        try write(waiting, to: states)
        let named = users.enumerated().compactMap { index, folded in
            folded.flatMap { $0.name.isErased ? nil : $0 }.map {
                (key: $0.name.key(record.hasher), stream: first + UInt32(index))
            }
        }
        .sorted { $0.key.lexicographicallyPrecedes($1.key) }
        for start in stride(from: 0, to: named.count, by: Rebuild.rowsPerTransaction) {
            try environment.write { transaction in
                for (key, stream) in named[start...].prefix(Rebuild.rowsPerTransaction) {
                    try names.put(key, stream: stream, to: &transaction)
                }
            }
        }
        try writeDues(users, to: generation)
    }

    private func writeDues(_ users: [LogFold.Folded?], to generation: Generation) throws {
        let entries = try users.flatMap { folded -> [(seq: UInt64, entry: DueEntry)] in
            guard let folded else { return [] }
            return try folded.dues.filter { try folded.state.holds($0.entry, setBy: $0.seq, stored: folded.pages) }
        }
        .map { (key: $0.entry.key, entry: $0.entry) }
        .sorted { $0.key.lexicographicallyPrecedes($1.key) }
        for start in stride(from: 0, to: entries.count, by: Rebuild.rowsPerTransaction) {
            let some = entries[start...].prefix(Rebuild.rowsPerTransaction).map(\.entry)
            try environment.write { try tables.dues(generation).add(some, to: &$0) }
        }
    }

    private func clear(_ generation: Generation) throws {
        for table in [
            tables.states(generation).database, tables.names(generation).database, tables.dues(generation).database,
        ] {
            try environment.empty(table, rowsPerTransaction: Rebuild.rowsPerTransaction)
        }
    }
}
