import Foundation
import TestSupport
import Testing

/// Copies of an archive whose command is killed, fails, hangs, or lies: a restore of what is there is a prefix of the log, no shorter
/// than what was shown, up to the first file that is not what was copied.
@Suite struct ArchiveCopyLifeTests {
    private static let canCompile = SharedLibrary.compiler != nil

    /// Each program of the command: the one that writes the copy, and the one that gives it its name.
    @Test(.enabled(if: canCompile, "needs cc, to compile the killer"), arguments: sized([2], nightly: [0, 1, 2]))
    func aCopyingCommandThatIsKilledAtAnyFileOperationIsRunAgain(effect: Int) throws {
        try withTemporaryDirectory { directory in
            let subject = try ArchivedStore(directory).withBucket()
            let library = try subject.compileKills()
            var (head, kills) = (UInt64(0), 0)
            func archive(_ ship: String) throws -> TraylogProgram.Run {
                try subject.program.run(["archive", subject.archive, "--ship", ship])
            }
            func append() throws {
                #expect(try subject.program.run(["notify", "ann"]).status == 0)
                head += 1
            }
            try append()
            #expect(try archive(subject.ship()).status == 0)
            let commands: [(_ killer: String) -> String] = [
                { subject.ship(copying: $0) }, { subject.ship(moving: $0) },
                // Without a step of its own for the name, half of a file has the name of a whole one.
                { "\($0) cp '%p' '\(subject.bucket)/%f'" },
            ]
            for (index, command) in commands.enumerated() {
                for operation in 1... {
                    try append()
                    let killer = "LD_PRELOAD='\(library)' KILL='\(subject.bucket) \(operation) \(effect)'"
                    let run = try archive(command(killer))
                    #expect(run.status == 0 || run.status == 74 && run.errors.contains("--ship"), "\(run.errors)")
                    let shown = try subject.shippedThrough()
                    #expect(shown == (run.status == 0 ? head : head - 1), "\(index), operation \(operation)")
                    let restored = try subject.restored(subject.bucket, isSound: index < 2)
                    #expect(restored >= shown && restored <= head, "\(index), operation \(operation)")
                    #expect(try archive(subject.ship()).status == 0)
                    #expect(try subject.restored(subject.bucket) == head, "\(index), operation \(operation)")
                    guard run.status != 0 else { break }
                    kills += 1
                }
            }
            #expect(kills >= 5)
        }
    }

    /// Writer and archiver run side by side and are killed at any moment, or the disk of one is full; copies fail, hang and lie.
    @Test(.enabled(if: canCompile, "needs cc, to compile the injector"), arguments: seeds(1, nightly: 20))
    func aRestoreOfWhatWasArchivedIsThePrefixOfTheLogThatWasShown(seed: UInt64) throws {
        try withTemporaryDirectory { directory in
            let subject = try ArchivedStore(directory).withBucket()
            #expect(try subject.program.run(["notify", "ann"]).status == 0)
            let faults = directory + "/faults.so"
            try SharedLibrary.compile(FaultInjector.source, to: faults)
            var random = SeededRandom(seed: seed)
            var (archived, acknowledged) = (UInt64(0), UInt64(1))
            func full(_ place: String) -> [String: String] {
                let fault = random.pick(Fault.all.filter { $0.error == .noSpace })
                return ["LD_PRELOAD": faults, "FAULTS": fault.setting(place, at: Int(random.between(5, 200)))]
            }
            for life in 0..<sized(5, nightly: 10) {
                let note: Comment = "seed \(seed), life \(life)"
                let isWriterFull = random.chance(20)
                let writer = try AppendingProcess(
                    store: subject.store, environment: isWriterFull ? full(subject.store) : [:])
                let archiver = try FollowingArchiver(
                    subject, ["--ship", try shipper(subject, isLiar: life % 2 == 1), "--ship-timeout", "1"],
                    environment: random.chance(20) ? full(subject.archive) : [:])
                appending: for _ in 0..<random.between(1, 12) {
                    let count = random.between(1, 60)
                    let line = #"{"kind":"notify","user":"u\#(random.below(9))","title":"T"}"# + "\n"
                    // A writer that has no room ends, and then takes nothing.
                    do { try writer.say(String(repeating: line, count: count)) } catch { break }
                    for _ in 0..<count {
                        guard writer.hear() != nil else { break appending }
                        acknowledged += 1
                    }
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
                let head = try #require(try subject.program.object("stats", "--json")["head"] as? UInt64)
                #expect(head >= acknowledged && (isWriterFull || head == acknowledged), note)
                acknowledged = head
                let shown = archiver.last ?? archived
                archived = try subject.restored()
                #expect(archived >= shown && archived <= acknowledged, note)
                try checkCopies(subject, note)
            }
            #expect(try subject.program.run(["archive", subject.archive]).status == 0)
            #expect(try subject.restored() == acknowledged, "seed \(seed)")
            #expect(try subject.program.run(["archive", subject.archive, "--ship", subject.ship()]).status == 0)
            #expect(try subject.restored(subject.bucket) == acknowledged, "seed \(seed)")
        }
    }

    /// A command that works most of the time.
    ///
    /// - Parameter isLiar: whether it sometimes says that a copy is safe that is cut, changed, or not there.
    private func shipper(_ subject: ArchivedStore, isLiar: Bool) throws -> String {
        let path = subject.directory + "/shipper"
        let lies = """
              10|11) head -c 200 "$1" > "$2"; exit;;
              12|13) tr 'A-Z' 'B-ZA' < "$1" > "$2"; exit;;
              14) exit;;
            """
        let script = """
            case $(($(od -An -N1 -tu1 /dev/urandom) % 32)) in
              1|2|3|4|5) exit 1;;
              6) sleep 60;;
            \(isLiar ? lies : "")
            esac
            cp "$1" "$2.part" && mv "$2.part" "$2"
            """
        try Data((script + "\n").utf8).write(to: URL(filePath: path))
        return "sh '\(path)' '%p' '\(subject.bucket)/%f'"
    }

    /// A restore of the copies has what health shows, up to the first one that is not its file; then makes those again.
    private func checkCopies(_ subject: ArchivedStore, _ note: Comment) throws {
        func file(_ place: String, _ name: String) -> Data? { FileManager.default.contents(atPath: "\(place)/\(name)") }
        func first(_ name: String) -> UInt64 { UInt64(name.split(separator: "-")[1]) ?? 0 }
        let shown = try subject.shippedThrough()
        let shipped = try subject.names(subject.archive).filter { file(subject.archive, $0 + ".shipped") != nil }
        let bad = shipped.filter { file(subject.bucket, $0) != file(subject.archive, $0) }
        let restored = try subject.restored(subject.bucket, isSound: bad.isEmpty)
        guard let worst = bad.map(first).min() else {
            #expect(restored >= shown, note)
            return
        }
        #expect(restored == worst - 1 || worst == 1, note)
        // A missing last file is a shorter log, which only a tree head tells.
        if bad.contains(where: { file(subject.bucket, $0) != nil }) {
            let verified = try subject.program.run(["verify", "--archive", subject.bucket])
            #expect(verified.status == 1, note)
            let words = String(decoding: verified.output, as: UTF8.self)
            #expect(bad.contains { words.contains($0) }, "\(note): \(words)")
        }
        // As the guide says: without its mark, a file is copied again.
        for name in bad { try FileManager.default.removeItem(atPath: "\(subject.archive)/\(name).shipped") }
    }
}
