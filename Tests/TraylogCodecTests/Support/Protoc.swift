import Foundation

/// Google's implementation of Protocol Buffers, run on Docs/internals/format/event.proto.
struct Protoc {
    struct Failure: Error { var message: String }

    static let executable: String? = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin")
        .split(separator: ":").map { "\($0)/protoc" }
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    /// Where event.proto is, from the place of this file.
    static let formatFolder = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Docs/internals/format").path

    /// Many events in one message, so that one run serves them all.
    static let batch = """
        syntax = "proto3";
        package traylog.test;
        import "event.proto";
        message Batch { repeated traylog.v1.Event events = 1; }
        """

    /// `--decode` or `--encode` of a batch.
    static func run(_ mode: String, _ input: Data) throws -> Data {
        let folder = FileManager.default.temporaryDirectory.appending(path: "protoc-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data(batch.utf8).write(to: folder.appending(path: "batch.proto"))
        // Files instead of pipes: both sides may be larger than a pipe holds.
        for (name, data) in [("in", input), ("out", Data()), ("err", Data())] {
            try data.write(to: folder.appending(path: name))
        }
        let process = Process()
        process.executableURL = URL(filePath: executable ?? "/usr/bin/protoc")
        process.arguments = [
            "--proto_path=\(folder.path)", "--proto_path=\(formatFolder)", "\(mode)=traylog.test.Batch",
            "batch.proto",
        ]
        process.standardInput = try FileHandle(forReadingFrom: folder.appending(path: "in"))
        process.standardOutput = try FileHandle(forWritingTo: folder.appending(path: "out"))
        process.standardError = try FileHandle(forWritingTo: folder.appending(path: "err"))
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            let error = try Data(contentsOf: folder.appending(path: "err"))
            throw Failure(message: String(decoding: error, as: UTF8.self))
        }
        return try Data(contentsOf: folder.appending(path: "out"))
    }
}
