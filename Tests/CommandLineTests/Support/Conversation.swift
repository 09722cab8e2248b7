import Foundation

/// A running program with pipes to its input and from its output.
final class Conversation {
    private let process: Process
    private let input = Pipe()
    private let output = Pipe()
    private var waiting = Data()

    var processID: Int32 { process.processIdentifier }

    init(_ arguments: [String]) throws {
        process = try TraylogRun.process(arguments)
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    deinit {
        if process.isRunning { process.terminate() }
    }

    func say(_ text: String) throws { try input.fileHandleForWriting.write(contentsOf: Data(text.utf8)) }

    /// The next line of output; nil at its end.
    func hear() throws -> String? {
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

    func endInput() throws { try input.fileHandleForWriting.close() }

    func interrupt() { process.interrupt() }

    func terminate() { process.terminate() }

    /// Nobody reads the output any more.
    func hangUp() throws { try output.fileHandleForReading.close() }

    func waitForEnd() -> Int32 {
        process.waitUntilExit()
        return process.terminationStatus
    }
}
