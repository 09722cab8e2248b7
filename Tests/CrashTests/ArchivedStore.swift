import Foundation
import TestSupport
import Testing
@_spi(Operations) @_spi(Replication) import Traylog

/// A store, the archive of its log, the copies of that, and what a restore gives.
struct ArchivedStore {
    let directory: String
    var store: String { directory + "/store" }
    var archive: String { directory + "/archive" }
    /// Stands for a bucket.
    var bucket: String { directory + "/bucket" }
    var program: TraylogProgram { TraylogProgram(store: store) }

    init(_ directory: String) { self.directory = directory }

    func withBucket() throws -> ArchivedStore {
        try FileManager.default.createDirectory(atPath: bucket, withIntermediateDirectories: false)
        return self
    }

    /// A command that copies a file in one step.
    ///
    /// - Parameters:
    ///   - copying: comes before the program that writes the copy.
    ///   - moving: comes before the one that gives it its name.
    func ship(copying: String = "", moving: String = "") -> String {
        "\(copying) cp '%p' '\(bucket)/%f.part' && \(moving) mv '\(bucket)/%f.part' '\(bucket)/%f'"
    }

    var shipDelete: String { "rm -f '\(bucket)/%f'" }

    /// The files of the log in a directory.
    func names(_ place: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: place).filter { $0.hasSuffix(".archive") }.sorted()
    }

    /// Through which event health says that there are copies; 0 for none.
    func shippedThrough() throws -> UInt64 {
        let states = try program.object("health", "--json")["archives"] as? [[String: Any]]
        return states?.first?["shippedThrough"] as? UInt64 ?? 0
    }

    /// Restores the archive, or the copies of it, and compares that with the store.
    ///
    /// - Parameter isSound: false where a file may be damaged or missing.
    /// - Returns: the last event that it has.
    func restored(_ place: String? = nil, isSound: Bool = true) throws -> UInt64 {
        let (archive, copy) = (place ?? self.archive, directory + "/copy")
        defer { try? FileManager.default.removeItem(atPath: copy) }
        guard FileManager.default.fileExists(atPath: archive), try !names(archive).isEmpty else { return 0 }
        if isSound {
            let verified = try program.run(["verify", "--archive", archive])
            #expect(verified.status == 0, "\(String(decoding: verified.output, as: UTF8.self))\(verified.errors)")
        }
        let run = try TraylogProgram(store: copy).run(["restore", archive, "--json"])
        #expect(run.status == 0 || !isSound && run.status == 1, "\(run.errors)")
        let head = try StoreReader.open(copy).closing { try $0.treeHead() }
        let own = try StoreReader.open(store).closing { store in
            try store.head().rawValue < head.size ? nil : store.treeHead(asOf: .seq(Seq(head.size)))
        }
        #expect(own == head, "the store's tree through event \(head.size)")
        return head.size
    }

    /// The library that kills a program at one of its operations on files.
    func compileKills() throws -> String {
        let library = directory + "/kills.so"
        try SharedLibrary.compile(SharedLibrary.source("Torture/kills.c"), to: library)
        return library
    }
}

/// A running `traylog archive --follow --json`.
final class FollowingArchiver {
    private let process: Process
    private let output = Pipe()

    /// - Parameters:
    ///   - more: further arguments.
    ///   - environment: added to the clean one.
    init(_ subject: ArchivedStore, _ more: [String] = [], environment: [String: String] = [:]) throws {
        process = try subject.program.process(["archive", subject.archive, "--follow", "--json"] + more)
        process.environment?.merge(environment) { $1 }
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    deinit {
        if process.isRunning { end(SIGKILL) }
    }

    func end(_ signal: Int32) {
        _ = kill(process.processIdentifier, signal)
        process.waitUntilExit()
    }

    /// The last event of the last file that it has said is there.
    var last: UInt64? {
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let lines = text.split(separator: "\n").compactMap { line in
            (try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? [String: Any]
        }
        return lines.last.flatMap { $0["last"] as? UInt64 }
    }
}
