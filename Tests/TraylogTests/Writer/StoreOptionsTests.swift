import TestSupport
import Testing

@_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogChecks

/// Answers do not depend on how much memory there is, how often is flushed, and when is synced.
@Suite struct StoreOptionsTests {
    @Test(arguments: seeds(1, nightly: 30))
    func aTailOfOneEventKeepsAnswersRight(seed: UInt64) throws {
        try play(seed, options(tailEvents: 1, isRelaxed: true))
    }

    @Test(arguments: seeds(1, nightly: 30))
    func aCacheOfNothingKeepsAnswersRight(seed: UInt64) throws {
        try play(seed, options(cacheBytes: 0, isRelaxed: true))
    }

    @Test(arguments: seeds(1, nightly: 30))
    func relaxedDurabilityKeepsAnswersRight(seed: UInt64) throws {
        try play(seed, options(isRelaxed: true))
    }

    private func play(_ seed: UInt64, _ options: StoreOptions) throws {
        try withStorePath { path in
            var mix = HistoryMix.typical
            mix.users = 25
            mix.largePercent = 0
            var run = try ModelRun(seed: seed, mix: mix.with(.all)) { try Store.open(path, options: options) }
            try run.play(steps: 240, checkEvery: 40, reopenPercent: 30)
            try run.finish(depth: .sample(2))
            #expect(try replay(path).identical, "seed \(seed)")
        }
    }
}
