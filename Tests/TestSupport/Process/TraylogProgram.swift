import Foundation

/// The built `traylog` program on one store.
package struct TraylogProgram: Sendable {
    /// A finished run.
    package struct Run: Sendable {
        package var status: Int32
        package var output: Data
        package var errors: String
        /// Whether it ended by itself, and not by a signal.
        package var isExit = true
    }

    package struct Failure: Error, CustomStringConvertible {
        package var description: String

        package init(description: String) { self.description = description }
    }

    package let store: String

    package init(store: String) { self.store = store }

    /// Runs it to its end; on standard error it may say a few lines.
    ///
    /// - Parameters:
    ///   - clock: the time to show instead of the system's clock, in the form of `faketime`.
    ///   - wrapper: another program and its arguments, which is to run this one.
    ///   - environment: added to the clean one.
    package func run(
        _ arguments: [String], clock: String? = nil, under wrapper: [String] = [], environment: [String: String] = [:]
    ) throws -> Run {
        let process = try process(arguments)
        process.environment?.merge(environment) { $1 }
        var prefix = wrapper
        if let clock {
            // The library, without the wrapper `faketime`: that fails where a killed process with the same number left a semaphore.
            // Waits are by the monotonic clock, and must end.
            process.environment?.merge(
                [
                    "LD_PRELOAD": Self.clockChanger?.path ?? "libfaketime.so.1", "FAKETIME": clock,
                    "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                ]
            ) { $1 }
            // The first process moves its environment, and a Swift program would lose its arguments. `timeout` removes the semaphore.
            prefix = ["/usr/bin/timeout", "600"]
        }
        if let first = prefix.first, let program = process.executableURL {
            process.executableURL = URL(filePath: first)
            process.arguments = prefix.dropFirst() + [program.path] + (process.arguments ?? [])
        }
        let (output, errors) = (Pipe(), Pipe())
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        let text = output.fileHandleForReading.readDataToEndOfFile()
        let words = errors.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Run(
            status: process.terminationStatus, output: text, errors: String(decoding: words, as: UTF8.self),
            isExit: process.terminationReason == .exit)
    }

    /// The one object that a query answers with.
    package func object(_ arguments: String...) throws -> NSDictionary { try Self.parsed(output(of: arguments)) }

    /// The objects of a query that answers in lines.
    package func lines(_ arguments: String...) throws -> [NSDictionary] {
        try output(of: arguments).split(separator: UInt8(ascii: "\n")).map { try Self.parsed(Data($0)) }
    }

    /// A run that has not begun, in a clean environment.
    package func process(_ arguments: [String]) throws -> Process {
        let process = Process()
        process.executableURL = try Self.location(of: "traylog")
        process.arguments = ["--store", store] + arguments
        process.environment = ["PATH": "/usr/bin:/bin", "TZ": "UTC"]
        return process
    }

    private func output(of arguments: [String]) throws -> Data {
        let run = try run(arguments)
        guard run.status == 0 else {
            throw Failure(description: "traylog \(arguments) ended with \(run.status): \(run.errors)")
        }
        return run.output
    }

    private static func parsed(_ data: Data) throws -> NSDictionary {
        let value = NaiveJSON.withoutNulls(try JSONSerialization.jsonObject(with: data))
        guard let object = value as? [String: Any] else { throw Failure(description: "no object: \(value)") }
        return NSDictionary(dictionary: object)
    }

    /// Debian's `libfaketime`, where it is installed.
    package static let clockChanger: URL? = ["x86_64", "aarch64"]
        .map { URL(filePath: "/usr/lib/\($0)-linux-gnu/faketime/libfaketime.so.1") }
        .first { FileManager.default.fileExists(atPath: $0.path) }

    /// A built program, which stands beside the test bundle.
    package static func location(of name: String) throws -> URL {
        let bundles = [Bundle.main] + Bundle.allBundles
        let candidates = bundles.flatMap { bundle in
            [bundle.bundleURL, bundle.bundleURL.deletingLastPathComponent()].map { $0.appending(path: name) }
        }
        guard let program = candidates.first(where: { FileManager.default.isExecutableFile(atPath: $0.path) }) else {
            throw Failure(description: "\(name) is not beside the tests: \(candidates.map(\.path))")
        }
        return program
    }
}
