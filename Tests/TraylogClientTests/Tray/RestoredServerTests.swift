import Foundation
import TestSupport
import Testing
import Traylog
import TraylogClient

/// The server is restored from a backup while a device sleeps, and its log diverges.
struct RestoredServerTests {
    private func fill(_ store: Store) throws {
        for index in 0..<4 { _ = try store.blocking.perform(.notify("ann", title: "n\(index)")) }
    }

    /// Loads, backs up, adds items, lets the device act without a connection, restores, and adds more.
    private func withRestore(
        before: (TrayClient) async throws -> Void = { _ in }, offline: (TrayClient) async throws -> Void = { _ in },
        _ body: (TestedClient) async throws -> Void
    ) async throws {
        try await withClient(before: fill) { tested in
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            let backup = try await tested.service.backUp()
            for index in 0..<3 { try await tested.service.store.notify("ann", title: "lost \(index)") }
            try await before(tested.client)
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            tested.service.weather = .offline
            await tested.client.refresh(.pull)
            try await offline(tested.client)
            try await tested.service.restore(backup)
            for index in 0..<9 { try await tested.service.store.notify("ann", title: "new \(index)") }
            tested.service.weather = .fine
            await tested.client.refresh(.pull)
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            try await body(tested)
        }
    }

    @Test func aServerThatHasGrownPastTheDeviceIsNoticed() async throws {
        try await withRestore { tested in try await tested.expectEqual() }
    }

    @Test func aMarkOfALostItemMarksNothingElse() async throws {
        try await withRestore(offline: { client in
            try await client.mark(.deleted, [.seq(6)])
            try await client.mark(.archived, [.seq(2), .seq(7)])
            try await client.markAll(.read)
            try await client.see()
        }) { tested in
            try await tested.expectEqual()
            let store = tested.service.store
            #expect(try await store.tray(of: "ann").total == 12)
            #expect(try await store.inbox(of: "ann", InboxQuery(view: .archived)).elements.map(\.seq) == [2])
            let items = try await store.inbox(of: "ann", InboxQuery(limit: 100)).elements
            #expect(items.filter(\.isRead).map(\.seq) == [4, 3, 1])
            #expect(items.filter(\.isSeen).map(\.seq) == [4, 3, 1])
        }
    }

    @Test func aMarkThatTheRestoredServerLostIsSentAgain() async throws {
        try await withRestore(before: { client in
            try await client.send(to: "bob", Content(title: "hello"))
            try await client.mark(.read, [.seq(1), .seq(6)])
        }) { tested in
            try await tested.expectEqual()
            let store = tested.service.store
            #expect(try await store.inbox(of: "bob").elements.map(\.content.title) == ["hello"])
            #expect(
                try await store.inbox(of: "ann", InboxQuery(limit: 100)).elements.filter(\.isRead).map(\.seq) == [1])
        }
    }

    @Test func anUndoOfALostEventUndoesNothingElse() async throws {
        var id = ""
        try await withRestore(
            before: { id = try await $0.mark(.read, [.seq(6)]).id }, offline: { try await $0.undo(id) }
        ) {
            tested in
            try await tested.expectEqual()
            #expect(try await tested.service.store.tray(of: "ann").unread == 13)
            #expect(await tested.client.outbox.entries.allSatisfy { $0.state == .synced })
        }
    }

    /// Backups, restores to any of them, growth, marks, messages, storms, and sleep.
    ///
    /// Ten lives a block.
    @Test(arguments: seeds(1, nightly: 40))
    func aSleepingDeviceConvergesWithoutHelp(block: UInt64) async throws {
        for seed in block * 10..<block * 10 + 10 {
            try await withClient(seed: seed, before: fill) { tested in
                var life = Life(seed: seed, tested: tested)
                try await life.play()
            }
        }
    }
}

/// One random history of a server and a device.
private struct Life {
    let seed: UInt64
    let tested: TestedClient
    var random: SeededRandom
    var backups: [SimulatedService.Backup] = []
    /// Titles of items that were shown when the user marked them; each title is used once.
    var marked: Set<String?> = []
    var seen: Set<String?> = []
    var sent: [String] = []
    var count = 0

    init(seed: UInt64, tested: TestedClient) {
        (self.seed, self.tested) = (seed, tested)
        random = SeededRandom(seed: seed &+ 77)
    }

    private var client: TrayClient { tested.client }
    private var service: SimulatedService { tested.service }
    private var comment: Comment { "seed \(seed)" }

    mutating func play() async throws {
        #expect(await client.wait(for: .synced, seconds: 60), comment)
        for _ in 0..<16 { try await step() }
        service.weather = .fine
        await client.refresh(.pull)
        #expect(await client.wait(for: .synced, seconds: 60), comment)
        try await tested.expectEqual(comment)
        for item in try await service.store.inbox(of: "ann", InboxQuery(ItemFilter(includeSilent: true), limit: 100))
            .elements
        {
            let title = item.content.title
            #expect(!item.isRead || marked.contains(title), "seed \(seed): \(title ?? "") was read by nobody")
            #expect(!item.isSeen || seen.contains(title), "seed \(seed): \(title ?? "") was seen by nobody")
        }
        let arrived = try await service.store.inbox(of: "bob", InboxQuery(limit: 100)).elements.compactMap(\.key)
        #expect(arrived.sorted() == sent.sorted(), comment)
    }

    private mutating func step() async throws {
        service.weather = [.fine, .fine, .stormy, .offline].randomElement(using: &random) ?? .fine
        let isReading = random.next() % 2 == 0
        switch random.next() % 12 {
        case 0...2:
            for _ in 0..<1 + random.next() % 4 {
                count += 1
                try await service.store.notify("ann", title: "s\(count)")
            }
        case 3: backups.append(try await service.backUp())
        case 4, 5:
            guard let backup = backups.randomElement(using: &random) else { break }
            // The device notices that the server is down: a restore takes longer than the device trusts its last answer.
            service.weather = .offline
            while await client.status != .offline {
                await client.refresh(.pull)
                await Task.yield()
            }
            try await service.restore(backup)
        case 6:
            await client.setOffline(true)
            if let item = try await client.inbox(InboxQuery(limit: 100)).elements.randomElement(using: &random) {
                marked.insert(item.content.title)
                seen.insert(item.content.title)
                try await client.mark(.read, [.seq(item.seq)])
            }
            await client.setOffline(false)
        case 7, 8:
            // The items on the screen, and none that arrives a moment later.
            await client.setOffline(true)
            let page = try await client.inbox(InboxQuery(limit: 100))
            let titles = page.elements.map(\.content.title)
            seen.formUnion(titles)
            if isReading {
                marked.formUnion(titles)
                try await client.markAll(.read, ItemFilter(), upTo: page.asOf)
            } else {
                try await client.see(upTo: page.asOf)
            }
            await client.setOffline(false)
        case 9: sent.append(try await client.send(to: "bob", Content(title: "m")).id)
        case 10: await client.refresh(.pull)
        default: _ = await client.wait(for: .idle, seconds: 0.02)
        }
    }
}
