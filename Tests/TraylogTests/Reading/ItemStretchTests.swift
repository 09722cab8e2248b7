import TestSupport
import Testing
@_spi(Internals) @_spi(Operations) @testable import Traylog
@testable import TraylogDomain
@testable import TraylogQueries

/// A life is read only where its item may have changed.
@Suite struct ItemStretchTests {
    /// One user with several hundred items, bulk marks and undos.
    private static var mix: HistoryMix {
        var mix = HistoryMix.heavy.with(.all)
        (mix.heavyPercent, mix.notifyPercent, mix.bulkMarkWeight) = (90, 60, 12)
        return mix
    }

    @Test(arguments: StoreWay.allCases, seeds(1, nightly: 25))
    func aLifeIsTheSameAsIfAllEventsHadBeenRead(way: StoreWay, seed: UInt64) throws {
        try TestedStore.with(way) { tested in
            var random = SeededRandom(seed: seed)
            var users = try tested.play(seed: seed, steps: 500, mix: Self.mix)
            var skipped = try compare(tested, users, &random)
            let floor = random.between(2, Int(try tested.store.head().rawValue))
            try tested.store.compact(before: .seq(Seq(UInt64(floor))))
            skipped += try compare(tested, users, &random)
            if users.count > 1 {
                let revisions = try users.map { try tested.tray($0).revision }
                try tested.store.erase(users.remove(at: revisions[0] < revisions[1] ? 0 : 1))
                skipped += try compare(tested, users, &random)
            }
            #expect(skipped > 0, "seed \(seed)")
        }
    }

    /// Compares lives as of random moments; answers how many events of the store were left out.
    private func compare(_ tested: TestedStore, _ users: [String], _ random: inout SeededRandom) throws -> UInt64 {
        var skipped: UInt64 = 0
        for user in users {
            try tested.ask { store in
                let (head, floor) = (try store.head().rawValue, try store.statistics().floor.rawValue)
                for _ in 0..<sized(30, nightly: 60) {
                    let item = UInt64(random.between(1, Int(head)))
                    let end = UInt64(random.between(Int(max(item, floor)), Int(head)))
                    skipped += try store.queries.answer(.past, of: user) { now in
                        guard try now.state.entry(of: item, stored: now.pages) != nil else { return 0 }
                        let start = now.start(of: item)
                        let stretches = try now.at(end).stretches(changing: item, after: start)
                        let found = try now.events(of: item, in: stretches)
                        let all = try now.events(of: item, in: [(start, end)])
                        #expect(found == all, "\(user), item \(item) as of \(end), stretches \(stretches)")
                        return end - start - stretches.eventCount
                    }
                }
            }
        }
        return skipped
    }

    @Test func whatASingleStretchBeginsAndEndsIsFound() throws {
        try withStorePath { path in
            var settings = options(isRelaxed: true)
            settings.landmarkDistance = 64
            var life: [Seq] = []
            try withStore(path, settings) { store in
                func act(_ action: Command.Action) throws {
                    life.append(try #require(try store.perform(command("ann", action)).seq))
                }
                func wait() throws { try store.perform((0..<130).map { _ in notify("ann") }) }
                try act(.notify(Content(title: "Old")))
                let item = ItemReference.seq(life[0])
                try wait()
                try act(.mark(.archived, [item]))
                try act(.mark(.unarchived, [item]))
                try wait()
                // Neither changes the item's page.
                try act(.markAll(.archived, ItemFilter()))
                try act(.undo(event: life[3]))
                try wait()
                try act(.seeTray())
                try wait()
                #expect(try store.life(of: item, of: "ann").events.map(\.seq) == life)
            }
            try withReader(path) { reader in
                #expect(try reader.life(of: .seq(life[0]), of: "ann").events.map(\.seq) == life)
                let stretches = try reader.queries.answer(.past, of: "ann") { now in
                    try now.stretches(changing: 1, after: 0)
                }
                // The marks come right after its page was sealed, without a quiet stretch in between.
                #expect(stretches.count == 3, "\(stretches)")
            }
        }
    }

    @Test func whatComesAfterAnItemWasPutAwayIsNotRead() throws {
        func read(_ later: Int) throws -> (stretches: [UserSnapshot.Stretch], life: [Seq]) {
            try withStorePath { path in
                var settings = options(tailEvents: 200, isRelaxed: true)
                settings.landmarkDistance = 64
                try withStore(path, settings) { store in
                    let item = try #require(try store.perform(notify("ann")).seq)
                    try store.perform((0..<150).map { _ in notify("ann") })
                    try store.perform(command("ann", .seeTray()))
                    try store.perform(command("ann", .mark(.read, [.seq(item)])))
                    try store.perform(command("ann", .mark(.archived, [.seq(item)])))
                    for _ in 0..<later / 100 {
                        try store.perform((0..<97).map { _ in notify("ann") })
                        try store.perform(command("ann", .seeTray()))
                        try store.perform(command("ann", .markAll(.read, ItemFilter())))
                        try store.perform(command("ann", .mark(.deleted, [.seq(Seq(try store.head().rawValue - 50))])))
                    }
                }
                return try withReader(path) { reader in
                    let stretches = try reader.queries.answer(.past, of: "ann") { now in
                        try now.stretches(changing: 1, after: 0)
                    }
                    return (stretches, try reader.life(of: .seq(1), of: "ann").events.map(\.seq))
                }
            }
        }
        let (short, long) = (try read(1_000), try read(4_000))
        #expect(short.life == [1, 152, 153, 154] && long.life == short.life)
        #expect(short.stretches.eventCount == long.stretches.eventCount, "\(short.stretches), \(long.stretches)")
        #expect(long.stretches.eventCount <= 4 * 64, "\(long.stretches)")
    }
}

extension [UserSnapshot.Stretch] {
    fileprivate var eventCount: UInt64 { reduce(0) { $0 + $1.through - $1.after } }
}
