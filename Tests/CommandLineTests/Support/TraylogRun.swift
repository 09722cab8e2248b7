import Foundation
import Testing

/// One finished run of the built program.
struct TraylogRun {
    var status: Int32
    var output: Data
    var errors: Data

    var text: String { String(decoding: output, as: UTF8.self) }
    var errorText: String { String(decoding: errors, as: UTF8.self) }
    var lines: [String] { text.split(separator: "\n").map(String.init) }
    var errorLines: [String] { errorText.split(separator: "\n").map(String.init) }

    /// One member of every line of JSON on standard output, or on standard error.
    func outputs(_ member: String) throws -> [JSONValue?] { try lines.map { try JSONValue.object($0)[member] } }
    func errors(_ member: String) throws -> [JSONValue?] { try errorLines.map { try JSONValue.object($0)[member] } }

    /// Runs `traylog` with a clean environment and waits for its end.
    static func of(
        _ arguments: [String], input: Data = Data(), environment: [String: String] = [:], in folder: String? = nil
    ) throws -> TraylogRun {
        try withDirectory { directory in
            let (stdin, stdout, stderr) = (directory + "/in", directory + "/out", directory + "/err")
            try input.write(to: URL(filePath: stdin))
            let process = try process(arguments, environment: environment, in: folder)
            process.standardInput = try handle(stdin, create: false)
            process.standardOutput = try handle(stdout, create: true)
            process.standardError = try handle(stderr, create: true)
            try process.run()
            process.waitUntilExit()
            return TraylogRun(
                status: process.terminationStatus, output: try Data(contentsOf: URL(filePath: stdout)),
                errors: try Data(contentsOf: URL(filePath: stderr)))
        }
    }

    /// - Parameter folder: the working directory; nil for the tests' own.
    static func process(
        _ arguments: [String], environment: [String: String] = [:], in folder: String? = nil
    ) throws -> Process {
        let process = Process()
        if let folder { process.currentDirectoryURL = URL(filePath: folder) }
        process.executableURL = try program()
        process.arguments = arguments
        process.environment = ["PATH": "/usr/bin:/bin", "TZ": "UTC"].merging(environment) { $1 }
        return process
    }

    /// The program lies beside the test bundle.
    private static func program() throws -> URL {
        let bundles = [Bundle.main] + Bundle.allBundles
        let candidates = bundles.flatMap { bundle in
            [bundle.bundleURL, bundle.bundleURL.deletingLastPathComponent()].map { $0.appending(path: "traylog") }
        }
        let program = candidates.first { FileManager.default.isExecutableFile(atPath: $0.path) }
        return try #require(program, "traylog is not beside the tests: \(candidates.map(\.path))")
    }

    private static func handle(_ path: String, create: Bool) throws -> FileHandle {
        guard create else { return try FileHandle(forReadingFrom: URL(filePath: path)) }
        try Data().write(to: URL(filePath: path))
        return try FileHandle(forWritingTo: URL(filePath: path))
    }
}
