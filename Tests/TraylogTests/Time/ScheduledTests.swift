import TestSupport
import Testing
@_spi(Operations) @_spi(Replication) @testable import Traylog
@testable import TraylogDomain
@_spi(Replication) @testable import TraylogReplica
@testable import TraylogWriter

/// What is notified or broadcast for later is nobody's before its time, and like any other item from then on.
@Suite struct ScheduledTests {
    /// A time that no clock of a test reaches, and so many milliseconds after it.
    private static func time(_ milliseconds: Int64) -> Timestamp { .at(4_000_000_000_000 + milliseconds) }

    private static func content(_ title: String = "Later", at time: Int64 = 10, thread: String? = nil) -> Content {
        Content(thread: thread, category: "c", title: title, notBefore: Self.time(time))
    }

    @Test(arguments: StoreWay.allCases)
    func nobodySeesWhatHasNotArrived(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            let item = try store.notify("ann", Self.content(thread: "t"), key: "k")
            let everything = InboxQuery(ItemFilter(includeSilent: true), limit: 100)
            #expect(try store.tick(4_000_000_000_009) == TickReport(head: item))
            #expect(try store.tray("ann").total == 0 && store.tray("ann").newest == nil)
            #expect(try store.inbox("ann", everything).isEmpty)
            #expect(try store.inbox("ann", InboxQuery(ItemFilter(text: "later"))).isEmpty)
            #expect(try store.ask { try $0.threads(of: "ann").elements }.isEmpty)
            for reference in [ItemReference.seq(item), .key("k")] {
                let unknown = Refusal.unknownItem(reference)
                #expect(try store.refusal("ann", .mark(.read, [reference])) == unknown)
                #expect(try store.refusal("ann", .snooze(reference, until: Self.time(0))) == unknown)
                #expect(try store.refusal("ann", .act(reference, action: "a")) == unknown)
                #expect(throws: TraylogError.refused(unknown)) { try store.ask { try $0.item(reference, of: "ann") } }
            }
            #expect(try store.receipt("ann", .seeTray()) == .unchanged)
            try store.act("ann", .markAll(.read))
            try store.act("ann", .markAll(.deleted))
            #expect(try store.tick(4_000_000_000_010) == TickReport(arrived: 1, head: 4))
            let shown = try #require(try store.items("ann").first)
            #expect(shown.seq == item && shown.position == 4 && !shown.isRead && !shown.isSeen && shown.key == "k")
            let events = try store.events(after: 0)
            #expect(shown.recordedAt == events[0].recordedAt && shown.arrivedAt == events[3].recordedAt)
            #expect(shown.content == Content(thread: "t", category: "c", title: "Later"))
            #expect(try store.tray("ann").unread == 1)
            #expect(try store.tray("ann", asOf: .seq(3)).total == 0)
            try store.act("ann", .mark(.read, [.key("k")]))
        }
    }

    @Test(arguments: StoreWay.allCases)
    func itsPublisherFindsItAndCanChangeItAndTakeItBack(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            let first = try store.notify("ann", Self.content("First", at: 30))
            let second = try store.notify("bob", Self.content("Second", at: 20), key: "k")
            let all = try store.broadcast("news", Self.content("All", at: 20))
            let gone = try store.notify("ann", Self.content("Gone", at: 5))
            try store.act("ann", .retract(.seq(gone)))
            try store.act("bob", .edit(.key("k"), ContentEdit(title: .set("New"), notBefore: .set(Self.time(40)))))
            try store.act(nil, .edit(.seq(all), ContentEdit(title: .set("All of you"))))
            let found = try store.ask { try $0.scheduled().elements }
            #expect(found.map(\.seq) == [all, first, second])
            #expect(found.map(\.title) == ["All of you", "First", "New"])
            #expect(found.map(\.user) == [nil, "ann", "bob"] && found.map(\.topic) == ["news", nil, nil])
            #expect(found.map(\.notBefore) == [Self.time(20), Self.time(30), Self.time(40)])
            #expect(try store.ask { try $0.scheduled(of: "ann").elements.map(\.seq) } == [first])
            #expect(try store.ask { try $0.scheduled(of: "nobody").elements }.isEmpty)
            var (pages, next): ([Seq], String?) = ([], nil)
            repeat {
                let page = try store.ask { try $0.scheduled(after: next, limit: 1) }
                pages += page.elements.map(\.seq)
                next = page.next
            } while next != nil
            #expect(pages == [all, first, second])
            for cursor in ["", "1", "1.x", "9223372036854775808.1", "1.18446744073709551616", "1.2.3"] {
                #expect(throws: TraylogError.self) { try store.ask { try $0.scheduled(after: cursor) } }
            }
            // Until now nobody knew of the edit of another's item.
            #expect(
                try store.refusal("ann", .edit(.seq(second), ContentEdit(title: .set("x"))))
                    == .unknownItem(.seq(second)))
            #expect(try store.tick(4_000_000_000_030).arrived == 2)
            #expect(try store.ask { try $0.scheduled().elements.map(\.seq) } == [second])
            #expect(try store.inbox("ann") == [first])
            #expect(
                try store.refusal("ann", .edit(.seq(first), ContentEdit(notBefore: .set(Self.time(90)))))?.code
                    == .invalid)
        }
    }

    @Test(arguments: StoreWay.allCases)
    func aBroadcastReachesThoseWhoAreSubscribedWhenItArrives(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            for user in ["ann", "bob"] { try store.act(user, .subscribe(topic: "news")) }
            let item = try store.broadcast("news", Self.content("Old", thread: "t"), key: "b")
            try store.act("bob", .unsubscribe(topic: "news"))
            try store.act(nil, .edit(.seq(item), ContentEdit(title: .set("New"), level: .set(.critical))))
            try store.act("cy", .subscribe(topic: "news"))
            try store.act("cy", .mute(.thread("t")))
            #expect(try store.ask { try $0.audience(of: item).recipients } == 0)
            #expect(try store.tick(4_000_000_000_010).arrived == 1)
            let arrival = try store.store.head()
            #expect(try store.inbox("bob").isEmpty)
            for user in ["ann", "cy"] {
                let shown = try #require(try store.items(user).first)
                #expect(shown.seq == item && shown.position == arrival && shown.topic == "news" && shown.key == "b")
                #expect(shown.content.title == "New" && shown.content.level == .critical)
                #expect(shown.isMuted == (user == "cy"))
            }
            #expect(try store.ask { try $0.audience(of: item).recipients } == 2)
            try store.act(nil, .edit(.seq(item), ContentEdit(title: .set("Newer"))))
            #expect(try store.items("cy").first?.content.title == "Newer")
            try store.act(nil, .retract(.seq(item)))
            #expect(try store.inbox("cy").isEmpty)
        }
    }

    @Test(arguments: StoreWay.allCases)
    func arrivalsComeFirstAtEqualTimesAndInTheirOrderOtherwise(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            try store.act("ann", .mute(.category("c"), until: Self.time(20)))
            let expiring = try store.notify("ann", Content(expiresAt: Self.time(20)))
            let early = try store.notify("ann", Content(expiresAt: Self.time(15)))
            let late = try store.notify("ann", Self.content(at: 21))
            let short = try store.notify(
                "ann", Content(expiresAt: Self.time(17), remindAt: Self.time(16), notBefore: Self.time(12)))
            let item = try store.notify("ann", Self.content(at: 20))
            let head = try store.store.head()
            #expect(try store.tick(4_000_000_000_020) == TickReport(arrived: 2, expired: 3, unmuted: 1, head: head + 6))
            #expect(
                try store.events(after: head).map(\.kind) == [
                    .arrived, .expired, .expired, .arrived, .expired, .unmuted,
                ])
            #expect(
                try store.events(after: head).compactMap { event -> Seq? in
                    switch event.body {
                    case .arrived(let item, _, _, _, _), .expired(let item): item
                    default: nil
                    }
                } == [short, early, short, item, expiring])
            #expect(try store.items("ann").map(\.seq) == [item] && store.items("ann")[0].isMuted)
            #expect(try store.tick(4_000_000_000_021).arrived == 1)
            #expect(try store.items("ann").map(\.seq) == [late, item] && !store.items("ann")[0].isMuted)
        }
    }

    @Test(arguments: StoreWay.allCases)
    func aCollapseKeyWorksAmongWhatIsPlannedAndWhenItArrives(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            func planned(_ time: Int64) -> Content {
                Content(title: "\(time)", notBefore: Self.time(time), collapseKey: "k")
            }
            let live = try store.notify("ann", Content(title: "Live", collapseKey: "k"))
            let first = try store.notify("ann", planned(10))
            #expect(try store.inbox("ann") == [live])
            let second = try store.notify("ann", planned(20))
            #expect(try store.ask { try $0.scheduled().elements.map(\.seq) } == [second])
            #expect(try store.inbox("ann") == [live])
            #expect(try store.refusal("ann", .retract(.seq(first))) == .itemGone(first))
            #expect(try store.tick(4_000_000_000_020).arrived == 1)
            #expect(try store.inbox("ann") == [second])
            let third = try store.notify("ann", planned(30))
            let now = try store.notify("ann", Content(title: "Now", collapseKey: "k"))
            #expect(try store.inbox("ann") == [now])
            #expect(try store.refusal("ann", .retract(.seq(third))) == .itemGone(third))
            #expect(try store.tick(4_000_000_000_030).arrived == 0)
        }
    }

    @Test(arguments: StoreWay.allCases)
    func aTimeThatHasComeIsAsIfItWereNotGiven(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            try store.act("ann", .subscribe(topic: "news"))
            let item = try store.notify(
                "ann", Content(title: "Now", expiresAt: Self.time(0), notBefore: .at(0)), key: "k")
            let other = try store.broadcast("news", Content(title: "To all", notBefore: .at(0)))
            #expect(try store.inbox("ann") == [other, item])
            let shown = try store.items("ann")
            #expect(shown.allSatisfy { $0.arrivedAt == nil && $0.position == $0.seq && $0.content.notBefore == nil })
            #expect(
                try store.receipt(
                    "ann", .notify(Content(title: "Now", expiresAt: Self.time(0), notBefore: .at(0))), key: "k")
                    == .duplicate(item))
            #expect(try store.tick(4_000_000_000_000).expired == 1)
            for wrong in [
                Content(expiresAt: Self.time(5), notBefore: Self.time(5)),
                Content(remindAt: Self.time(4), notBefore: Self.time(5)),
            ] {
                #expect(try store.refusal("ann", .notify(wrong))?.code == .invalid)
                #expect(try store.refusal(nil, .broadcast(topic: "news", wrong))?.code == .invalid)
            }
            let later = try store.notify("ann", Content(expiresAt: Self.time(50), notBefore: Self.time(5)))
            func refusal(_ edit: ContentEdit) throws -> Refusal.Code? {
                try store.refusal("ann", .edit(.seq(later), edit))?.code
            }
            #expect(try refusal(ContentEdit(notBefore: .set(Self.time(50)))) == .invalid)
            #expect(try refusal(ContentEdit(expiresAt: .set(Self.time(5)))) == .invalid)
            #expect(try refusal(ContentEdit(notBefore: .clear)) == .invalid)
            try store.act("ann", .edit(.seq(later), ContentEdit(notBefore: .set(.at(1)))))
            #expect(try store.tick(2).arrived == 1)
        }
    }

    @Test(arguments: StoreWay.allCases)
    func anAnswerFromBeforeTheArrivalIsRefused(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            let actions = [ItemAction(id: "yes", label: "Yes")]
            let item = try store.notify("ann", Content(title: "1?", notBefore: Self.time(10), actions: actions))
            try store.act("ann", .edit(.seq(item), ContentEdit(title: .set("2?"))))
            #expect(try store.tick(4_000_000_000_010).arrived == 1)
            let arrival = try store.store.head()
            #expect(
                try store.refusal("ann", .act(.seq(item), action: "yes", asOf: item))
                    == .changedSince(item, asOf: item, edited: arrival))
            try store.act("ann", .edit(.seq(item), ContentEdit(title: .set("3?"))))
            try store.act("ann", .act(.seq(item), action: "yes", asOf: arrival + 1))
            #expect(try store.items("ann").first?.outcome?.asOf == arrival + 1)
            let statement = try #require(try store.ask { try $0.decision(on: .seq(item), by: "ann").statement })
            #expect(statement.content.title == "3?" && statement.item == item)
        }
    }
}
