import Foundation

/// A program that performs one run.
struct Program {
    var path: String
    var arguments: [String]
    var environment: [String: String] = [:]
    /// Its input; nothing when nil.
    var input: String?
    /// A control group's file of process ids; the program's own id is written to it before the program starts.
    var group: String?
    /// Ends by a signal, on purpose.
    var diesBySignal = false

    /// Runs to the end and gives what the program wrote to standard output.
    @discardableResult
    func run() throws -> Data {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: group == nil ? path : "/bin/sh")
        process.arguments =
            group.map { ["-c", "echo $$ > '\($0)' && exec \"$@\"", "sh", path] + arguments } ?? arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { _, new in new }
        process.standardInput =
            try input.map { try FileHandle(forReadingFrom: URL(fileURLWithPath: $0)) } ?? .nullDevice
        process.standardOutput = output
        do { try process.run() } catch { throw BenchError("\(path) could not be started: \(error)") }
        let text = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let isDone = process.terminationReason == .exit && process.terminationStatus == 0
        guard isDone || (diesBySignal && process.terminationReason == .uncaughtSignal) else {
            throw BenchError("\(path) \(arguments.joined(separator: " ")) failed: \(process.terminationStatus)")
        }
        return text
    }

    /// The figures that the program prints.
    func measure() throws -> Figures { try Figures(json: try run()) }

    /// How long it takes from start to end.
    func time() throws -> Figures {
        let watch = Stopwatch()
        try run()
        return Figures(["milliseconds": watch.milliseconds])
    }
}
