import Foundation

/// A library in C that goes under a program by `LD_PRELOAD`.
package enum SharedLibrary {
    /// Nil where there is none.
    package static let compiler: String? = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin")
        .split(separator: ":").map { "\($0)/cc" }
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    package struct Failure: Error, CustomStringConvertible {
        package var description: String
    }

    /// The path of a file in the folder `Tests`.
    package static func source(_ path: String) -> String {
        URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../\(path)").standardized.path
    }

    package static func compile(_ source: String, to library: String) throws {
        guard let compiler else { throw Failure(description: "there is no cc") }
        let process = Process()
        process.executableURL = URL(filePath: compiler)
        process.arguments =
            ["-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-fvisibility=hidden", "-pthread", "-o", library, source]
        let errors = Pipe()
        process.standardError = errors
        try process.run()
        let text = errors.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failure(description: "cc: \(String(decoding: text, as: UTF8.self))")
        }
    }
}
