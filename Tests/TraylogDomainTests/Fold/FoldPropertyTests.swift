import TestSupport
import Testing

@testable import TraylogDomain

@Suite struct FoldPropertyTests {
    /// The three forms of one history agree at every step, and the two states end as the same bytes.
    @Test(arguments: TrayMix.all, seeds(1, nightly: 20))
    func flushesAndReloadsNeverShow(mix: TrayMix, seed: UInt64) throws {
        var run = TrayRun(seed: seed, mix: mix)
        var random = SeededRandom(seed: ~seed)
        let every = sized(40, nightly: 9)
        for step in 1...mix.steps {
            try run.step()
            let answers = TrayAnswers(of: run)
            if step % every == 0 { try answers.expectTray(run.whole, run.wholeSource) }
            if step % every == 1 { try answers.expectTray(run.flushed.state, run.flushedSource) }
            if step % sized(600, nightly: 200) == 0 {
                try answers.expectAll(run.whole, run.wholeSource, &random)
                try answers.expectAll(run.flushed.state, run.flushedSource, &random)
            }
        }
        #expect(mix.isWorthwhile(run.reached), "seed \(seed): \(run.reached)")
        try expectSameBytes(run)
        try expectEvents(run)
    }

    /// Stored bytes do not depend on whether a state was flushed in between.
    private func expectSameBytes(_ run: TrayRun) throws {
        var flushed = run.flushed
        flushed.flush()
        let rows = PackedRows(of: run.whole)
        #expect(flushed.rows.root == rows.root, "seed \(run.seed)")
        for space in PageSpace.allCases {
            #expect(flushed.rows.pages[space] == rows.pages[space], "seed \(run.seed): \(space)")
        }
        try flushed.reload([])
        #expect(flushed.state.appliedSeq == run.whole.appliedSeq, "seed \(run.seed)")
        try TrayAnswers(of: run).expectTray(flushed.state, flushed.source(run.log))
    }

    private func expectEvents(_ run: TrayRun) throws {
        let events = run.whole.events
        let seqs = try (events.sealed + [events.open]).flatMap { try $0.seqs() }
        #expect(seqs == run.facts.map(\.seq), "seed \(run.seed)")
        #expect(events.count == UInt64(run.facts.count), "seed \(run.seed)")
        #expect(events.last == run.facts.last?.seq, "seed \(run.seed)")
    }
}
