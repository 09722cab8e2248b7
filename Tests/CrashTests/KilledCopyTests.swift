import Foundation
import Testing
import TestSupport
import Traylog
import TraylogDomain

/// The built program, killed while it makes a backup or a restore.
@Suite struct KilledCopyTests {
    private func withFilledStore(_ body: (String, Data) throws -> Void) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/store"
            let store = try Store.open(path, options: .tiny(tailEvents: 1_000, isRelaxed: true))
            let body4K = String(repeating: "x", count: 4_000)
            for _ in 0..<3 {
                let commands = (0..<1_500).map { number in
                    let content = Content(title: "\(number)", body: number % 5 == 0 ? body4K : "short")
                    return Command(user: "user \(number % 90)", .notify(content))
                }
                _ = try store.perform(commands)
            }
            store.close()
            let export = try TraylogProgram(store: path).run(["export"])
            #expect(export.status == 0)
            try body(path, export.output)
        }
    }

    /// Runs the program and kills it after a while, or lets it come to its end.
    ///
    /// - Returns: its exit status; nil when it was killed.
    private func killed(_ store: String, _ arguments: [String], after delay: TimeInterval) throws -> Int32? {
        let process = try TraylogProgram(store: store).process(arguments)
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        Thread.sleep(forTimeInterval: delay)
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        return process.terminationReason == .exit ? process.terminationStatus : nil
    }

    @Test(arguments: seeds(1, nightly: 10))
    func aKilledBackupLeavesNoStoreOrAWholeOneAndCanBeRepeated(seed: UInt64) throws {
        try withFilledStore { path, export throws in
            var random = SeededRandom(seed: seed)
            let copy = path + "-copy"
            var kills = 0
            for round in 0..<sized(3, nightly: 60) {
                let delay = Double(random.below(60)) / 1_000
                if try killed(path, ["backup", copy], after: delay) == nil { kills += 1 }
                if FileManager.default.fileExists(atPath: StoreFiles.data(of: copy)) {
                    #expect(
                        try TraylogProgram(store: copy).run(["export"]).output == export, "seed \(seed), round \(round)"
                    )
                    try FileManager.default.removeItem(atPath: copy)
                } else {
                    #expect(try TraylogProgram(store: copy).run(["tray", "user 1"]).status == 66)
                }
            }
            let run = try TraylogProgram(store: path).run(["backup", copy])
            #expect(run.status == 0, "seed \(seed): \(run.errors)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: copy).sorted() == ["CURRENT", "data-1"])
            #expect(try TraylogProgram(store: copy).run(["export"]).output == export)
            #expect(try TraylogProgram(store: copy).run(["verify"]).status == 0)
            #expect(kills > 0)
        }
    }

    @Test(arguments: seeds(1, nightly: 10))
    func aKilledRestoreIsWholeOrRefusedByNameAndCanBeRepeated(seed: UInt64) throws {
        try withFilledStore { path, export throws in
            var random = SeededRandom(seed: seed)
            let lines = path + ".jsonl"
            try export.write(to: URL(filePath: lines))
            let copy = path + "-copy"
            let program = TraylogProgram(store: copy)
            var kills = 0
            for round in 0..<sized(3, nightly: 60) {
                let delay = Double(random.below(round % 2 == 0 ? 100 : 1_500)) / 1_000
                if try killed(copy, ["restore", lines], after: delay) == nil { kills += 1 }
                let run = try program.run(["export"])
                switch run.status {
                case 0 where run.output.isEmpty, 66: break
                case 0:
                    #expect(run.output == export, "seed \(seed), round \(round)")
                    try FileManager.default.removeItem(atPath: copy)
                default:
                    #expect(run.status == 74 && run.errors.contains("restore"), "seed \(seed), round \(round): \(run)")
                    #expect(try program.run(["notify", "ann"]).status == 74)
                }
            }
            let run = try program.run(["restore", lines])
            #expect(run.status == 0, "seed \(seed): \(run.errors)")
            #expect(try program.run(["export"]).output == export)
            #expect(try program.run(["verify"]).status == 0)
            #expect(kills > 0)
        }
    }
}
