/// The reference programs; each file says what it does and how its store is configured.
enum Reference: String, CaseIterable, Sendable {
    case lmdbLog = "lmdb-log"
    case lmdbNaive = "lmdb-naive"
    case sqlite
    case postgres
    case redis
    case umadb

    /// In the directory of built references.
    var program: String {
        switch self {
        case .lmdbLog: "lmdb_log"
        case .lmdbNaive: "lmdb_naive"
        case .sqlite, .postgres, .redis: rawValue
        case .umadb: "umadb/bin/python"
        }
    }

    /// The command that starts the server beside the program.
    var wrapper: String? {
        switch self {
        case .postgres: "with-postgres"
        case .redis: "with-redis"
        default: nil
        }
    }

    /// Does all work in one process, whose processor time says what an event costs.
    var isEmbedded: Bool { wrapper == nil && script == nil }

    var script: String? { self == .umadb ? "uma_store.py" : nil }
}
