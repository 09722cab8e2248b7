import Foundation
import TestSupport
import Testing
@_spi(Operations) import Traylog

/// Stores that are compacted again and again, compared with a model that only hides the events that left the log.
@Suite struct CompactionModelTests {
    @Test(arguments: seeds(1, nightly: 150))
    func answersFromTheFloorOnStayWhateverWasDropped(seed: UInt64) throws {
        try play(seed, .typical, options(), rounds: 5, steps: 80)
    }

    @Test(arguments: seeds(1, nightly: 100))
    func answersStayWhileStatesAreFlushedAndEvictedAllTheTime(seed: UInt64) throws {
        try play(seed, .typical, .tiny(), rounds: 5, steps: 80, reopenPercent: 30)
    }

    @Test(arguments: seeds(1, nightly: 60))
    func answersStayWhereEveryCommandMeetsTheOneBefore(seed: UInt64) throws {
        try play(seed, .crowded, .tiny(), rounds: 6, steps: 50, reopenPercent: 30)
    }

    @Test(arguments: seeds(2, nightly: 200))
    func answersStayWhateverIsAppendedDuringACompaction(seed: UInt64) throws {
        try play(seed, seed % 2 == 0 ? .typical : .crowded, .tiny(), rounds: 6, steps: 40, meanwhile: 4)
    }

    @Test(arguments: seeds(1, nightly: 20))
    func answersOfALargeTrayStayWhateverWasDropped(seed: UInt64) throws {
        try play(
            seed, .heavy, .tiny(), rounds: sized(3, nightly: 4), steps: sized(300, nightly: 1_500), reopenPercent: 30)
    }
}

private func play(
    _ seed: UInt64, _ mix: HistoryMix, _ options: StoreOptions, rounds: Int, steps: Int, reopenPercent: Int = 0,
    meanwhile: Int = 0
) throws {
    try withTemporaryDirectory { directory in
        var random = SeededRandom(seed: seed &+ 77)
        let (steps, rounds) = (halved(steps), halved(rounds))
        var run = try ModelRun(seed: seed, mix: mix.with(.all)) { try Store.open(directory, options: options) }
        for round in 0..<rounds {
            try run.play(steps: steps, checkEvery: max(steps / 3, 1), reopenPercent: reopenPercent)
            try run.compact(atPercent: random.pick([30, 60, 90, 99, 100]), playing: meanwhile)
            if round % 2 == 1 { try run.reopen { try check(directory) } }
        }
        try run.play(steps: steps, checkEvery: max(steps / 3, 1))
        try run.finish(depth: .sample(20))
        try within("seed \(seed)") { try check(directory, rebuild: true) }
    }
}

/// All stored data follows from the log, with the log's gaps.
private func check(_ directory: String, rebuild: Bool = false) throws {
    let report = try Verification.run(directory: directory) { _, _ in }
    try expectSame("", report.findings.joined(separator: "\n"), "findings")
    guard rebuild else { return }
    _ = try Rebuild.run(directory: directory) { _, _ in }
    let again = try Verification.run(directory: directory) { _, _ in }
    try expectSame([], again.findings, "findings after a rebuild")
}

private func options() -> StoreOptions {
    var options = StoreOptions()
    options.ticking = .manual
    options.durability = .relaxed
    options.accountsForCommits = true
    return options
}
