import TestSupport
import Testing
@_spi(Operations) @_spi(Replication) import Traylog

/// A snapshot at any moment and the changes after it, folded away from the store, against the store's own answers.
@Suite struct ReplicaModelTests {
    @Test(arguments: seeds(1, nightly: 200))
    func aSnapshotAndTheChangesAfterItGiveEveryAnswer(seed: UInt64) throws {
        try play(seed, .typical, rounds: 8, steps: 60)
    }

    @Test(arguments: seeds(1, nightly: 100))
    func aReplicaOfACrowdedTrayAgreesWithTheStore(seed: UInt64) throws {
        try play(seed, .crowded, rounds: 8, steps: 40)
    }

    @Test(arguments: seeds(1, nightly: 30))
    func aReplicaOfALargeTrayAgreesWithTheStore(seed: UInt64) throws {
        try play(seed, .heavy, rounds: 3, steps: sized(200, nightly: 1_500))
    }
}

private func play(_ seed: UInt64, _ mix: HistoryMix, rounds: Int, steps: Int) throws {
    try withTemporaryDirectory { directory in
        var random = SeededRandom(seed: seed &+ 991)
        let steps = halved(steps)
        var run = try ModelRun(seed: seed, mix: mix.with(.all)) { try Store.open(directory, options: .tiny()) }
        var copies: [Copy] = []
        for round in 0..<rounds {
            try run.play(steps: steps, checkEvery: steps, reopenPercent: 20)
            if random.chance(25) { try run.compact(atPercent: random.pick([20, 50, 80, 100])) }
            let store = try #require(run.store as? Store)
            try within("seed \(seed), round \(round)") {
                var kept: [Copy] = []
                for copy in copies { if let next = try copy.advanced(store, &random) { kept.append(next) } }
                copies = kept
                for user in (run.naive.users() + ["nobody"]).prefix(5) {
                    try within("user \(user)") {
                        try checkChanges(of: user, store, run.naive, &random)
                        let floor = try store.statistics().floor.rawValue
                        let asOf = Seq(UInt64(random.between(Int(floor), Int(try store.head().rawValue))))
                        copies.append(try Copy(user, store, asOf: asOf, pageItems: random.pick([1, 3, 40, 10_000])))
                    }
                }
            }
        }
        try within("seed \(seed), at the end") {
            for copy in copies { _ = try copy.advanced(store(run), &random) }
        }
        run.store.close()
    }
}

private func store(_ run: ModelRun) throws -> Store { try #require(run.store as? Store) }

/// A user's changes match the naive model's, from any beginning and with any page size.
private func checkChanges(
    of user: String, _ store: Store, _ naive: NaiveStore, _ random: inout SeededRandom
) throws {
    let floor = try store.statistics().floor
    let first = Seq(UInt64(random.between(Int(floor.rawValue), naive.events.count)))
    let expected = visibleEvents(of: user, naive).filter { $0 > first }
    var (found, after): ([Seq], Seq) = ([], first)
    let limit = random.pick([1, 2, 7, 1_000])
    while true {
        let changes = try store.changes(of: user, after: after, limit: limit)
        try expectSame(true, changes.events.allSatisfy { $0.seq > after && $0.seq <= changes.through }, "order")
        found += changes.events.map(\.seq)
        guard !changes.isComplete else { break }
        try expectSame(true, changes.through > after, "progress")
        after = changes.through
    }
    try expectSame(expected, found, "changes after \(first), limit \(limit)")
    let newest = visibleEvents(of: user, naive).last ?? .zero
    let version = try store.version(of: user).newestChange
    // The store cannot tell whether a topic's event that left the log concerned the user, so it counts.
    let isGone = naive.dropped.contains(version) && naive.event(version)?.user == nil
    if version < newest || !isGone { try expectSame(newest, version, "newest change") }
    if floor > .zero {
        #expect(throws: TraylogError.self) { try store.changes(of: user, after: .zero) }
    }
}

/// The user's own events, and those of topics that concern an item of the user's.
private func visibleEvents(of user: String, _ naive: NaiveStore) -> [Seq] {
    var state = NaiveUser(name: user)
    var visible: [Seq] = []
    for event in naive.events {
        state.apply(event)
        if let owner = event.user {
            if Name(owner) == Name(user) { visible.append(event.seq) }
            continue
        }
        switch event.body {
        case .broadcast: if state.item(event.seq) != nil { visible.append(event.seq) }
        case .edited(let item, _), .retracted(let item), .expired(let item), .reminded(let item),
            .arrived(let item, _, _, _, _):
            if state.item(item) != nil { visible.append(event.seq) }
        default: break
        }
    }
    return visible
}

/// A replica, and the changes that it is still to be given.
private struct Copy {
    let user: String
    let pageItems: Int
    var replica: TrayReplica

    init(_ user: String, _ store: Store, asOf: Seq?, pageItems: Int) throws {
        self.user = user
        self.pageItems = pageItems
        var pages = [try store.snapshot(of: user, asOf: asOf.map { .seq($0) }, limit: pageItems, contents: .max)]
        while let next = pages[pages.count - 1].next {
            let cursor = try #require(SnapshotCursor(next.description))
            pages.append(try store.snapshot(of: user, cursor: cursor, limit: pageItems, contents: .max))
        }
        let positions = pages.flatMap(\.items).map(\.item.position)
        try expectSame(true, zip(positions, positions.dropFirst()).allSatisfy { $0 < $1 }, "order of positions")
        replica = try TrayReplica(pages)
        try check(store, asOf: pages[0].asOf)
    }

    /// Brings it up to the head, in one step or several; nil when that rightly cannot be.
    func advanced(_ store: Store, _ random: inout SeededRandom) throws -> Copy? {
        var next = self
        let limit = random.pick([1, 5, 1_000])
        do {
            try within("user \(user), snapshot \(replica.snapshotSeq), from \(replica.through)") {
                while true {
                    let changes = try store.changes(of: user, after: next.replica.through, limit: limit)
                    try next.replica.apply(changes.events, through: changes.through)
                    if changes.isComplete { break }
                }
                try next.check(store, asOf: next.replica.through)
            }
        } catch TraylogError.refused(.staleSnapshot(let event)) where event <= next.replica.snapshotSeq {
            return nil
        } catch TraylogError.refused(.compacted(let floor, _)) where next.replica.through < floor {
            return nil
        }
        return next
    }

    private func check(_ store: Store, asOf: Seq) throws {
        let moment = Moment.seq(asOf)
        try expectSame(try store.tray(of: user, asOf: moment), try replica.tray(), "tray")
        for view in [InboxQuery.View.inbox, .archived, .snoozed] {
            for isSilent in [false, true] {
                var query = InboxQuery(ItemFilter(includeSilent: isSilent), view: view, limit: 7)
                repeat {
                    let page = try store.inbox(of: user, query, asOf: moment)
                    try expectSame(page, try replica.inbox(query), "inbox \(query)")
                    query.cursor = page.next
                } while query.cursor != nil
            }
        }
        for query in [
            InboxQuery(ItemFilter(onlyUnread: true), limit: 100), InboxQuery(ItemFilter(onlyUnseen: true), limit: 100),
        ] {
            try expectSame(try store.inbox(of: user, query, asOf: moment), try replica.inbox(query), "\(query)")
        }
        let threads = try store.threads(of: user, limit: 100, cursor: nil, asOf: moment)
        try expectSame(threads, try replica.threads(limit: 100), "threads")
    }
}
