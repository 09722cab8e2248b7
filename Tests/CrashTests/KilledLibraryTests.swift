import Foundation
import TestSupport
import Testing
import Traylog

/// A process that embeds the store, killed while it appends; with so short a tail that some flush is always under way.
@Suite struct KilledLibraryTests {
    @Test(arguments: seeds(1, nightly: 12))
    func aWriterThatFlushesAllTheTimeCanBeKilledAtAnyMoment(seed: UInt64) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "traylog-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        var loop = KillLoop(seed: seed ^ 0x6b69_6c6c, directory: directory + "/store")
        var total = 0
        // On a busy machine some rounds end before anything is answered: more of them, then.
        while loop.round < sized(4, nightly: 60) || total <= 100 {
            loop.beginRound()
            let child = try KilledChild(&loop, in: directory)
            await #expect(processExitsWith: .signal(SIGKILL)) { [child = child as KilledChild] in try child.run() }
            try child.hearAnswers(&loop)
            total += loop.answered
            try loop.check()
        }
    }
}
