import TestSupport
import Testing
@_spi(Operations) import Traylog
import TraylogDomain

/// The life of an item is every event that changed it, as the naive fold sees it, also as of a moment of the past.
@Suite struct ItemLifeTests {
    @Test(arguments: seeds(2, nightly: 200))
    func everyEventThatChangedAnItemIsInItsLife(seed: UInt64) throws {
        try withTemporaryDirectory { directory in
            var random = SeededRandom(seed: seed &+ 5)
            var options = StoreOptions()
            (options.ticking, options.durability) = (.manual, .relaxed)
            options.landmarkDistance = random.pick([3, 20, 2_048])
            let mix = seed % 2 == 0 ? HistoryMix.crowded : .typical
            var run = try ModelRun(seed: seed, mix: mix.with(.all)) { try Store.open(directory, options: options) }
            try run.play(steps: 120, checkEvery: 120)
            let reader = try #require(run.store as? Store)
            let naive = run.naive
            for user in naive.users() {
                for item in naive.state(of: user).items where !item.scheduled {
                    let first = Int((item.arrival ?? item.seq).rawValue)
                    let end =
                        random.chance(50) ? naive.head : Seq(UInt64(random.between(first, Int(naive.head.rawValue))))
                    let life = try reader.life(of: .seq(item.seq), of: user, asOf: .seq(end))
                    #expect(life.item.seq == item.seq && life.asOf == end)
                    let found = life.events.map(\.seq)
                    #expect(
                        found == changes(of: item.seq, of: user, through: end, in: naive),
                        "seed \(seed), \(user), item \(item.seq)")
                }
            }
            try run.finish(depth: .sample(1))
        }
    }

    /// The events after which the item is another one than before.
    private func changes(of item: Seq, of user: String, through end: Seq, in naive: NaiveStore) -> [Seq] {
        var before: NaiveItem?
        return (item.rawValue...end.rawValue).map { Seq($0) }.filter { seq in
            var after = naive.state(of: user, asOf: seq).item(item)
            // A reminder changes nothing that anybody sees.
            after?.reminded = false
            if after?.scheduled == true { after = nil }
            defer { before = after }
            // An undo also changes the marks of gone items; they do not matter.
            if before?.gone == true, after?.gone == true { return false }
            // Texts that are canonically equivalent are equal, and an edit from one to the other is an edit.
            if let before, let after, !before.content.hasSameValues(as: after.content) { return true }
            return after != before
        }
    }
}
