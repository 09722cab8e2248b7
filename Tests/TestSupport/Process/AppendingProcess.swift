import Foundation

/// A running `traylog append - --ack --skip-refused` to talk with, and to kill.
///
/// Unanswered input must stay below ``pendingBytes`` bytes, or ``say(_:)`` never returns once the program
/// is dead: the pipe holds no more, and nobody reads it.
package final class AppendingProcess {
    /// The capacity of a pipe on every system.
    package static let pendingBytes = 60_000

    private let process: Process
    private let input = Pipe()
    private let output = Pipe()
    /// The reading end of the program's input, so that writing to a dead program is no signal.
    private let spare: FileHandle
    private var waiting = Data()

    package var processID: Int32 { process.processIdentifier }

    /// - Parameter environment: added to the clean one.
    package init(store: String, environment: [String: String] = [:]) throws {
        process = try TraylogProgram(store: store).process(["append", "-", "--ack", "--skip-refused"])
        process.environment?.merge(environment) { $1 }
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        let descriptor = fcntl(input.fileHandleForReading.fileDescriptor, F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0 else { throw POSIXError(.EMFILE) }
        spare = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try process.run()
    }

    deinit {
        if process.isRunning { kill() }
    }

    package func say(_ text: String) throws { try input.fileHandleForWriting.write(contentsOf: Data(text.utf8)) }

    /// The next whole line of output; nil at its end.
    package func hear() -> String? {
        while true {
            if let end = waiting.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: waiting[..<end], as: UTF8.self)
                waiting.removeSubrange(...end)
                return line
            }
            let more = output.fileHandleForReading.availableData
            if more.isEmpty { return nil }
            waiting.append(more)
        }
    }

    /// Ends the program without a chance to tidy up, and waits until it is gone.
    package func kill() {
        _ = Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// Ends the input; the program ends by itself.
    package func finish() throws -> Int32 {
        try input.fileHandleForWriting.close()
        while hear() != nil {}
        process.waitUntilExit()
        return process.terminationStatus
    }
}
