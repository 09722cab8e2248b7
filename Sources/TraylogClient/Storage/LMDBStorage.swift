import TraylogLMDB
import TraylogPages
import TraylogPlatform

/// The storage of a device in a directory, in LMDB. The directory belongs to one process at a time.
public final class LMDBStorage: DeviceStorage {
    public let directory: String
    private let environment: Environment

    /// Opens the directory, and creates it (with access for its owner alone) where it is missing.
    ///
    /// - Throws: ``DeviceFailure``; ``DeviceFailure/Code/inUse`` when it is open elsewhere.
    public init(directory: String) throws(DeviceFailure) {
        self.directory = directory
        do {
            environment = try Environment.open(
                directory: directory, access: .readWrite, databases: DeviceTable.allCases.map(\.rawValue),
                configuration: .init(mapSizeBytes: 8 << 30))
        } catch {
            throw DeviceFailure(error)
        }
    }

    private func database(_ table: DeviceTable) -> Database { environment.database(table.rawValue) }

    public func value(_ key: UInt64, in table: DeviceTable) throws(DeviceFailure) -> [UInt8]? {
        try attempt { try environment.read { try $0.get(database(table), key, Self.bytes) } }
    }

    public func row(atOrBelow key: UInt64, in table: DeviceTable) throws(DeviceFailure) -> DeviceRow? {
        try attempt {
            try environment.read { transaction in
                try transaction.withCursor(database(table)) { cursor in
                    if try cursor.seek(key) {
                        let row = Self.row(cursor)
                        if row.key == key { return row }
                    }
                    return try cursor.previous() ? Self.row(cursor) : nil
                }
            }
        }
    }

    public func forEach(
        in table: DeviceTable, from key: UInt64, _ body: (DeviceRow) -> Bool
    ) throws(DeviceFailure) {
        try attempt {
            try environment.read { transaction in
                try transaction.withCursor(database(table)) { cursor in
                    guard try cursor.seek(key), body(Self.row(cursor)) else { return }
                    while try cursor.next(), body(Self.row(cursor)) {}
                }
            }
        }
    }

    public func write(_ changes: [DeviceChange]) throws(DeviceFailure) {
        try attempt {
            try environment.write { transaction in
                for change in changes {
                    switch change {
                    case .put(let table, let key, let value):
                        unsafe try transaction.put(database(table), key, value.span.bytes)
                    case .remove(let table, let key):
                        _ = try transaction.delete(database(table), key)
                    case .clear(let table):
                        for key in try keys(of: table) { _ = try transaction.delete(database(table), key) }
                    }
                }
            }
        }
    }

    /// The keys of a table as of the last commit.
    private func keys(of table: DeviceTable) throws -> [UInt64] {
        var keys: [UInt64] = []
        try environment.read { transaction in
            try transaction.withCursor(database(table)) { cursor in
                while try cursor.next() { keys.append(cursor.withEntry { key, _ in Self.number(key) }) }
            }
        }
        return keys
    }

    public func close() { environment.close() }

    public func destroy() throws(DeviceFailure) {
        environment.close()
        Files.removeTree(directory)
        guard !Files.exists(directory) else {
            throw DeviceFailure(.inputOutput, "\(directory) could not be removed: remove it by hand.")
        }
    }

    private static func row(_ cursor: borrowing RowCursor) -> DeviceRow {
        cursor.withEntry { key, value in DeviceRow(key: number(key), value: bytes(value)) }
    }

    /// Eight bytes, the highest first. A key of another length is none of ours.
    private static func number(_ key: RawSpan) -> UInt64 {
        bytes(key).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    private static func bytes(_ value: RawSpan) -> [UInt8] {
        unsafe value.withUnsafeBytes { unsafe Array($0) }
    }

    private func attempt<Answer>(_ body: () throws -> Answer) throws(DeviceFailure) -> Answer {
        do {
            return try body()
        } catch let error as LMDBError {
            // After a failed commit the file is opened anew, so that the next write has a chance.
            _ = try? environment.heal()
            throw DeviceFailure(error)
        } catch {
            throw DeviceFailure(.inputOutput, "\(error)")
        }
    }
}

extension DeviceFailure {
    init(_ error: LMDBError) {
        let code: Code =
            switch error.code {
            case .writerLocked, .openLocked, .alreadyOpen: .inUse
            case .diskFull, .mapFull: .diskFull
            case .permissionDenied, .readOnly: .permissionDenied
            case .closed: .closed
            case .notAStore, .newerFormat, .truncated, .corrupted, .versionMismatch, .missingDatabase: .damaged
            default: .inputOutput
            }
        self.init(code, error.description)
    }
}
