import Foundation
import TestSupport
import Testing
import Traylog

/// The built program, killed while it appends; with the store's usual options.
@Suite struct KilledProgramTests {
    @Test(arguments: seeds(1, nightly: 12))
    func aKilledWriterLosesNothingItAnsweredAndLeavesNothingHalfDone(seed: UInt64) throws {
        try withTemporaryDirectory { directory in
            var loop = KillLoop(seed: seed, directory: directory + "/store")
            var total = 0
            // On a busy machine some rounds end before anything is answered: more of them, then.
            while loop.round < sized(4, nightly: 60) || total <= 100 {
                loop.beginRound()
                try KilledProgram.run(&loop)
                total += loop.answered
                try loop.check()
            }
        }
    }
}
