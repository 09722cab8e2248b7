import Testing
import TestSupport
@_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogDomain

/// Commits that fail while batches of states are on their way, one in the transaction and one prepared.
@Suite struct FullMapTests {
    @Test func exactlyTheAcknowledgedEventsSurviveAFullMap() throws {
        try withStorePath { path in
            var options = StoreOptions()
            options.mapSizeBytes = 1 << 20
            options.tailEvents = 400
            var acknowledged: UInt64 = 0
            let store = try Store.open(path, options: options)
            for round in 0..<200 {
                let commands = (0..<100).map { notify("user\(($0 * 31 + round * 17) % 900)", "Title \(round)") }
                if let receipts = try? store.perform(commands) { acknowledged += UInt64(receipts.count) }
            }
            #expect(acknowledged > 400)
            #expect(acknowledged < 20_000)
            #expect(try store.head().rawValue == acknowledged)
            store.close()
            options.mapSizeBytes = 64 << 20
            let reopened = try Store.open(path, options: options)
            #expect(try reopened.head().rawValue == acknowledged)
            _ = try reopened.perform(notify("one more", "Title"))
            reopened.close()
            let report = try Replay.run(directory: path) { _, _ in }
            #expect(report.difference == nil)
            #expect(report.events == acknowledged + 1)
        }
    }

    @Test func aCommitThatFailsLeavesEveryAnswerAsItWas() throws {
        try withStorePath { path in
            var options = StoreOptions()
            options.mapSizeBytes = 1 << 20
            let store = try Store.open(path, options: options)
            _ = try store.perform((0..<3).map { notify("ann", "\($0)") })
            _ = try store.perform(Command(user: "ann", .subscribe(topic: "news")))
            let tray = try store.tray(of: "ann")
            let titles = try store.inbox(of: "ann").elements.map(\.content.title)
            // Decided against her tray, which is in memory with them before the commit.
            let changes = [
                Command(user: "ann", .mark(.read, [.seq(1)])), notify("ann", "never"),
                Command(user: nil, .broadcast(topic: "news", Content(title: "never"))),
                Command(user: "ann", .markAll(.deleted)), Command(user: "ann", .unsubscribe(topic: "news")),
            ]
            let body = String(repeating: "x", count: Limits.bodyBytes)
            let large = (0..<100).map { Command(user: "bob", .notify(Content(title: "\($0)", body: body))) }
            for _ in 0..<3 {
                let error = #expect(throws: TraylogError.self) { try store.perform(changes + large) }
                #expect(error?.failure?.code == .mapFull)
                #expect(try store.tray(of: "ann") == tray && store.tray(of: "bob").total == 0)
                #expect(try store.inbox(of: "ann").elements.map(\.content.title) == titles)
            }
            _ = try store.perform(notify("ann", "3"))
            #expect(try store.tray(of: "ann").unread == tray.unread + 1)
            store.close()
            #expect(try replay(path).identical)
        }
    }
}
