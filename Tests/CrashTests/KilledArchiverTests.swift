import Foundation
import TestSupport
import Testing
@_spi(Operations) @_spi(Replication) import Traylog

/// The built program, killed or on a failing disk while it archives the log: the files are whole, and the next run goes on.
@Suite struct KilledArchiverTests {
    /// A store, the archive of its log, and what a restore gives.
    private struct Subject {
        let directory: String
        var store: String { directory + "/store" }
        var archive: String { directory + "/archive" }
        /// Stands for a bucket.
        var bucket: String { directory + "/bucket" }
        var program: TraylogProgram { TraylogProgram(store: store) }

        /// Restores the archive, or the copies of it, and compares that with the store.
        ///
        /// - Returns: the last event that it has.
        func restored(_ place: String? = nil) throws -> UInt64 {
            let (archive, copy) = (place ?? self.archive, directory + "/copy")
            defer { try? FileManager.default.removeItem(atPath: copy) }
            let names = (try? FileManager.default.contentsOfDirectory(atPath: archive)) ?? []
            guard names.contains(where: { $0.hasSuffix(".archive") }) else { return 0 }
            let verified = try program.run(["verify", "--archive", archive])
            #expect(verified.status == 0, "\(String(decoding: verified.output, as: UTF8.self))\(verified.errors)")
            let run = try TraylogProgram(store: copy).run(["restore", archive, "--json"])
            #expect(run.status == 0, "\(run.errors)")
            let head = try StoreReader.open(copy).closing { try $0.treeHead() }
            let own = try StoreReader.open(store).closing { store in
                try store.head().rawValue < head.size ? nil : store.treeHead(asOf: .seq(Seq(head.size)))
            }
            #expect(own == head, "the store's tree through event \(head.size)")
            return head.size
        }
    }

    private static let canCompile = SharedLibrary.compiler != nil

    @Test(
        .enabled(if: canCompile, "needs cc, to compile the killer"), arguments: [0, 1, 2])
    func anArchiverThatIsKilledAtAnyFileOperationLeavesWholeFilesAndTheNextGoesOn(effect: Int) throws {
        try withTemporaryDirectory { directory in
            let (subject, library) = (Subject(directory: directory), directory + "/kills.so")
            try SharedLibrary.compile(SharedLibrary.source("Torture/kills.c"), to: library)
            var kills = 0
            for operation in 1... {
                #expect(try subject.program.run(["notify", "ann", "--title", "\(operation)"]).status == 0)
                let before = try subject.restored()
                let run = try subject.program.run(
                    ["archive", subject.archive],
                    environment: ["LD_PRELOAD": library, "KILL": "\(subject.archive) \(operation) \(effect)"])
                let after = try subject.restored()
                #expect(after >= before, "operation \(operation)")
                if run.isExit {
                    #expect(run.status == 0 && after == UInt64(operation), "\(run.errors)")
                    break
                }
                kills += 1
                // Sometimes the next run has more than one event to do.
                if operation.isMultiple(of: 2) {
                    #expect(try subject.program.run(["archive", subject.archive]).status == 0)
                    #expect(try subject.restored() == UInt64(operation))
                }
            }
            #expect(kills >= 8)
            let names = try FileManager.default.contentsOfDirectory(atPath: subject.archive)
            #expect(names.allSatisfy { $0.hasSuffix(".archive") || $0 == "archiver.lock" }, "\(names)")
        }
    }

    @Test(.enabled(if: canCompile, "needs cc, to compile the killer"), arguments: sized([0], nightly: [0, 1, 2]))
    func anErasureThatIsKilledAtAnyFileOperationOfTheArchiveCanBeRepeated(effect: Int) throws {
        try withTemporaryDirectory { directory in
            let (subject, library) = (Subject(directory: directory), directory + "/kills.so")
            try SharedLibrary.compile(SharedLibrary.source("Torture/kills.c"), to: library)
            for operation in 1... {
                let person = "person \(operation)"
                for name in ["ann", person, "bob"] {
                    #expect(try subject.program.run(["notify", name, "--title", name]).status == 0)
                    #expect(try subject.program.run(["archive", subject.archive]).status == 0)
                }
                let head = try subject.restored()
                let run = try subject.program.run(
                    ["erase", person, "--yes"],
                    environment: ["LD_PRELOAD": library, "KILL": "\(subject.archive) \(operation) \(effect)"])
                #expect(try subject.restored() == head, "operation \(operation)")
                if !run.isExit { #expect(try subject.program.run(["erase", person, "--yes"]).status == 0) }
                #expect(try subject.program.run(["archive", subject.archive]).status == 0)
                #expect(try subject.restored() == head + 1, "operation \(operation)")
                let copy = directory + "/erased"
                #expect(try TraylogProgram(store: copy).run(["restore", subject.archive]).status == 0)
                let text = try TraylogProgram(store: copy).run(["log", "--json"]).output
                #expect(text.range(of: Data(person.utf8)) == nil, "operation \(operation)")
                try FileManager.default.removeItem(atPath: copy)
                guard !run.isExit else { break }
            }
        }
    }

    @Test(
        .enabled(if: canCompile, "needs cc, to compile the injector"),
        arguments: sized(Fault.lasting.filter { $0.effect == .half }, nightly: Fault.all))
    func anArchiverOnAFailingDiskNamesItAndTheNextGoesOn(fault: Fault) throws {
        try withTemporaryDirectory { directory in
            let (subject, library) = (Subject(directory: directory), directory + "/faults.so")
            try SharedLibrary.compile(FaultInjector.source, to: library)
            let words = fault.error == .noSpace ? "the disk or the quota is full" : fault.words
            var failures = 0
            for operation in 1... {
                #expect(try subject.program.run(["notify", "ann"]).status == 0)
                let mark = directory + "/mark-\(operation)"
                let run = try subject.program.run(
                    ["archive", subject.archive],
                    environment: [
                        "LD_PRELOAD": library, "FAULTS": fault.setting(subject.archive, at: operation),
                        "FAULTS_MARK": mark,
                    ])
                if run.status != 0 {
                    failures += 1
                    #expect(run.status == 74, "operation \(operation): \(run.errors)")
                    #expect(run.errors.lowercased().contains(words), "operation \(operation): \(run.errors)")
                }
                let head = try subject.restored()
                #expect(run.status != 0 || head == UInt64(operation), "operation \(operation)")
                guard FileManager.default.fileExists(atPath: mark) else { break }
            }
            #expect(failures >= 3)
            #expect(try subject.program.run(["archive", subject.archive]).status == 0)
        }
    }

    /// Writer and archiver run side by side and are killed at any moment; some copies fail.
    @Test(arguments: seeds(1, nightly: 20))
    func aRestoreOfWhatWasArchivedIsThePrefixOfTheLogThatWasShown(seed: UInt64) throws {
        try withTemporaryDirectory { directory in
            let subject = Subject(directory: directory)
            #expect(try subject.program.run(["notify", "ann"]).status == 0)
            try FileManager.default.createDirectory(atPath: subject.bucket, withIntermediateDirectories: false)
            let ship =
                "case $(od -An -N1 -tu1 /dev/urandom) in *[05]) exit 1; esac; "
                + "cp '%p' '\(subject.bucket)/%f.part' && mv '\(subject.bucket)/%f.part' '\(subject.bucket)/%f'"
            var random = SeededRandom(seed: seed)
            var (archived, acknowledged) = (UInt64(0), UInt64(1))
            for life in 0..<sized(4, nightly: 10) {
                let writer = try AppendingProcess(store: subject.store)
                let archiver = try FollowingArchiver(subject.store, subject.archive, ship)
                for _ in 0..<random.between(1, 12) {
                    let count = random.between(1, 60)
                    let line = #"{"kind":"notify","user":"u\#(random.below(9))","title":"T"}"# + "\n"
                    try writer.say(String(repeating: line, count: count))
                    for _ in 0..<count where writer.hear() != nil { acknowledged += 1 }
                    Thread.sleep(forTimeInterval: Double(random.below(300)) / 1_000)
                }
                // One or the other first, or the archiver ends as it should.
                switch random.below(3) {
                case 0:
                    writer.kill()
                    archiver.end(SIGKILL)
                case 1:
                    archiver.end(SIGKILL)
                    writer.kill()
                default:
                    archiver.end(SIGTERM)
                    writer.kill()
                }
                let shown = archiver.last ?? archived
                let restored = try subject.restored()
                #expect(restored >= max(archived, shown), "seed \(seed), life \(life)")
                #expect(restored <= acknowledged, "seed \(seed), life \(life)")
                archived = restored
                let health = try subject.program.object("health", "--json")
                let states = health["archives"] as? [[String: Any]]
                let shipped = try #require(states?.first?["shippedThrough"] as? UInt64)
                #expect(try subject.restored(subject.bucket) >= shipped, "seed \(seed), life \(life)")
            }
            #expect(try subject.program.run(["archive", subject.archive]).status == 0)
            #expect(try subject.restored() == acknowledged, "seed \(seed)")
            while try subject.program.run(["archive", subject.archive, "--ship", ship]).status != 0 {}
            #expect(try subject.restored(subject.bucket) == acknowledged, "seed \(seed)")
        }
    }
}

/// A running `traylog archive --follow --json`.
private final class FollowingArchiver {
    private let process: Process
    private let output = Pipe()

    init(_ store: String, _ archive: String, _ ship: String) throws {
        process = try TraylogProgram(store: store).process(["archive", archive, "--follow", "--json", "--ship", ship])
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
