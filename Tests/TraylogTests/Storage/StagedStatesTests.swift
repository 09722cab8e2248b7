import Testing
import TestSupport
import TraylogLMDB
import TraylogPages
@_spi(Operations) @testable import Traylog
@testable import TraylogDomain
@testable import TraylogRewrite
@testable import TraylogStates
@testable import TraylogWriter

/// States that come into the file in parts: the file is whole after each of them.
@Suite struct StagedStatesTests {
    private static let items: UInt64 = sized(700, nightly: 3_000)

    private static var settings: StoreOptions {
        var settings = options(tailEvents: 600, isRelaxed: true)
        settings.landmarkDistance = 40
        settings.stagedPages = 4
        return settings
    }

    /// A user with many items, in a store whose states are all stored.
    private static func fill(_ path: String) throws {
        try withStore(path, settings) { store in
            _ = try store.perform(
                (0..<items).map { number in
                    Command(
                        user: "ann",
                        .notify(Content(thread: "t\(number % 90)", category: "c\(number % 7)", title: "Hi")))
                })
        }
    }

    private static func change(_ random: inout SeededRandom) -> Command.Action {
        switch random.below(10) {
        case 0: .markAll(.read, ItemFilter(thread: .named("t\(random.below(90))")))
        case 1: .markAll(.archived, ItemFilter(category: "c\(random.below(7))"))
        case 2: .snooze(.seq(Seq(random.next() % items + 1)), until: Timestamp(milliseconds: 4_000_000_000_000))
        default:
            .mark(
                random.pick([Mark.read, .unread, .archived, .deleted, .restored]),
                Array(Set((0..<(1 + random.below(40))).map { _ in ItemReference.seq(Seq(random.next() % items + 1)) })))
        }
    }

    private static func staged(_ path: String) throws -> StagedStream? {
        var staged: StagedStream?
        try RawStore.change(path) { staged = try $0.record.states.staged }
        return staged
    }

    /// Answers that need pages of every kind.
    private struct Answers: Equatable {
        var tray: Tray
        var past: Tray
        var inbox: [Item]
        var archived: [Item]

        init(_ store: some BlockingQueries, asOf seq: UInt64) throws {
            tray = try store.tray(of: "ann")
            past = try store.tray(of: "ann", asOf: .seq(Seq(seq)))
            inbox = try store.inbox(of: "ann", InboxQuery(limit: 100)).elements
            archived = try store.inbox(of: "ann", InboxQuery(view: .archived, limit: 100)).elements
        }
    }

    /// Copies of a store in which states are stored in parts all the time, at many moments.
    private static func forEachCopy(
        seed: UInt64, steps: Int,
        _ body: (_ copy: String, _ staged: StagedStream?, Answers, _ past: UInt64) throws -> Void
    ) throws {
        var random = SeededRandom(seed: seed)
        try withStorePath { path in
            try fill(path)
            var marks: [Seq] = []
            try withStore(path, settings) { store in
                for step in 0..<steps {
                    if let last = marks.last, random.below(8) == 0 {
                        marks.removeLast()
                        _ = try? store.perform(Command(user: "ann", .undo(event: last)))
                    } else if let receipt = try? store.perform(Command(user: "ann", change(&random))) {
                        // Items may be gone.
                        marks += [receipt.seq].compactMap { $0 }
                    }
                    for _ in 0..<random.below(6) { _ = try store.perform(notify("bob")) }
                    guard step.isMultiple(of: 5) else { continue }
                    let copy = path + "-copy-\(step)"
                    _ = try store.backup(to: copy)
                    let past = max(1, try store.head().rawValue - UInt64(random.below(60)))
                    try body(copy, staged(copy), Answers(store, asOf: past), past)
                }
            }
            #expect(try replay(path).identical)
            let left = try staged(path)
            #expect(left == nil)
        }
    }

    @Test(arguments: 1...sized(1, nightly: 12) as ClosedRange<UInt64>)
    func aFileIsWholeAfterEachPartOfAStagedState(
        seed: UInt64
    ) throws {
        var phases: Set<Bool?> = []
        try Self.forEachCopy(seed: seed, steps: sized(30, nightly: 300)) { copy, staged, expected, past in
            phases.insert(staged?.isInForce)
            let read = try withReader(copy) { try Answers($0, asOf: past) }
            #expect(read == expected)
            let report = try replay(copy)
            #expect(report.identical, "\(report.differences)")
            #expect(try findings(copy) == [])
            if past.isMultiple(of: 3) {
                #expect(try replay(copy, rebuild: true).identical)
                let left = try Self.staged(copy)
                #expect(left == nil)
            }
            // The next process goes on, or takes back what nobody has seen.
            let opened = try withStore(copy, Self.settings) { try Answers($0, asOf: past) }
            #expect(opened == expected)
            let left = try Self.staged(copy)
            #expect(left == nil)
            #expect(try replay(copy).identical)
            let after = try withReader(copy) { try Answers($0, asOf: past) }
            #expect(after == expected)
        }
        #expect(phases.isSuperset(of: [true, false]), "no copy was made between two parts")
    }

    @Test func aDamagedStagedStateIsMadeAnewFromTheLog() throws {
        var damaged = 0
        // When a part is stored is up to the flush thread, so one history may show too few of them.
        for seed in 3..<13 where damaged < 2 {
            try Self.forEachCopy(seed: UInt64(seed), steps: sized(60, nightly: 300)) { copy, staged, expected, past in
                guard let staged, staged.isInForce else { return }
                try RawStore.change(copy) { store in
                    let states = store.tables.derived.states
                    let waiting = try store.environment.read { transaction in
                        try states.stagedPages(of: staged.stream, in: transaction).last { page in
                            try page.changedBy > 0 && states.version(page, of: staged.stream, in: transaction) != nil
                        }
                    }
                    guard let waiting else { return }
                    damaged += 1
                    if damaged.isMultiple(of: 2) {
                        return try store.change(store.states, StateTable.key(staged.stream, .staged, 0)) { $0[0] ^= 1 }
                    }
                    var key = StateTable.key(staged.stream, .kept(waiting.space), waiting.first)
                    StateTable.append(waiting.changedBy, to: &key)
                    try store.change(store.states, key) { $0[0] ^= 1 }
                }
                let opened = try withStore(copy, Self.settings) { try $0.tray(of: "ann") }
                #expect(opened == expected.tray)
                let report = try replay(copy)
                #expect(report.identical, "\(report.differences)")
            }
        }
        #expect(damaged > 1, "no copy had a version that waited for its place")
    }

    @Test func aCompactionWaitsForTheLastPartOfAStagedState() throws {
        try withStorePath { path in
            try Self.fill(path)
            var random = SeededRandom(seed: 4)
            try withStore(path, Self.settings) { store in
                for round in 1...4 {
                    for _ in 0..<12 { _ = try? store.perform(Command(user: "ann", Self.change(&random))) }
                    let before = try Answers(store, asOf: try store.head().rawValue)
                    _ = try store.compact(before: .seq(Seq(UInt64(round * 100))))
                    #expect(try store.inbox(of: "ann", InboxQuery(limit: 100)).elements == before.inbox)
                }
            }
            #expect(try replay(path).identical)
        }
    }
}
