import Testing
import TestSupport
import TraylogPlatform
@_spi(Internals) @_spi(Operations) @testable import Traylog
@testable import TraylogChecks
@testable import TraylogDomain
@testable import TraylogWriter

/// One user with very much to store, fold or wake must not keep all others waiting: it is done in parts.
@Suite struct BusyUserTests {
    private static let future = Timestamp(milliseconds: 4_000_000_000_000)

    @Test func appendsComeBetweenTheTransactionsOfATick() throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store in
                _ = try store.perform((0..<1_200).map { _ in notify("busy") })
                _ = try store.perform(
                    (1...1_200).map {
                        Command(user: "busy", .snooze(.seq(Seq(UInt64($0))), until: Self.future))
                    })
                var run = TickRun(Self.future)
                var between: [Seq] = []
                while !run.isDone {
                    let last = run
                    run = try store.writer.perform { try $0.tick(last) }
                    between.append(try #require(try store.perform(notify("other")).seq))
                }
                #expect(run.report.woken == 1_200)
                // At least three transactions with due events, more on a slow machine, and one that finds nothing more.
                #expect(between.count >= 4)
                let events = try store.events(from: 2_401, limit: .max).elements
                #expect(events.filter { $0.user == "other" }.map(\.seq) == between)
                #expect(events.filter { $0.body.kind == .woken }.count == 1_200)
                #expect(between[0] < events.last { $0.body.kind == .woken }?.seq ?? .zero)
            }
            #expect(try replay(path).identical)
        }
    }

    @Test func aTimeThatIsSetDuringATickIsNotForgotten() throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store in
                _ = try store.perform((0..<600).map { _ in notify("busy") })
                _ = try store.perform(
                    (1...600).map { Command(user: "busy", .snooze(.seq(Seq(UInt64($0))), until: Self.future)) })
                let first = try store.writer.perform { try $0.tick(TickRun(Self.future)) }
                #expect(!first.isDone)
                let sooner = Timestamp(milliseconds: Self.future.milliseconds - 1_000)
                _ = try store.perform(Command(user: "busy", .snooze(.seq(1), until: sooner)))
                var run = first
                while !run.isDone {
                    let last = run
                    run = try store.writer.perform { try $0.tick(last) }
                }
                let nextDue = try store.writer.perform { $0.nextDue }
                #expect(nextDue == sooner)
                #expect(try store.tick(now: Self.future).woken == 1)
                let none = try store.writer.perform { $0.nextDue }
                #expect(none == nil)
            }
            #expect(try replay(path).identical)
        }
    }

    @Test func aLongChainIsFoldedAndStoredBeforeTheRoundEnds() throws {
        let rounds = sized(24, nightly: 40)
        try withStorePath { path in
            try withStore(path, options(tailEvents: 10_000_000, isRelaxed: true)) { store in
                let source = try #require(store.queries.source as? LiveSource)
                _ = try store.perform(notify("other"))
                for _ in 0..<rounds {
                    _ = try store.perform((0..<1_000).map { _ in notify("busy") })
                    source.memory.withLock { $0.store.checkInvariants() }
                }
                let waiting = source.memory.withLock { memory in
                    guard let stream = memory.store.directory[UserName("busy", memory.store.hasher)] else { return 0 }
                    return Int(memory.store.head.seq - memory.store.tail.first(of: stream.number))
                }
                #expect(waiting < 20_000)
                #expect(try store.tray(of: "busy").total == 1_000 * rounds)
                #expect(try store.tray(of: "other").total == 1)
            }
            #expect(try replay(path).identical)
            #expect(try findings(path).isEmpty)
        }
    }

    @Test func oneRequestWithALongChainIsStoredInParts() throws {
        try withStorePath { path in
            try withStore(path, options(tailEvents: 10_000_000, isRelaxed: true)) { store in
                let source = try #require(store.queries.source as? LiveSource)
                _ = try store.perform((0..<14_000).map { _ in notify("busy") })
                var lengths: [UInt64] = []
                for _ in 0..<15 {
                    _ = try store.perform(notify("other"))
                    lengths.append(
                        source.memory.withLock { memory in
                            let stream = memory.store.directory[UserName("busy", memory.store.hasher)]
                            let first = stream.map { memory.store.tail.first(of: $0.number) } ?? 0
                            return first == 0 ? 0 : 14_001 - first
                        })
                }
                #expect(lengths == (0..<14).reversed().map { $0 * 1_000 } + [0])
                #expect(try store.tray(of: "busy").total == 14_000)
            }
            #expect(try replay(path).identical)
        }
    }

    /// A mark may have a thousand items, so the clock is looked at after each; of events that need no state, after sixteen.
    @Test(arguments: [(true, 100), (false, 7)])
    func readersRunBetweenTheTurnsOfALargeRequest(marks: Bool, expected: Int) throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store in
                _ = try store.perform((0..<200).map { _ in notify("busy") })
                let source = try #require(store.queries.source as? LiveSource)
                let hasher = source.memory.withLock { $0.store.hasher }
                let commands = (1...100).map {
                    marks ? Command(user: "busy", .mark(.read, [.seq(Seq(UInt64($0)))])) : notify("busy")
                }
                let request = AppendRequest(PreparedCommands(commands, hasher: hasher), mode: .atomic) { _ in }
                let turns = try store.writer.perform { loop in
                    var decision = GroupDecision(limit: .max, directory: path, nanosecondsPerTurn: 0)
                    let (memory, now) = (loop.memory, loop.now)
                    decision.add([request], now: now)
                    try memory.withLock { try $0.begin(events: 100, now: now) }
                    var turns = 1
                    while !memory.withLock({ decision.proceed(&$0) }) {
                        turns += 1
                        // Nobody sees the decisions so far.
                        #expect(try store.tray(of: "busy").unread == 200)
                        #expect(try store.head() == 200)
                        memory.withLock { $0.store.checkInvariants() }
                    }
                    try loop.commit()
                    #expect(try decision.outcomes.map { try $0.get().count } == [100])
                    return turns
                }
                #expect(turns == expected)
                #expect(try store.tray(of: "busy").unread == (marks ? 100 : 300))
            }
            #expect(try replay(path).identical)
        }
    }

    @Test func aRequestThatIsRefusedAfterSomeTurnsLeavesNothing() throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store in
                _ = try store.perform((0..<200).map { _ in notify("busy") })
                let source = try #require(store.queries.source as? LiveSource)
                let hasher = source.memory.withLock { $0.store.hasher }
                let commands =
                    (1...100).map { Command(user: "busy", .mark(.read, [.seq(Seq(UInt64($0)))])) }
                    + [Command(user: "busy", .mark(.read, [.seq(1_000)]))]
                let refused = AppendRequest(PreparedCommands(commands, hasher: hasher), mode: .atomic) { _ in }
                let good = AppendRequest(
                    PreparedCommands([notify("other")], hasher: hasher), mode: .atomic
                ) { _ in }
                try store.writer.perform { loop in
                    var decision = GroupDecision(limit: .max, directory: path, nanosecondsPerTurn: 0)
                    let (memory, now) = (loop.memory, loop.now)
                    decision.add([refused, good], now: now)
                    try memory.withLock { try $0.begin(events: 102, now: now) }
                    while !memory.withLock({ decision.proceed(&$0) }) {}
                    try loop.commit()
                    #expect(decision.outcomes.count == 2)
                }
                #expect(try store.head() == 201)
                #expect(try store.tray(of: "busy").unread == 200)
                #expect(try store.tray(of: "other").unread == 1)
                try store.checkInvariants()
            }
            #expect(try replay(path).identical)
        }
    }

    @Test(arguments: [false, true])
    func aLongChainThatWasTakenBackLeavesNothingToStore(isKnown: Bool) throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store in
                if isKnown { _ = try store.perform(notify("busy")) }
                let tooMuch =
                    (0..<9_000).map { _ in notify("busy") } + [Command(user: "busy", .mark(.read, [.seq(1_000_000)]))]
                #expect(throws: TraylogError.self) { try store.perform(tooMuch) }
                let source = try #require(store.queries.source as? LiveSource)
                for _ in 0..<3 {
                    _ = try store.perform(notify("other"))
                    let long = source.memory.withLock { memory in
                        memory.store.checkInvariants()
                        return memory.store.tail.long
                    }
                    #expect(long.isEmpty)
                }
                #expect(try store.tray(of: "busy").total == (isKnown ? 1 : 0))
                #expect(try store.tray(of: "other").total == 3)
            }
            #expect(try replay(path).identical)
        }
    }

    /// Users in each transaction never have all of their events stored.
    @Test func busyUsersKeepTheTailFromNothing() throws {
        try withStorePath { path in
            try withStore(path, options(tailEvents: 12_000, isRelaxed: true)) { store in
                _ = try store.perform((0..<27_000).map { notify("busy-\($0 % 3)") })
                var (unflushed, roundsEnded) = (UInt64(0), 0)
                for round in 0..<sized(50, nightly: 80) {
                    _ = try store.perform(
                        (0..<60).map { notify("user-\(round % 9)-\($0)") } + (0..<540).map { notify("busy-\($0 % 3)") })
                    let before = unflushed
                    unflushed = try store.statistics().unflushed
                    if unflushed < before { roundsEnded += 1 }
                }
                #expect(roundsEnded > 0, "nothing was ever stored to its end")
                try store.checkInvariants()
            }
            #expect(try replay(path).identical)
        }
    }

    @Test func aTrayOfManyCategoriesIsAnsweredAndKept() throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store in
                let source = try #require(store.queries.source as? LiveSource)
                func content(_ number: Int) -> Content {
                    Content(category: "category-\(number)", title: "Title")
                }
                _ = try store.perform((0..<3_000).map { Command(user: "busy", .notify(content($0))) })
                let tray = try store.tray(of: "busy")
                #expect(tray.categories.count == 3_000 && tray.unread == 3_000)
                let turns = source.memory.withLock { $0.sections }
                #expect(try store.tray(of: "busy") == tray)
                // Once by the query, once here.
                #expect(source.memory.withLock { $0.sections } == turns + 2)
                _ = try store.perform(Command(user: "busy", .markAll(.read, ItemFilter(category: "category-7"))))
                #expect(try store.tray(of: "busy").unread == 2_999)
            }
            #expect(try replay(path).identical)
        }
    }

    @Test func aUserWithManyTopicsReceivesEachBroadcast() throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store in
                _ = try store.perform(Command(user: nil, .broadcast(topic: "topic-5", Content(title: "Too early"))))
                _ = try store.perform((0..<2_000).map { Command(user: "busy", .subscribe(topic: "topic-\($0)")) })
                for topic in [5, 1_999, 0, 5] {
                    _ = try store.perform(
                        Command(user: nil, .broadcast(topic: "topic-\(topic)", Content(title: "News"))))
                    _ = try store.perform(notify("busy"))
                }
                _ = try store.perform(Command(user: "busy", .unsubscribe(topic: "topic-5")))
                _ = try store.perform(Command(user: nil, .broadcast(topic: "topic-5", Content(title: "Too late"))))
                #expect(try store.tray(of: "busy").total == 8)
                let seqs = try store.inbox(of: "busy").elements.map(\.seq.rawValue)
                #expect(seqs == seqs.sorted(by: >))
            }
            #expect(try replay(path).identical)
            let total = try withReader(path) { try $0.tray(of: "busy").total }
            #expect(total == 8)
        }
    }
}
