import Foundation

/// Lends a new directory to `body` and removes it afterwards.
func withDirectory<Result>(_ body: (String) throws -> Result) throws -> Result {
    let directory = FileManager.default.temporaryDirectory.appending(path: "traylog-cli-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    return try body(directory.path)
}

/// Lends the path of a store that does not exist yet.
func withStore<Result>(_ body: (TestStore) throws -> Result) throws -> Result {
    try withDirectory { try body(TestStore(directory: $0 + "/store")) }
}

/// A store, used through the program alone.
struct TestStore {
    var directory: String

    var exists: Bool { FileManager.default.fileExists(atPath: directory) }

    func run(_ arguments: String..., input: String = "", environment: [String: String] = [:]) throws -> TraylogRun {
        try TraylogRun.of(
            ["--store", directory] + arguments, input: Data(input.utf8), environment: environment)
    }

    /// Appends lines of JSON, none of which may be refused.
    @discardableResult
    func append(_ lines: String...) throws -> TraylogRun {
        let run = try TraylogRun.of(
            ["append", "-", "--store", directory, "--json"], input: Data(lines.joined(separator: "\n").utf8))
        guard run.status == 0 else { throw UnexpectedStatus(status: run.status, errors: run.errorText) }
        return run
    }

    /// The events so far, as JSON.
    func log() throws -> [[String: JSONValue]] {
        try run("log", "--json").lines.map(JSONValue.object)
    }
}

struct UnexpectedStatus: Error {
    var status: Int32
    var errors: String
}
