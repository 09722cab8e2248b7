import Foundation
import TestSupport
import TraylogLog
@_spi(Operations) @testable import Traylog
@testable import TraylogDomain
@testable import TraylogStates

/// A store that some version wrote, packed, with the answers that it gave.
struct Fixture: Sendable, CustomStringConvertible {
    /// The formats of the bytes in it, such as `store1-record1-state2-projection1`.
    let name: String

    var description: String { name }

    static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures")

    /// The present writer's output.
    static let current = Fixture(
        name: "store\(StoreRecord.format)-record\(RecordHeader.version)-state\(TrayState.packedVersion)"
            + "-projection\(ProjectionRecord.format)")

    static var all: [Fixture] {
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path)
        return (names ?? []).filter { $0.hasPrefix("store") }.sorted().map { Fixture(name: $0) }
    }

    private var directory: URL { Self.folder.appending(path: name) }
    private var data: URL { directory.appending(path: "data.mdb.gz") }
    private var answersFile: URL { directory.appending(path: "answers.json") }

    var isThere: Bool { FileManager.default.fileExists(atPath: data.path) }

    /// Unpacks the store into a directory of its own.
    func unpack(to path: String) throws {
        try StoreFiles.make(path, of: Data())
        try Self.gzip(["-dc", data.path], to: StoreFiles.data(of: path))
    }

    func answers() throws -> [Answer] {
        try JSONDecoder().decode([Answer].self, from: Data(contentsOf: answersFile))
    }

    /// Rewrites the fixture with the present writer.
    func make() throws {
        try? FileManager.default.removeItem(at: directory)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try withTemporaryDirectory { temporary in
            try FixtureScript.fill(temporary + "/store")
            let reader = try StoreReader.open(temporary + "/store")
            defer { reader.close() }
            // Without free pages.
            try reader.backup(to: temporary + "/copy")
            try Self.gzip(["-9nc", StoreFiles.data(of: temporary + "/copy")], to: data.path)
            let answers = try Answer.questions.map { try Answer(asking: $0, of: temporary + "/copy") }
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .withoutEscapingSlashes]
            try encoder.encode(answers).write(to: answersFile)
        }
    }

    /// The content of a packed file.
    static func unzipped(_ file: URL) throws -> Data {
        try withTemporaryDirectory { directory in
            try gzip(["-dc", file.path], to: directory + "/content")
            return try Data(contentsOf: URL(filePath: directory + "/content"))
        }
    }

    private static func gzip(_ arguments: [String], to path: String) throws {
        guard FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]),
            let output = FileHandle(forWritingAtPath: path)
        else { throw CocoaError(.fileWriteUnknown) }
        defer { try? output.close() }
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["gzip"] + arguments
        process.standardOutput = output
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw CocoaError(.fileReadUnknown) }
    }
}

/// A question to the program, and the lines of JSON that it answered with.
struct Answer: Codable, Equatable {
    var question: [String]
    var lines: [String]

    init(asking question: [String], of store: String) throws {
        let run = try TraylogProgram(store: store).run(question + ["--json"])
        guard run.status == 0 else { throw TraylogProgram.Failure(description: "\(question): \(run.errors)") }
        self.question = question
        lines = String(decoding: run.output, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// Of every query, now and then.
    static let questions: [[String]] = [
        ["users"], ["tray", "ann"], ["tray", "bob"], ["tray", "nobody"], ["tray", "ann", "--as-of", "150"],
        ["tray", "ann", "--as-of", "800"], ["inbox", "ann", "--limit", "100"], ["inbox", "bob", "--limit", "100"],
        ["inbox", "ann", "--as-of", "300", "--include-silent"], ["inbox", "ann", "--archived", "--limit", "40"],
        ["inbox", "ann", "--snoozed"], ["inbox", "ann", "--unseen", "--category", "build", "--limit", "30"],
        ["inbox", "ann", "--unthreaded", "--as-of", "620"], ["threads", "ann"], ["threads", "user7"],
        ["threads", "ann", "--as-of", "700"], ["history", "bob", "--from", "700"], ["log", "--from", "700"],
        ["log", "--to", "60"],
    ]
}
