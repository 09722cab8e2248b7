import Testing
import TestSupport
@_spi(Operations) @testable import Traylog
@testable import TraylogDomain
@testable import TraylogWriter

/// Mutes of everything, and mutes with an end.
@Suite struct QuietTimeTests {
    @Test(arguments: StoreWay.allCases)
    func aMuteOfEverythingLetsOnlyCriticalItemsCount(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            try store.act("ann", .subscribe(topic: "news"))
            try store.act("ann", .mute(.all))
            try store.notify("ann")
            try store.notify("ann", Content(thread: "t", level: .timeSensitive))
            try store.broadcast("news")
            #expect(try store.tray("ann").unread == 0)
            let critical = try store.notify("ann", Content(level: .critical))
            let shared = try store.broadcast("news", Content(level: .critical))
            #expect(try store.tray("ann").unread == 2)
            #expect(try store.items("ann").filter { !$0.isMuted }.map(\.seq) == [shared, critical])
            // The level at arrival counts, and other mutes stand beside it.
            var edit = ContentEdit()
            edit.level = .set(.passive)
            try store.act("ann", .edit(.seq(critical), edit))
            #expect(try store.tray("ann").unread == 2)
            try store.act("ann", .mute(.thread("t")))
            try store.notify("ann", Content(thread: "t", level: .critical))
            #expect(try store.tray("ann").unread == 2)
            try store.act("ann", .unmute(.all))
            #expect(try store.receipt("ann", .unmute(.all)) == .unchanged)
            try store.notify("ann", Content(thread: "t"))
            try store.notify("ann")
            #expect(try store.tray("ann").unread == 3 && store.tray("ann").total == 8)
        }
    }

    @Test(arguments: StoreWay.allCases)
    func anotherEndOfAMuteReplacesTheFirstAndTheMuteGoesOn(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            let began = try store.act("ann", .mute(.category("ci"), until: .at(10)))
            #expect(try store.receipt("ann", .mute(.category("ci"), until: .at(10))) == .unchanged)
            try store.act("ann", .mute(.category("ci"), until: .at(30)))
            #expect(try store.tick(20) == TickReport(head: 2))
            try store.act("ann", .mute(.category("ci")))
            #expect(try store.tick(1_000) == TickReport(head: 3))
            try store.act("ann", .mute(.category("ci"), until: .at(5)))
            let since = try store.events(after: .zero).first { $0.seq == began }?.recordedAt
            #expect(
                try store.ask { try $0.mutes(of: "ann") }
                    == Mutes(
                        user: "ann", asOf: 4,
                        mutes: [Mute(scope: .category("ci"), since: try #require(since), until: .at(5))]))
            #expect(try store.tick(5) == TickReport(unmuted: 1, head: 5))
            #expect(try store.events(after: 4).map(\.body) == [.unmuted(.category("ci"))])
            #expect(try store.ask { try $0.mutes(of: "ann") }.mutes.isEmpty)
            #expect(try store.ask { try $0.mutes(of: "ann", asOf: .seq(2)) }.mutes.map(\.until) == [.at(30)])
            // Muted again until a time that has come already: over at the next tick.
            try store.act("ann", .mute(.category("ci"), until: .at(5)))
            #expect(try store.tick(1_000) == TickReport(unmuted: 1, head: 7))
        }
    }

    @Test(arguments: StoreWay.allCases)
    func mutesEndByTimeAndThenInTheOrderInWhichTheyWereSet(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            try store.act("bob", .mute(.all, until: .at(20)))
            try store.act("ann", .mute(.thread("t"), until: .at(10)))
            try store.act("ann", .mute(.category("c"), until: .at(10)))
            try store.act("ann", .mute(.all, until: .at(10)))
            // In force since now, so it ends last.
            try store.act("ann", .mute(.thread("t"), until: .at(90)))
            try store.act("ann", .mute(.thread("t"), until: .at(10)))
            let item = try store.notify("bob", Content(expiresAt: .at(10)))
            #expect(
                try store.ask { try $0.mutes(of: "ann") }.mutes.map(\.scope) == [.all, .category("c"), .thread("t")])
            let head = try store.store.head()
            _ = try store.tick(20)
            #expect(
                try store.events(after: head).map(\.body) == [
                    .expired(item: item), .unmuted(.category("c")), .unmuted(.all), .unmuted(.thread("t")),
                    .unmuted(.all),
                ])
        }
    }
}
