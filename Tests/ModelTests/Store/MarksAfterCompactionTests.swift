import TestSupport
import Testing
@_spi(Operations) import Traylog
import TraylogDomain

/// Who marked an item, and when, stands in events that a compaction takes out of the log.
@Suite struct MarksAfterCompactionTests {
    private struct Known {
        var recipients: [Seq: [Audience.Part: [Recipient]]] = [:]
        var lives: [(user: String, item: Seq, events: [Event])] = []
    }

    @Test(arguments: seeds(3, nightly: 100))
    func archivesStillSayWhoMarkedWhatAndListsStayWithoutThem(seed: UInt64) throws {
        try withTemporaryDirectory { directory in
            var random = SeededRandom(seed: seed &+ 9)
            var options = StoreOptions()
            (options.ticking, options.durability) = (.manual, .relaxed)
            let mix = seed % 2 == 0 ? HistoryMix.crowded : .typical
            var run = try ModelRun(seed: seed, mix: mix.with(.all)) {
                try Store.open(directory + "/store", options: options)
            }
            defer { run.store.close() }
            try run.play(steps: 300, checkEvery: 300)
            let store = try #require(run.store as? Store).blocking
            let (naive, end) = (run.naive, run.naive.head)

            var known = Known()
            let broadcasts = naive.events.filter { $0.kind == .broadcast }.map(\.seq)
            for item in broadcasts {
                for part in [Audience.Part.seen, .read] {
                    known.recipients[item, default: [:]][part] =
                        try store.recipients(of: item, part, limit: 10_000, asOf: .seq(end)).elements
                }
            }
            for user in naive.users() {
                for item in naive.state(of: user).items where !item.scheduled && random.chance(30) {
                    let life = try store.life(of: .seq(item.seq), of: user, asOf: .seq(end))
                    known.lives.append((user, item.seq, life.events))
                }
            }

            let (floor, archive) = (end.rawValue / 2, directory + "/archives")
            var dropped = try store.compact(before: .seq(Seq(floor)), archive: archive).dropped
            dropped += try store.compact(before: .seq(Seq(floor + end.rawValue / 3)), archive: archive).dropped
            // An undo across the floor keeps all events of its user.
            guard dropped > 0 else { return }
            let archives = try store.archives(in: archive)

            var missing = 0
            for (item, parts) in known.recipients {
                for (part, before) in parts {
                    guard
                        let rest = try unlessCompacted({ () throws(TraylogError) in
                            try store.recipients(of: item, part, limit: 10_000, asOf: .seq(end)).elements
                        })
                    else { continue }
                    let whole = try store.recipients(
                        of: item, part, limit: 10_000, asOf: .seq(end), including: archives
                    ).elements
                    #expect(whole == before, "seed \(seed), item \(item), \(part)")
                    #expect(rest.map(\.user) == before.map(\.user), "seed \(seed), item \(item), \(part)")
                    for (now, then) in zip(rest, before) {
                        #expect(now.outcome == then.outcome)
                        #expect([nil, then.seen].contains(now.seen) && [nil, then.read].contains(now.read))
                        if now.seen != then.seen || now.read != then.read { missing += 1 }
                    }
                }
            }
            var lives = 0
            for (user, item, events) in known.lives {
                let life = try unlessCompacted { () throws(TraylogError) in
                    try store.life(of: .seq(item), of: user, asOf: .seq(end), including: archives)
                }
                guard let life else { continue }
                #expect(life.events == events, "seed \(seed), \(user), item \(item)")
                lives += 1
            }
            #expect(missing > 0 && lives > 0, "seed \(seed) compares nothing")
        }
    }

    /// Nil for what left the log itself.
    private func unlessCompacted<Answer>(_ body: () throws(TraylogError) -> Answer) throws(TraylogError) -> Answer? {
        do throws(TraylogError) {
            return try body()
        } catch .refused(.compacted) {
            return nil
        }
    }
}
