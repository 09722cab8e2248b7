import Foundation

@testable import TraylogLMDB

/// The databases of the test stores.
let databaseNames = ["log", "index"]

/// Opens the test store at `path` for writing.
///
/// - Parameter accounts: whether every commit has to have each page in one place.
func openWriter(
    _ path: String, _ configuration: Environment.Configuration = .init(), accounts: Bool = false
) throws -> Environment {
    var configuration = configuration
    configuration.accountsForCommits = accounts
    return try Environment.open(
        directory: path, access: .readWrite, databases: databaseNames, configuration: configuration)
}

/// Opens the test store at `path` for reading.
func openReader(_ path: String) throws -> Environment {
    try Environment.open(directory: path, access: .readOnly, databases: databaseNames)
}

/// The directory of the environment that a store uses; where there is no store, the one a new store would use.
func environmentDirectory(of store: String) -> String {
    let name = try? String(contentsOfFile: store + "/CURRENT", encoding: .utf8)
    return "\(store)/\(name?.trimmingCharacters(in: .newlines) ?? "data-1")"
}

func dataFile(of store: String) -> String { environmentDirectory(of: store) + "/data.mdb" }

func journalFile(of store: String) -> String { environmentDirectory(of: store) + "/journal" }

func lockFile(of store: String) -> String { environmentDirectory(of: store) + "/lock.mdb" }

/// The leftovers of an unfinished replacement.
func leftovers(in store: String) -> [String] {
    let current = URL(filePath: environmentDirectory(of: store)).lastPathComponent
    let names = (try? FileManager.default.contentsOfDirectory(atPath: store)) ?? []
    return names.filter { ($0.hasPrefix("data-") || $0.hasPrefix("CURRENT.")) && $0 != current }
}

/// Calls `body` with a new, empty store that is closed and removed afterwards.
func withEnvironment<R>(
    _ configuration: Environment.Configuration = .init(), _ body: (Environment) throws -> R
) throws -> R {
    try withPath { path in
        let environment = try openWriter(path, configuration, accounts: true)
        defer { environment.close() }
        return try body(environment)
    }
}

/// The code of the ``LMDBError`` that `body` throws; nil when it throws none.
func failureCode<R: ~Copyable>(_ body: () throws -> R) throws -> LMDBError.Code? {
    do {
        _ = try body()
        return nil
    } catch let error as LMDBError {
        return error.code
    }
}

extension RawSpan {
    /// A copy of all bytes.
    var copy: [UInt8] {
        unsafe withUnsafeBytes { unsafe Array($0) }
    }
}

extension WriteTransaction {
    mutating func put(_ database: Database, _ key: [UInt8], _ value: [UInt8]) throws {
        try put(database, RawSpan(_elements: key.span), RawSpan(_elements: value.span))
    }

    mutating func append(_ database: Database, _ key: UInt64, _ value: [UInt8]) throws {
        try append(database, key, RawSpan(_elements: value.span))
    }

    mutating func delete(_ database: Database, _ key: [UInt8]) throws -> Bool {
        try delete(database, RawSpan(_elements: key.span))
    }
}

extension Environment {
    /// The value of `key`, copied.
    func value(_ name: String, _ key: [UInt8]) throws -> [UInt8]? {
        try read { try $0.get(database(name), RawSpan(_elements: key.span)) { $0.copy } }
    }

    /// The value of `key`, copied.
    func value(_ name: String, _ key: UInt64) throws -> [UInt8]? {
        try read { try $0.get(database(name), key) { $0.copy } }
    }

    /// All keys in order.
    func keys(_ name: String) throws -> [[UInt8]] {
        try read { transaction in
            try transaction.withCursor(database(name)) { cursor in
                var keys: [[UInt8]] = []
                while try cursor.next() { keys.append(cursor.withEntry { key, _ in key.copy }) }
                return keys
            }
        }
    }
}

extension Data {
    /// The number at `offset` of a data file.
    func number(_ offset: Int) -> UInt64 {
        (0..<8).reduce(0) { $0 | UInt64(self[startIndex + offset + $1]) << UInt64(8 * $1) }
    }
}
