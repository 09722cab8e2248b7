import Foundation

/// A file system of some megabytes that can be filled up; only root can make one.
package enum SmallFileSystem: String, CaseIterable, Codable, Sendable {
    case tmpfs, ext4

    private var megabytes: Int {
        switch self {
        case .tmpfs: 8
        case .ext4: 16
        }
    }

    /// The reason why none can be mounted here; nil when one can.
    package var obstacle: String? {
        guard geteuid() == 0 else { return "\(self) can be mounted by root only" }
        do {
            try withMounted { _ in }
            return nil
        } catch {
            return "\(self) cannot be mounted here: \(error)"
        }
    }

    /// Lends a new, empty one.
    package func withMounted<Result>(_ body: (String) throws -> Result) throws -> Result {
        try withTemporaryDirectory { directory in
            let mount = directory + "/mount"
            try FileManager.default.createDirectory(atPath: mount, withIntermediateDirectories: true)
            switch self {
            case .tmpfs: try Self.run("mount", ["-t", "tmpfs", "-o", "size=\(megabytes)m", "tmpfs", mount])
            case .ext4:
                let image = directory + "/image"
                try Self.run("truncate", ["-s", "\(megabytes)M", image])
                try Self.run("mkfs.ext4", ["-q", "-m", "0", image])
                try Self.run("mount", ["-o", "loop", image, mount])
            }
            defer { try? Self.run("umount", ["-l", mount]) }
            return try body(mount)
        }
    }

    package static func makeReadOnly(_ mount: String) throws {
        try run("mount", ["-o", "remount,ro", mount])
    }

    /// Lends a second path to the same files, by which nothing can be written.
    package static func withReadOnlyView<Result>(of mount: String, _ body: (String) throws -> Result) throws -> Result {
        try withTemporaryDirectory { directory in
            let view = directory + "/view"
            try FileManager.default.createDirectory(atPath: view, withIntermediateDirectories: true)
            try run("mount", ["--bind", mount, view])
            defer { try? run("umount", ["-l", view]) }
            try run("mount", ["-o", "remount,bind,ro", view])
            return try body(view)
        }
    }

    private struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    private static func run(_ program: String, _ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [program] + arguments
        process.environment = ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C"]
        let errors = Pipe()
        process.standardOutput = FileHandle.nullDevice
        process.standardError = errors
        try process.run()
        let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failure(description: text.trimmingCharacters(in: .whitespacesAndNewlines))
        }
    }
}
