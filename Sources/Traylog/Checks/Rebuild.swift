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

    func run(progress: (UInt64, UInt64) -> Void) throws -> ReplayReport {
        let head = try environment.read { try tables.log.head(in: $0).seq }
        let old = try readableRecord()
        var record = old ?? StoreRecord.new()
        record.generation = (old?.generation ?? .first).other
        record.flushedThrough = head
        record.nextStream = 1
        try clear(record.generation)
        var report = ReplayReport()
        let fold = LogFold(environment: environment, tables: tables, hasher: record.hasher, head: head)
        try fold.run(progress: { progress($0, head) }) { first, users in
            for (index, folded) in users.enumerated() {
                guard let folded else { continue }
                report.users += 1
                report.events += UInt64(folded.events)
                record.nextStream = max(record.nextStream, first + UInt32(index) + 1)
            }
            try write(users, first: first, to: record.generation)
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

    private func write(_ users: [LogFold.Folded?], first: UInt32, to generation: Generation) throws {
        let states = tables.states(generation)
        let names = tables.names(generation)
        var waiting = RowBuffer()
        for (index, folded) in users.enumerated() {
            guard let folded else { continue }
            folded.state.pack(into: &waiting, stream: first + UInt32(index), user: folded.user)
            guard waiting.count >= Rebuild.rowsPerTransaction else { continue }
            try environment.write { try waiting.write(to: states.database, in: &$0) }
            waiting.removeAll()
        }
        if !waiting.isEmpty { try environment.write { try waiting.write(to: states.database, in: &$0) } }
        let named = users.enumerated().compactMap { index, folded in
            folded.map { (user: $0.user, stream: first + UInt32(index)) }
        }
        .sorted { $0.user.precedesInBytes($1.user) }
        for start in stride(from: 0, to: named.count, by: Rebuild.rowsPerTransaction) {
            try environment.write { transaction in
                for (user, stream) in named[start...].prefix(Rebuild.rowsPerTransaction) {
                    try names.put(user, stream: stream, to: &transaction)
                }
            }
        }
    }

    /// Deletes a generation a little at a time: one large transaction would leave a list of free pages that slows
    /// every later commit.
    private func clear(_ generation: Generation) throws {
        for table in [tables.states(generation).database, tables.names(generation).database] {
            while true {
                let keys = try environment.read { transaction in
                    try transaction.withCursor(table) { cursor in
                        var keys: [[UInt8]] = []
                        var found = try cursor.first()
                        while found, keys.count < Rebuild.rowsPerTransaction {
                            cursor.withEntry { key, _ in
                                var bytes: [UInt8] = []
                                bytes.append(copying: key)
                                keys.append(bytes)
                            }
                            found = try cursor.next()
                        }
                        return keys
                    }
                }
                guard !keys.isEmpty else { break }
                try environment.write { transaction in
                    for key in keys { _ = try transaction.delete(table, RawSpan(_elements: key.span)) }
                }
            }
        }
    }
}
