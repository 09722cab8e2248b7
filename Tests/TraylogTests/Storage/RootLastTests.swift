import Testing
import TestSupport
import TraylogLMDB
@_spi(Operations) @testable import Traylog
@testable import TraylogDomain
@testable import TraylogRewrite
@testable import TraylogStates
@testable import TraylogWriter

/// The root of a state is written behind its pages: the file is whole, wherever a writer ends between two transactions.
@Suite struct RootLastTests {
    private static let items: UInt64 = sized(700, nightly: 3_000)

    private static func settings(cacheBytes: Int? = nil) -> StoreOptions {
        var settings = options(tailEvents: 600, isRelaxed: true)
        settings.landmarkDistance = 40
        settings.pagesAtOnce = 4
        if let cacheBytes { settings.cacheBytes = cacheBytes }
        return settings
    }

    /// A user with many items, in a store whose states are all stored.
    private static func fill(_ path: String) throws {
        try withStore(path, settings()) { store in
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

    /// The keys of the user's pages that are newer than the stored root.
    private static func ahead(_ path: String) throws -> [[UInt8]] {
        var ahead: [[UInt8]] = []
        try RawStore.change(path) { store in
            let (names, states) = (store.tables.derived.names, store.tables.derived.states)
            ahead = try store.environment.read { transaction in
                guard let stream = try names.stream(of: "ann", in: transaction) else { return [] }
                let root = try states.root(stream, in: transaction)?.state.appliedSeq ?? 0
                return try states.keys(stream, after: root, in: transaction)
                    .filter { $0.count == StateTable.pageKeyBytes }
            }
        }
        return ahead
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
    ///
    /// - Parameter isNew: whether nothing of the user is stored at first.
    private static func forEachCopy(
        seed: UInt64, steps: Int, cacheBytes: Int? = nil, isNew: Bool = false,
        _ body: (_ copy: String, _ ahead: [[UInt8]], Answers, _ past: UInt64) throws -> Void
    ) throws {
        var random = SeededRandom(seed: seed)
        try withStorePath { path in
            if !isNew { try fill(path) }
            var marks: [Seq] = []
            try withStore(path, settings(cacheBytes: cacheBytes)) { store in
                for step in 0..<steps {
                    if isNew {
                        _ = try store.perform((0..<90).map { notify("ann", "\(step) \($0)", key: "\(step) \($0)") })
                    }
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
                    try body(copy, ahead(copy), Answers(store, asOf: past), past)
                }
            }
            #expect(try replay(path).identical)
            #expect(try ahead(path) == [])
        }
    }

    @Test(arguments: 1...sized(1, nightly: 12) as ClosedRange<UInt64>, [(nil, false), (1, false), (nil, true)])
    func aFileIsWholeWhereverTheRowsOfAStateAreCut(seed: UInt64, of kind: (cacheBytes: Int?, isNew: Bool)) throws {
        let (cacheBytes, isNew) = kind
        var cuts: Set<Bool> = []
        try Self.forEachCopy(seed: seed, steps: sized(30, nightly: 300), cacheBytes: cacheBytes, isNew: isNew) {
            copy, ahead, expected, past in
            cuts.insert(!ahead.isEmpty)
            let read = try withReader(copy) { try Answers($0, asOf: past) }
            #expect(read == expected)
            let report = try replay(copy)
            #expect(report.identical, "\(report.differences)")
            #expect(try findings(copy) == [])
            if past.isMultiple(of: 3) {
                #expect(try replay(copy, rebuild: true).identical)
                #expect(try Self.ahead(copy) == [])
            }
            // The next process writes the same again.
            let opened = try withStore(copy, Self.settings(cacheBytes: cacheBytes)) { try Answers($0, asOf: past) }
            #expect(opened == expected)
            #expect(try Self.ahead(copy) == [])
            #expect(try replay(copy).identical)
            let after = try withReader(copy) { try Answers($0, asOf: past) }
            #expect(after == expected)
        }
        // Parts of a new state are few, and the flush thread may be slow.
        #expect(isNew || cuts == [false, true], "no copy was made between two parts")
    }

    @Test func aDamagedPageBeforeItsRootIsMadeAnewFromTheLog() throws {
        var damaged = 0
        // When a part is stored is up to the flush thread, so one history may show too few of them.
        for seed in 3..<13 where damaged < 2 {
            try Self.forEachCopy(seed: UInt64(seed), steps: sized(60, nightly: 300)) { copy, ahead, expected, past in
                guard let page = ahead.randomElement() else { return }
                damaged += 1
                try RawStore.change(copy) { try $0.change($0.states, page) { $0[0] ^= 1 } }
                let opened = try withStore(copy, Self.settings()) { try Answers($0, asOf: past) }
                #expect(opened == expected)
                let report = try replay(copy)
                #expect(report.identical, "\(report.differences)")
            }
        }
        #expect(damaged > 1, "no copy had a page before its root")
    }

    @Test func aCompactionBetweenTwoPartsKeepsEverything() throws {
        try withStorePath { path in
            try Self.fill(path)
            var random = SeededRandom(seed: 4)
            try withStore(path, Self.settings()) { store in
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

    /// The versions of the user's pages by space and first.
    private static func versions(_ path: String) throws -> [[UInt8]: Int] {
        var versions: [[UInt8]: Int] = [:]
        try RawStore.change(path) { store in
            let stream = try store.stream(of: "ann")
            let keys = try store.environment.read {
                try store.tables.derived.states.keys(stream, after: 0, in: $0)
            }
            for key in keys where key.count == StateTable.pageKeyBytes { versions[Array(key[4..<13]), default: 0] += 1 }
        }
        return versions
    }

    @Test(arguments: [4, 512]) func onlyLandmarksKeepWhatAPageWas(pagesAtOnce: Int) throws {
        for (distance, most) in [(1_000_000, 1), (100, 30)] as [(UInt64, Int)] {
            try withStorePath { path in
                var settings = Self.settings()
                (settings.landmarkDistance, settings.pagesAtOnce) = (distance, pagesAtOnce)
                var random = SeededRandom(seed: 7)
                for round in 0..<20 {
                    // Everything is stored when it closes.
                    try withStore(path, settings) { store in
                        if round == 0 {
                            _ = try store.perform((0..<Self.items).map { notify("ann", "\($0)", key: "\($0)") })
                        }
                        _ = try? store.perform(Command(user: "ann", Self.change(&random)))
                        _ = try store.perform((0..<10).map { notify("ann", "\(round)", key: "\(round)-\($0)") })
                    }
                }
                let versions = try Self.versions(path)
                #expect(versions.count > 10)
                #expect(versions.values.max() ?? 0 <= most, "\(versions)")
                if most > 1 { #expect(versions.values.max() ?? 0 > 1) }
                // Keys answer for commands, which are decided at the head.
                #expect(versions.filter { $0.key[0] == PageSpace.keys.rawValue }.values.allSatisfy { $0 == 1 })
                #expect(try replay(path).identical)
            }
        }
    }

    @Test func aPageThatAnUndoEndsStaysEnded() throws {
        var ends = 0
        for seed in 1...4 as ClosedRange<UInt64> {
            try withStorePath { path in
                var random = SeededRandom(seed: seed)
                func notifyMany(_ store: Store) throws {
                    let commands = (0..<400).map { _ in
                        let (thread, category) = (random.below(200), random.below(7))
                        return Command(
                            user: "ann", .notify(Content(thread: "t\(thread)", category: "c\(category)", title: "Hi")))
                    }
                    _ = try store.perform(commands)
                }
                var mark: Seq?
                try withStore(path, Self.settings()) { store in
                    try notifyMany(store)
                    mark = try store.perform(Command(user: "ann", .markAll(.deleted))).seq
                    // Without the mark there would be other pages of tallies.
                    try notifyMany(store)
                }
                try withStore(path, Self.settings()) { store in
                    _ = try store.perform(Command(user: "ann", .undo(event: #require(mark))))
                }
                try RawStore.change(path) { store in
                    let (states, stream) = (store.tables.derived.states, try store.stream(of: "ann"))
                    try store.environment.read { transaction in
                        try states.forEachVersion(stream, .tallies, in: transaction) {
                            if $0.content.isEmpty { ends += 1 }
                            return true
                        }
                    }
                }
                try withStore(path, Self.settings()) { store in
                    for thread in 0..<200 {
                        let filter = ItemFilter(thread: .named("t\(thread)"))
                        _ = try store.perform(Command(user: "ann", .markAll(.archived, filter)))
                    }
                    #expect(try store.tray(of: "ann").total == 0)
                }
                let report = try replay(path)
                #expect(report.identical, "\(report.differences)")
            }
        }
        #expect(ends > 0)
    }

    @Test func aDamagedOldVersionCostsNoAnswer() throws {
        try withStorePath { path in
            try Self.fill(path)
            var random = SeededRandom(seed: 11)
            var expected: Answers?
            var past: UInt64 = 0
            try withStore(path, Self.settings()) { store in
                for _ in 0..<60 { _ = try? store.perform(Command(user: "ann", Self.change(&random))) }
                past = try store.head().rawValue - 30
                expected = try Answers(store, asOf: past)
            }
            var damaged = 0
            for (page, count) in try Self.versions(path) where count > 1 && page[0] == PageSpace.items.rawValue {
                try RawStore.change(path) { store in
                    let key = try store.environment.read { transaction in
                        try store.tables.derived.states.keys(store.stream(of: "ann"), after: 0, in: transaction)
                            .first { Array($0[4..<13]) == page }
                    }
                    try store.change(store.states, #require(key)) { $0[$0.count / 2] ^= 1 }
                }
                damaged += 1
                let read = try withReader(path) { try Answers($0, asOf: past) }
                #expect(read == expected)
                let opened = try withStore(path, Self.settings()) { try Answers($0, asOf: past) }
                #expect(opened == expected)
            }
            #expect(damaged > 2)
            #expect(try findings(path) != [])
            #expect(try replay(path, rebuild: true).identical)
            #expect(try findings(path) == [])
        }
    }
}
