import Synchronization
import TraylogLMDB
import TraylogPlatform

/// The storage of a device in a directory, in LMDB: one file for the outbox, and one for all other tables.
///
/// The latter can be thrown away when it is damaged. Of a damaged outbox the rows that can be read are kept, and the damaged
/// file beside them. The directory belongs to one process at a time.
public final class LMDBStorage: DeviceStorage {
    /// Where the files are.
    public let directory: String
    /// A sentence for the user about each damaged outbox that was found here, now or earlier.
    public let damage: [String]
    private let outbox: Environment
    /// Nil after ``close()``, so that nothing begins a file in a directory that has another owner by then.
    private let replica: Mutex<Environment?>

    private static let replicaTables = DeviceTable.allCases.filter { $0 != .outbox }.map(\.rawValue)
    private static let removedSuffix = ".removed"
    private var replicaDirectory: String { directory + "/replica" }

    /// Opens the directory, and creates it (with access for its owner alone) where it is missing.
    ///
    /// A copy of the tray that cannot be opened is thrown away.
    ///
    /// - Throws: ``DeviceFailure``; ``DeviceFailure/Code/inUse`` when it is open elsewhere.
    public init(directory: String) throws(DeviceFailure) {
        self.directory = directory
        // A process was killed while it removed them.
        Files.removeTree(directory + Self.removedSuffix)
        let salvage = OutboxSalvage(path: directory + "/outbox")
        outbox = try Self.openOutbox(salvage, in: directory)
        damage = salvage.kept
        do throws(DeviceFailure) {
            replica = Mutex(try Self.openReplica(directory + "/replica"))
        } catch {
            outbox.close()
            throw error
        }
    }

    private static func openOutbox(_ salvage: OutboxSalvage, in directory: String) throws(DeviceFailure) -> Environment
    {
        let tables = [DeviceTable.outbox.rawValue]
        salvage.resume()
        do throws(DeviceFailure) {
            let environment = try open(salvage.path, tables, in: directory)
            do {
                // Damage must be found now, while the readable rest can still be copied.
                _ = try keys(of: environment.database(tables[0]), environment)
                return environment
            } catch {
                environment.close()
                throw (error as? LMDBError).map(DeviceFailure.init) ?? DeviceFailure(.inputOutput, "\(error)")
            }
        } catch {
            guard error.code == .damaged else { throw error }
            try salvage.run { (path) throws(DeviceFailure) in try open(path, tables, in: directory) }
            return try open(salvage.path, tables, in: directory)
        }
    }

    private static func openReplica(_ directory: String) throws(DeviceFailure) -> Environment {
        do throws(DeviceFailure) {
            return try open(directory, replicaTables)
        } catch {
            guard error.code == .damaged else { throw error }
            Files.removeTree(directory)
            return try open(directory, replicaTables)
        }
    }

    private static func open(
        _ path: String, _ tables: [String], in parent: String? = nil
    ) throws(DeviceFailure) -> Environment {
        do {
            if let parent { _ = try Files.createDirectory(parent) }
            return try Environment.open(
                directory: path, access: .readWrite, databases: tables, configuration: .init(mapSizeBytes: 8 << 30))
        } catch let error as LMDBError {
            throw DeviceFailure(error)
        } catch {
            throw DeviceFailure(
                error as? SystemError == .accessDenied ? .permissionDenied : .inputOutput,
                "\(path) cannot be opened: \(error)")
        }
    }

    /// The value under a key.
    public func value(_ key: UInt64, in table: DeviceTable) throws(DeviceFailure) -> [UInt8]? {
        try with(table) { environment in
            try environment.read { try $0.get(environment.database(table.rawValue), key, Self.bytes) }
        }
    }

    /// The row with the greatest key at or below the one given.
    public func row(atOrBelow key: UInt64, in table: DeviceTable) throws(DeviceFailure) -> DeviceRow? {
        try with(table) { environment in
            try environment.read { transaction in
                try transaction.withCursor(environment.database(table.rawValue)) { cursor in
                    if try cursor.seek(key) {
                        let row = Self.row(cursor)
                        if row.key == key { return row }
                    }
                    return try cursor.previous() ? Self.row(cursor) : nil
                }
            }
        }
    }

    /// The rows of a table from a key on, ascending.
    public func forEach(
        in table: DeviceTable, from key: UInt64, _ body: (DeviceRow) -> Bool
    ) throws(DeviceFailure) {
        try with(table) { environment in
            try environment.read { transaction in
                try transaction.withCursor(environment.database(table.rawValue)) { cursor in
                    guard try cursor.seek(key), body(Self.row(cursor)) else { return }
                    while try cursor.next(), body(Self.row(cursor)) {}
                }
            }
        }
    }

    /// Makes all changes in one transaction, and syncs.
    public func write(_ changes: [DeviceChange]) throws(DeviceFailure) {
        guard let first = changes.first?.table else { return }
        try with(first) { environment in
            try environment.write { transaction in
                for change in changes {
                    precondition((change.table == .outbox) == (first == .outbox), "a write concerns one of the files")
                    let database = environment.database(change.table.rawValue)
                    switch change {
                    case .put(_, let key, let value): unsafe try transaction.put(database, key, value.span.bytes)
                    case .remove(_, let key): _ = try transaction.delete(database, key)
                    case .clear:
                        for key in try Self.keys(of: database, environment) {
                            _ = try transaction.delete(database, key)
                        }
                    }
                }
            }
        }
    }

    /// The keys of a table as of the last commit.
    private static func keys(of table: Database, _ environment: Environment) throws -> [UInt64] {
        var keys: [UInt64] = []
        try environment.read { transaction in
            try transaction.withCursor(table) { cursor in
                while try cursor.next() { keys.append(cursor.withEntry { key, _ in Self.number(key) }) }
            }
        }
        return keys
    }

    /// Removes the replica's file and begins an empty one.
    ///
    /// - Throws: ``DeviceFailure``; ``DeviceFailure/Code/closed`` after ``close()``.
    public func discardReplica() throws(DeviceFailure) {
        try replica.withLock { (environment) throws(DeviceFailure) in
            guard let old = environment else { throw closed }
            old.close()
            Files.removeTree(replicaDirectory)
            environment = try Self.open(replicaDirectory, Self.replicaTables)
        }
    }

    /// Closes both files.
    public func close() {
        outbox.close()
        replica.withLock { environment in
            environment?.close()
            environment = nil
        }
    }

    private var closed: DeviceFailure { DeviceFailure(LMDBError.closed("use", directory)) }

    /// Removes the directory: all of it or, when the process is killed meanwhile, nothing or the rest at the next opening.
    public func destroy() throws(DeviceFailure) {
        close()
        let removed = directory + Self.removedSuffix
        Files.removeTree(removed)
        if (try? Files.rename(directory, to: removed)) == nil { Files.removeTree(directory) }
        Files.removeTree(removed)
        for path in [directory, removed] where Files.exists(path) {
            throw DeviceFailure(.inputOutput, "\(path) could not be removed: remove it by hand.")
        }
    }

    private static func row(_ cursor: borrowing RowCursor) -> DeviceRow {
        cursor.withEntry { key, value in DeviceRow(key: number(key), value: bytes(value)) }
    }

    /// Eight bytes, the highest first.
    ///
    /// Keys of another length are not ours.
    static func number(_ key: RawSpan) -> UInt64 {
        bytes(key).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    static func bytes(_ value: RawSpan) -> [UInt8] {
        unsafe value.withUnsafeBytes { unsafe Array($0) }
    }

    private func with<Answer>(
        _ table: DeviceTable, _ body: (Environment) throws -> Answer
    ) throws(DeviceFailure) -> Answer {
        guard let environment = table == .outbox ? outbox : replica.withLock({ $0 }) else { throw closed }
        do {
            return try body(environment)
        } catch let error as LMDBError {
            // After a failed commit the file is reopened, so that the next write has a chance.
            _ = try? environment.heal()
            throw DeviceFailure(error)
        } catch {
            throw DeviceFailure(.inputOutput, "\(error)")
        }
    }
}

extension DeviceChange {
    fileprivate var table: DeviceTable {
        switch self {
        case .put(let table, _, _), .remove(let table, _), .clear(let table): table
        }
    }
}

extension DeviceFailure {
    /// What happened, and what a device's user can do about it.
    init(_ error: LMDBError) {
        let (code, advice): (Code, String?) =
            switch error.code {
            case .writerLocked, .openLocked, .alreadyOpen: (.inUse, nil)
            case .diskFull, .mapFull: (.diskFull, "Make room, and do it again; nothing was lost.")
            case .permissionDenied, .readOnly: (.permissionDenied, nil)
            case .closed: (.closed, nil)
            case .notAStore, .truncated, .corrupted, .missingDatabase: (.damaged, nil)
            default: (.inputOutput, nil)
            }
        let place = error.path.map { "\($0): " } ?? ""
        // The error's own advice is for stores, which have backups.
        self.init(code, place + error.message + (advice.map { " " + $0 } ?? ""))
    }
}
