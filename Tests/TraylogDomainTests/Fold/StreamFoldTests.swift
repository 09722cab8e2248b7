import TestSupport
import Testing

@testable import TraylogDomain

/// Catching up, undo and the past of one user with topics, against the naive fold.
@Suite struct StreamFoldTests {
    private static let ways: [StreamFold.Way] = [
        StreamFold.Way(keepsLandmarks: false), StreamFold.Way(), StreamFold.Way(keepsLandmarks: false, flushes: 30),
        StreamFold.Way(landmarkDistance: 5, flushes: 20),
        StreamFold.Way(landmarkDistance: 20, flushes: 60, reloads: 40),
    ]

    @Test(arguments: sized([ways[1], ways[4]], nightly: ways), seeds(1, nightly: 100))
    func stateAndPastAgreeWithTheNaiveFold(way: StreamFold.Way, seed: UInt64) throws {
        var mix = HistoryMix.heavy.with(.all)
        (mix.heavyPercent, mix.notifyPercent, mix.invalidPercent) = (70, 50, 0)
        var generator = HistoryGenerator(seed: seed, mix: mix)
        var naive = NaiveStore()
        let user = generator.heavyUser
        var log = StreamLog(user: user, hasher: IdentityHasher(key0: seed, key1: 7))
        var fold = StreamFold(way)
        var random = SeededRandom(seed: ~seed)
        for step in 1...500 {
            generator.advance(&naive)
            guard random.chance(20) || step == 500 else { continue }
            log.take(naive.events)
            try fold.catchUp(log, &random)
            try expectSame(fold.state, fold.source(log), naive, user, nil, seed)
            guard random.chance(30) || step == 500 else { continue }
            let seq = UInt64(random.below(naive.events.count + 1))
            let past = try fold.past(seq, log)
            try expectSame(past.state, past.source, naive, user, Seq(seq), seed)
        }
        #expect(naive.events.contains { $0.kind == .undone && $0.user == user }, "seed \(seed)")
        #expect(fold.state.sealedPages > 0, "seed \(seed)")
        #expect(!way.keepsLandmarks || fold.landmarkCount > 2, "seed \(seed)")
    }

    /// Large trays, where marks by thread and category, undo, collapse, snooze and wake meet.
    @Test(
        arguments: [
            StreamFold.Way(landmarkDistance: 40), StreamFold.Way(landmarkDistance: 60, flushes: 40, reloads: 30),
        ]
        .suffix(sized(1, nightly: 2)),
        seeds(1, nightly: 60))
    func largeTraysAgreeWithTheNaiveFold(way: StreamFold.Way, seed: UInt64) throws {
        var generator = HistoryGenerator(seed: seed, mix: HistoryMix.bulky.with(.all))
        var naive = NaiveStore()
        let user = generator.heavyUser
        var log = StreamLog(user: user, hasher: IdentityHasher(key0: seed, key1: 7))
        var fold = StreamFold(way)
        var random = SeededRandom(seed: ~seed)
        var (mostMarks, mostPages) = (0, UInt64(0))
        for step in 1...1_700 {
            generator.advance(&naive)
            guard random.chance(15) || step == 1_700 else { continue }
            log.take(naive.events)
            try fold.catchUp(log, &random)
            mostMarks = max(mostMarks, fold.state.rangeMarks.count)
            mostPages = max(mostPages, fold.state.tallies.pageCount)
            let tray = try fold.state.tray(of: user, asOf: naive.head, source: fold.source(log))
            #expect(tray == naive.tray(of: user), "seed \(seed), after \(naive.head)")
            guard random.chance(8) || step == 1_700 else { continue }
            try expectSame(fold.state, fold.source(log), naive, user, nil, seed)
            let seq = UInt64(random.below(naive.events.count + 1))
            let past = try fold.past(seq, log)
            try expectSame(past.state, past.source, naive, user, Seq(seq), seed)
        }
        #expect(naive.events.count { $0.kind == .undone } > 3, "seed \(seed)")
        #expect(mostPages > 1 && mostMarks > 20, "seed \(seed): \(mostPages), \(mostMarks)")
    }

    private func expectSame(
        _ state: TrayState, _ source: some StateSource, _ naive: NaiveStore, _ user: String, _ moment: Seq?,
        _ seed: UInt64
    ) throws {
        let place: Comment = "seed \(seed), after \(naive.head), as of \(moment?.description ?? "then")"
        let tray = try state.tray(of: user, asOf: moment ?? naive.head, source: source)
        #expect(tray == naive.tray(of: user, asOf: moment), place)
        for view in [InboxQuery.View.inbox, .archived, .snoozed] {
            var query = InboxQuery(ItemFilter(includeSilent: true), view: view, limit: 100)
            let expected = naive.matches(of: user, query, asOf: moment)
            var found: [Item] = []
            repeat {
                let hasher = IdentityHasher(key0: seed, key1: 7)
                let page = try state.shownItems(query, of: user, hasher: hasher, stored: source)
                found += try page.items.map { try $0.item(from: source) }
                query.cursor = page.next
            } while query.cursor != nil
            #expect(found == expected, place)
        }
    }
}
