import Foundation

/// Waits in a child process until a file exists, or the parent that would make it is no more.
func waitForFile(_ path: String) {
    let parent = getppid()
    while !FileManager.default.fileExists(atPath: path), getppid() == parent { usleep(1000) }
}

/// Waits until a file exists, or until `isOver` says that nobody will make it any more.
///
/// Holds no thread meanwhile: the child that makes the file may wait for one.
func waitForFile(_ path: String, unless isOver: @Sendable () -> Bool) async throws {
    while !FileManager.default.fileExists(atPath: path), !isOver() { try await Task.sleep(for: .milliseconds(1)) }
}
