import Foundation
import TestSupport
import Testing
@_spi(Operations) @_spi(Replication) import Traylog

/// The built program, killed or on a failing disk while it archives the log: the files are whole, and the next run goes on.
@Suite struct KilledArchiverTests {
    private static let canCompile = SharedLibrary.compiler != nil

    @Test(
        .enabled(if: canCompile, "needs cc, to compile the killer"), arguments: [0, 1, 2])
    func anArchiverThatIsKilledAtAnyFileOperationLeavesWholeFilesAndTheNextGoesOn(effect: Int) throws {
        try withTemporaryDirectory { directory in
            let subject = ArchivedStore(directory)
            let library = try subject.compileKills()
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
            let subject = ArchivedStore(directory)
            let library = try subject.compileKills()
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
            let (subject, library) = (ArchivedStore(directory), directory + "/faults.so")
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

    /// Events of past days are joined at once, so that each run makes a file, copies it, joins two, and takes away what they had.
    @Test(.enabled(if: canCompile, "needs cc, to compile the killer"), arguments: sized([0], nightly: [0, 1, 2]))
    func anArchiverThatIsKilledWhileItCopiesAndJoinsFilesLosesNoCopy(effect: Int) throws {
        try withTemporaryDirectory { directory in
            let subject = try ArchivedStore(directory).withBucket()
            let library = try subject.compileKills()
            let words = ["archive", subject.archive, "--ship", subject.ship(), "--ship-delete", subject.shipDelete]
            let past = TraylogProgram.clockChanger.map { _ in "-3d" }
            var kills = 0
            for operation in 1... {
                let arrival = try subject.program.run(["notify", "ann"], clock: past)
                #expect(arrival.status == 0, "operation \(operation): \(arrival.errors)")
                let before = (try subject.restored(), try subject.restored(subject.bucket))
                let place = sized(2 * operation - 1, nightly: operation)
                let run = try subject.program.run(
                    words, environment: ["LD_PRELOAD": library, "KILL": "\(subject.archive) \(place) \(effect)"])
                let shown = try subject.shippedThrough()
                let after = (try subject.restored(), try subject.restored(subject.bucket))
                #expect(after.0 >= before.0 && after.1 >= max(before.1, shown), "operation \(operation)")
                #expect(after.0 <= operation && after.1 <= after.0, "operation \(operation)")
                if run.isExit {
                    #expect(run.status == 0 && after == (UInt64(operation), UInt64(operation)), "\(run.errors)")
                    break
                }
                kills += 1
                if operation.isMultiple(of: 2) { #expect(try subject.program.run(words).status == 0) }
            }
            #expect(kills >= (past == nil ? 10 : 20) / sized(2, nightly: 1))
            // The first of these may join files; copies of their parts go with the second.
            for _ in 0..<2 { #expect(try subject.program.run(words).status == 0) }
            #expect(try subject.names(subject.bucket) == subject.names(subject.archive))
            if past != nil { #expect(try subject.names(subject.bucket).count == 1) }
            let marks = try FileManager.default.contentsOfDirectory(atPath: subject.archive)
            #expect(!marks.contains { $0.hasSuffix(".delete") }, "\(marks)")
        }
    }

    /// An archiver reads the store all the while.
    @Test(.enabled(if: canCompile, "needs cc, to compile the killer"), arguments: WriterTrouble.all)
    func anArchiveBesideAWriterThatIsKilledOrOutOfRoomNeverHasAnEventThatTheStoreLost(trouble: WriterTrouble) throws {
        try withTemporaryDirectory { directory in
            let subject = ArchivedStore(directory)
            #expect(try subject.program.run(["notify", "ann"]).status == 0)
            let kills = try subject.compileKills()
            let faults = directory + "/faults.so"
            try SharedLibrary.compile(FaultInjector.source, to: faults)
            let archiver = try FollowingArchiver(subject)
            var (stored, troubles) = (UInt64(1), 0)
            for operation in 1... {
                let place = sized(3 * operation - 1, nightly: operation)
                var environment = ["LD_PRELOAD": kills, "KILL": "\(subject.store) \(place)"]
                switch trouble {
                case .killed(let effect): environment["KILL"]? += " \(effect)"
                case .fault(let fault):
                    environment = ["LD_PRELOAD": faults, "FAULTS": fault.setting(subject.store, at: place)]
                    environment["FAULTS_MARK"] = "\(directory)/mark-\(operation)"
                }
                let run = try subject.program.run(["notify", "ann"], environment: environment)
                let isAcknowledged = run.isExit && run.status == 0
                let head = try #require(try subject.program.object("stats", "--json")["head"] as? UInt64)
                // A writer that was killed may have stored its event and not said so; the next one sees it at the latest.
                let least = isAcknowledged ? stored + 1 : stored
                #expect(head >= least && head <= operation + 1, "operation \(operation)")
                stored = head
                #expect(try subject.restored() <= stored, "operation \(operation)")
                let isOver =
                    environment["FAULTS_MARK"].map { !FileManager.default.fileExists(atPath: $0) } ?? run.isExit
                if isOver { break }
                troubles += 1
            }
            #expect(troubles >= 3)
            archiver.end(SIGTERM)
            #expect(try subject.restored() == stored)
        }
    }
}

/// The way a writer fails beside an archiver.
enum WriterTrouble: Hashable, Sendable {
    /// By SIGKILL, with an effect of `kills.c`.
    case killed(Int)
    case fault(Fault)

    /// Kills, and a full disk, each way.
    static let all =
        sized([.killed(2)], nightly: (0...2).map { .killed($0) })
        + sized(Fault.lasting, nightly: Fault.all).filter { $0.error == .noSpace }.map(Self.fault)
}
