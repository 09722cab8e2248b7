import Foundation

/// Calls `body` with a path in a new directory that is removed afterwards; the path itself does not exist yet.
func withPath<R>(_ body: (String) throws -> R) throws -> R {
    let parent = FileManager.default.temporaryDirectory.appending(path: "traylog-lmdb-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: parent) }
    return try body(parent.appending(path: "store").path)
}

/// The same for a body that waits for other processes.
func withPath(_ body: (String) async throws -> Void) async throws {
    let parent = FileManager.default.temporaryDirectory.appending(path: "traylog-lmdb-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: parent) }
    try await body(parent.appending(path: "store").path)
}
