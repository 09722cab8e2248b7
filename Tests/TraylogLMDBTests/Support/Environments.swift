@testable import TraylogLMDB

/// The databases of the test stores.
let databaseNames = ["log", "index"]

/// Opens the test store at `path` for writing.
func openWriter(
    _ path: String, _ configuration: Environment.Configuration = .init()
) throws -> Environment {
    try Environment.open(
        directory: path, access: .readWrite, databases: databaseNames, configuration: configuration)
}

/// Opens the test store at `path` for reading.
func openReader(_ path: String) throws -> Environment {
    try Environment.open(directory: path, access: .readOnly, databases: databaseNames)
}

/// Calls `body` with a new, empty store that is closed and removed afterwards.
func withEnvironment<R>(
    _ configuration: Environment.Configuration = .init(), _ body: (Environment) throws -> R
) throws -> R {
    try withPath { path in
        let environment = try openWriter(path, configuration)
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
