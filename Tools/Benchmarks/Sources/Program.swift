import Foundation

/// A program that performs one run and prints one JSON object.
struct Program {
    var path: String
    var arguments: [String]
    var environment: [String: String] = [:]

    func measure() throws -> Measurement {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { _, new in new }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        do { try process.run() } catch { throw BenchError("\(path) could not be started: \(error)") }
        let text = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationReason == .exit, process.terminationStatus == 0 else {
            throw BenchError("\(path) \(arguments.joined(separator: " ")) failed: \(process.terminationStatus)")
        }
        return try JSONDecoder().decode(Measurement.self, from: text)
    }
}
