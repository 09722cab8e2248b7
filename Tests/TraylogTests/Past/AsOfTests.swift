import Testing
import TestSupport
@_spi(Operations) @testable import Traylog
@testable import TraylogDomain

/// Any query can be put to a moment of the past, and gets the answer that it had then.
@Suite struct AsOfTests {
    /// Every answer about ann, for comparison with the earlier one.
    private struct Answers: Equatable {
        var tray: Tray
        var inbox: Page<Item, Cursor>
        var archived: [Item]
        var snoozed: [Item]
        var threads: Page<ThreadGroup, Cursor>
        var history: [Event]
        var log: [Event]
        var users: [String]

        init(_ queries: any BlockingQueries, asOf: Moment?) throws {
            tray = try queries.tray(of: "ann", asOf: asOf)
            inbox = try queries.inbox(of: "ann", InboxQuery(ItemFilter(includeSilent: true), limit: 5), asOf: asOf)
            archived = try queries.inbox(of: "ann", InboxQuery(view: .archived), asOf: asOf).elements
            snoozed = try queries.inbox(of: "ann", InboxQuery(view: .snoozed), asOf: asOf).elements
            threads = try queries.threads(of: "ann", limit: 2, asOf: asOf)
            history = try queries.history(of: "ann", limit: .max, asOf: asOf).elements
            log = try queries.events(limit: .max, asOf: asOf).elements
            users = try queries.users(limit: .max, asOf: asOf).elements
        }
    }

    /// A little of everything, an event each.
    private static let steps: [(user: String?, action: Command.Action)] = [
        ("bob", .notify(Content(title: "Not hers"))), ("ann", .notify(Content(thread: "t", category: "c", title: "1"))),
        ("ann", .subscribe(topic: "news")), (nil, .broadcast(topic: "news", Content(thread: "t", title: "2"))),
        ("ann", .seeTray()), ("ann", .notify(Content(title: "3", isSilent: true))),
        ("ann", .snooze(.seq(2), until: .at(5))), (nil, .edit(.seq(4), title("2b"))), ("ann", .markAll(.read)),
        ("ann", .wake(.seq(2))), ("ann", .undo(event: 9)), ("ann", .mark(.archived, [.seq(4)])),
        ("cy", .notify(Content())), ("ann", .mute(.category("c"))), ("ann", .notify(Content(category: "c"))),
        ("ann", .undo(event: 5)), ("ann", .unsubscribe(topic: "news")), (nil, .broadcast(topic: "news", Content())),
        ("ann", .mark(.deleted, [.seq(2)])), (nil, .retract(.seq(4))), ("ann", .undo(event: 19)), ("ann", .seeTray()),
    ]

    @Test(arguments: StoreWay.allCases)
    func everyQueryAnswersAsItDidThen(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            var then = [try store.ask { try Answers($0, asOf: .seq(0)) }]
            for (user, action) in Self.steps {
                try store.act(user, action)
                then.append(try store.ask { try Answers($0, asOf: nil) })
                if then.count % 8 == 0 { store.close() }
            }
            #expect(then[0].tray == Tray(user: "ann", asOf: 0) && then[0].log.isEmpty && then[0].users.isEmpty)
            for seq in then.indices.shuffled() {
                #expect(try store.ask { try Answers($0, asOf: .seq(Seq(UInt64(seq)))) } == then[seq], "as of \(seq)")
            }
        }
    }

    @Test(arguments: StoreWay.allCases)
    func aTimeMeansTheLastEventRecordedByThen(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            // Those of one transaction are of the same time.
            for _ in 0..<6 { _ = try store.store.perform((0..<3).map { _ in notify("ann") }) }
            let times = try store.events(after: 0).map(\.recordedAt)
            for time in Set(times) {
                let last = try #require(times.lastIndex(of: time)) + 1
                let tray = try store.tray("ann", asOf: .time(time))
                #expect(tray.asOf == Seq(UInt64(last)) && tray.total == UInt64(last))
                let earlier = try store.tray("ann", asOf: .time(Timestamp(milliseconds: time.milliseconds - 1)))
                #expect(earlier.total == UInt64(times.firstIndex(of: time) ?? 0))
                #expect(try store.ask { try $0.seq(of: .time(time)) } == Seq(UInt64(last)))
            }
            for (time, seq) in [(Int64.min, Seq(0)), (0, 0), (.max, 18)] {
                #expect(try store.tray("ann", asOf: .time(.at(time))).asOf == seq)
                #expect(
                    try store.ask { try $0.history(of: "ann", limit: .max, asOf: .time(.at(time))).elements.count }
                        == Int(seq.rawValue))
                #expect(
                    try store.ask { try $0.events(limit: .max, asOf: .time(.at(time))).elements.count }
                        == Int(seq.rawValue))
                #expect(
                    try store.ask { try $0.users(limit: .max, asOf: .time(.at(time))).elements }
                        == (seq == 0 ? [] : ["ann"]))
            }
        }
    }

    @Test(arguments: StoreWay.allCases)
    func aSeqBeyondTheHeadIsRefusedByEveryQuery(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            try store.notify("ann")
            for seq in [Seq(2), Seq(.max)] {
                let refused = TraylogError.refused(.upToBeyondHead(seq, head: 1, field: "asOf"))
                try store.ask { queries throws in
                    for user in ["ann", "nobody"] {
                        #expect(throws: refused) { try queries.tray(of: user, asOf: .seq(seq)) }
                        #expect(throws: refused) { try queries.inbox(of: user, asOf: .seq(seq)) }
                        #expect(throws: refused) { try queries.threads(of: user, asOf: .seq(seq)) }
                        #expect(throws: refused) {
                            try queries.history(of: user, limit: .max, asOf: .seq(seq)).elements
                        }
                    }
                    #expect(throws: refused) { try queries.events(limit: .max, asOf: .seq(seq)).elements }
                    #expect(throws: refused) { try queries.users(limit: .max, asOf: .seq(seq)).elements }
                    #expect(throws: refused) { try queries.seq(of: .seq(seq)) }
                    #expect(try queries.tray(of: "nobody", asOf: .seq(1)) == Tray(user: "nobody", asOf: 1))
                }
            }
        }
    }

    @Test(arguments: StoreWay.allCases)
    func beforeAnUndoTheUndoneEventShows(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            let items = try (0..<120).map { _ in try store.notify("ann") }
            let all = try store.act("ann", .markAll(.archived))
            try store.act("ann", .mark(.unarchived, [.seq(items[5])]))
            let undone = try store.act("ann", .undo(event: all))
            for _ in 0..<20 { try store.notify("ann") }
            #expect(try store.tray("ann", asOf: .seq(120)).total == 120)
            #expect(try store.tray("ann", asOf: .seq(all)).total == 0)
            #expect(try store.inbox("ann", asOf: .seq(122)) == [items[5]])
            #expect(try store.inbox("ann", InboxQuery(view: .archived, limit: 100), asOf: .seq(122)).count == 100)
            #expect(try store.tray("ann", asOf: .seq(undone)).total == 120)
            #expect(try store.tray("ann", asOf: .seq(140)).total == 137)
            #expect(try store.inbox("ann", asOf: .seq(all)).isEmpty)
        }
    }

    /// Pages of the past lie in versions that later flushes have written over.
    @Test(arguments: StoreWay.allCases)
    func asOfPagesAtEveryDepthMatchThatMoment(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            let items = try (0..<300).map { _ in try store.notify("ann") }
            for index in stride(from: 0, to: 300, by: 4) {
                try store.act("ann", .mark(.deleted, [.seq(items[index])]))
            }
            for marks in [0, 1, 30, 75] {
                let moment = Moment.seq(Seq(UInt64(300 + marks)))
                let deleted = Set(stride(from: 0, to: 4 * marks, by: 4).map { items[$0] })
                var (shown, cursor): ([Seq], Cursor?) = ([], nil)
                repeat {
                    let query = InboxQuery(limit: 40, cursor: cursor)
                    let page = try store.ask { try $0.inbox(of: "ann", query, asOf: moment) }
                    shown += page.elements.map(\.seq)
                    cursor = page.next
                } while cursor != nil
                #expect(shown == items.filter { !deleted.contains($0) }.reversed(), "after \(marks) marks")
            }
        }
    }

    @Test(arguments: StoreWay.allCases)
    func aUserWithOnlyBroadcastsHasAPast(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            try store.act("ann", .subscribe(topic: "news"))
            let items = try (0..<40).map { _ in try store.broadcast("news") }
            for item in items.prefix(10) { try store.act(nil, .retract(.seq(item))) }
            try store.act("ann", .unsubscribe(topic: "news"))
            try store.broadcast("news")
            #expect(try store.tray("ann").total == 30)
            for seq in [1, 2, 20, 41, 46, 51, 52, 53] {
                let expected = seq <= 41 ? seq - 1 : max(40 - (seq - 41), 30)
                #expect(try store.tray("ann", asOf: .seq(Seq(UInt64(seq)))).total == UInt64(expected), "as of \(seq)")
            }
        }
    }
}
