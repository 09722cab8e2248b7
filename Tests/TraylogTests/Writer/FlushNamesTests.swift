import Testing
import TestSupport
import TraylogDomain
import TraylogLog
@_spi(Internals) @_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogStates
@testable import TraylogWriter

/// The names that a round stores: all of them once, in the order of the table of names.
@Suite struct FlushNamesTests {
    @Test(arguments: [0, 1, 1_024, 1_025, 5_000])
    func namesAreTakenInTheOrderOfTheirKeys(count: Int) throws {
        var random = SeededRandom(seed: UInt64(count))
        let streams = (0..<count).map { stream(StreamID(rawValue: UInt32($0 + 1)), &random) }
        var names = FlushNames(streams, of: 1_000_000)
        if !names.isSorted {
            var pages = 350.0
            let none = names.take(.max, pages: &pages)
            #expect(none.isEmpty && pages == 350)
            let unsorted = names.takeUnsorted()
            let again = names.takeUnsorted()
            #expect(!names.isEmpty && !names.isWanted && again == nil)
            let sorted = try #require(unsorted).sorted()
            names.put(sorted)
        }
        var taken: [LiveStream] = []
        while !names.isEmpty {
            let limit = 1 + random.below(400)
            var pages = 350.0
            let some = names.take(limit, pages: &pages)
            #expect(!some.isEmpty && some.count <= min(limit, 350) && pages >= 0)
            taken += some
        }
        let expected = streams.sorted { $0.nameKey.lexicographicallyPrecedes($1.nameKey) }.map(\.number)
        #expect(taken.map(\.number) == expected)
    }

    @Test func neighborsShareThePagesThatATransactionMayChange() throws {
        var random = SeededRandom(seed: 1)
        let streams = (1...2_000).map { stream(StreamID(rawValue: $0), &random) }
        var all = FlushNames(streams, of: 2_000)
        let unsorted = all.takeUnsorted()
        let sorted = try #require(unsorted).sorted()
        all.put(sorted)
        var pages = 350.0
        let some = all.take(.max, pages: &pages)
        #expect(some.count == 1_024)
        // About 60 to a page.
        #expect(pages > 325 && pages < 340)
    }

    /// Of all lengths, many with the same first bytes, and some topics.
    private func stream(_ number: StreamID, _ random: inout SeededRandom) -> LiveStream {
        let start = random.pick(["", "u", "user-", "ü", "a user with a name of many bytes "])
        let text = start + (random.chance(10) ? "" : "\(random.next() % 10_000)") + "/\(number)"
        let hasher = IdentityHasher(key0: 1, key1: 2)
        let name = random.chance(5) ? StreamName.topic(text) : .user(text)
        let identity = hasher.identity(of: text, as: name.isTopic ? .topic : .user)
        return LiveStream(name: name, identity: identity, number: number, isNamed: false)
    }

    /// More than are sorted at once, while others append, and with a user whose long chain is stored between them.
    @Test(arguments: seeds(1, nightly: 20))
    func manyNewUsersAreStoredBesideABusyOne(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        try withStorePath { path in
            var counts: [String: Int] = [:]
            let options = options(tailEvents: 4_000, isRelaxed: true)
            try withStore(path, options) { store in
                let source = try #require(store.queries.source as? LiveSource)
                for transaction in 0..<sized(100, nightly: 200) {
                    let users = (0..<200).map { _ in
                        random.chance(30) ? "busy" : "user-\(random.below(2_500))"
                    }
                    for user in users { counts[user, default: 0] += 1 }
                    _ = try store.perform(users.map { notify($0) })
                    if transaction.isMultiple(of: 20) {
                        source.memory.withLock { $0.store.checkInvariants() }
                    }
                }
                // On a slow machine it takes some more.
                for _ in 0..<20_000 where source.memory.withLock({ $0.store.record.states.through }) == 0 {
                    counts["busy", default: 0] += 1
                    _ = try store.perform(notify("busy"))
                }
                let stored = source.memory.withLock { $0.store.record.states.through }
                #expect(stored > 0, "no round has ended")
                let listed = try store.users(limit: .max).elements
                let expected = counts.keys.sorted { $0.precedesInBytes($1) }
                #expect(listed == expected)
            }
            try withStore(path, options) { store in
                for (user, count) in counts where user == "busy" || random.chance(5) {
                    let total = try store.tray(of: user).total
                    #expect(total == count)
                }
            }
            #expect(try replay(path).identical)
            #expect(try findings(path).isEmpty)
        }
    }
}
