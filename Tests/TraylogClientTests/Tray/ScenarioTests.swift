import Foundation
import TestSupport
import Testing
@_spi(Operations) import Traylog
import TraylogClient

/// The events in a device's life.
struct ScenarioTests {
    private func fill(_ store: Store) throws {
        for index in 0..<6 {
            _ = try store.blocking.perform(.notify("ann", title: "n\(index)", thread: "t", category: "c"))
        }
    }

    @Test func aTopicLeftAndJoinedAgainWhileOfflineAgreesWithTheServer() async throws {
        try await withClient { tested in
            let store = tested.service.store
            try await store.perform(.subscribe("ann", to: "news"))
            try await store.broadcast(to: "news", Content(title: "before"))
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            tested.service.weather = .offline
            try await store.perform(.unsubscribe("ann", from: "news"))
            let missed = try await store.broadcast(to: "news", Content(title: "missed"))
            try await store.perform(.subscribe("ann", to: "news"))
            try await store.broadcast(to: "news", Content(title: "after"))
            // An edit reaches everybody who has the item, even after they left, and nobody else.
            var edit = ContentEdit()
            edit.title = .set("before, edited")
            try await store.perform(.unsubscribe("ann", from: "news"))
            try await store.perform(Command(user: nil, .edit(.seq(2), edit)))
            let unseen = try #require(missed.seq)
            try await store.perform(Command(user: nil, .edit(.seq(unseen), edit)))
            tested.service.weather = .fine
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            try await tested.expectEqual()
            let titles = try await tested.client.inbox().elements.map(\.content.title)
            #expect(titles == ["after", "before, edited"])
        }
    }

    @Test func manyDevicesOfOneUserAgreeWithTheServer() async throws {
        let service = try SimulatedService(seed: 3)
        try fill(service.store)
        var devices: [TestedClient] = []
        for _ in 0..<sized(15, nightly: 50) { devices.append(try await TestedClient(service)) }
        for device in devices { #expect(await device.client.wait(for: .synced, seconds: 60)) }
        service.weather = .stormy
        for (index, device) in devices.enumerated() {
            let item = ItemReference.seq(Seq(UInt64(index % 6 + 1)))
            switch index % 5 {
            case 0: try await device.client.see()
            case 1: try await device.client.mark(.archived, [item])
            case 2: try await device.client.mark(.unread, [item])
            default: try await device.client.mark(.read, [item])
            }
        }
        service.weather = .fine
        for device in devices { #expect(await device.client.wait(for: .synced, seconds: 60)) }
        // All actions are done: now each device must have everybody's.
        for device in devices {
            await device.client.refresh(.pull)
            #expect(await device.client.wait(for: .synced, seconds: 60))
            try await device.expectEqual()
        }
        for device in devices {
            await device.client.close()
            try? FileManager.default.removeItem(atPath: device.directory)
        }
        await service.store.close()
    }

    /// A clock that differs from the server's.
    private struct WrongClock: DeviceClock {
        let system = SystemDeviceClock()
        let milliseconds: Int64

        var now: Timestamp { Timestamp(milliseconds: system.now.milliseconds + milliseconds) }
        var uptime: Int64 { system.uptime }
        func sleep(until uptime: Int64) async throws { try await system.sleep(until: uptime) }
    }

    @Test(arguments: [-31_536_000_000, 31_536_000_000, -7_200_000, 7_200_000])
    func aClockThatIsOffDecidesNothing(milliseconds: Int64) async throws {
        let service = try SimulatedService()
        try fill(service.store)
        let device = try await TestedClient(service, clock: WrongClock(milliseconds: milliseconds))
        #expect(await device.client.wait(for: .synced, seconds: 30))
        try await device.client.mark(.read, [.seq(1)])
        try await device.client.markAll(.archived, ItemFilter(thread: .named("t")))
        try await service.store.notify("ann", title: "later")
        #expect(await device.client.wait(for: .synced, seconds: 30))
        try await device.expectEqual()
        let events = try await service.store.history(of: "ann").elements
        #expect(events.map(\.recordedAt) == events.map(\.recordedAt).sorted())
        let claimed = try #require(events.first { $0.kind == .marked }?.occurredAt)
        #expect(abs(claimed.milliseconds - events[0].recordedAt.milliseconds - milliseconds) < 3_600_000)
        await device.end()
    }

    @Test func aServerRestoredFromABackupBringsANewSnapshotAndPendingMarksStay() async throws {
        try await withClient(before: fill) { tested in
            let directory = FileManager.default.temporaryDirectory.appendingPathComponent("backup-\(UUID())").path
            defer { try? FileManager.default.removeItem(atPath: directory) }
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            let old = tested.service.store
            try await old.upkeep.backup(to: directory)
            for index in 0..<4 { try await old.notify("ann", title: "lost \(index)") }
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            tested.service.weather = .offline
            try await tested.client.mark(.archived, [.seq(2)])
            await old.close()
            tested.service.store = try Store.open(directory)
            try await tested.service.store.notify("ann", title: "another event 7")
            tested.service.weather = .fine
            await tested.client.refresh(.pull)
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            try await tested.expectEqual()
            #expect(try await tested.service.store.inbox(of: "ann", InboxQuery(view: .archived)).elements.count == 1)
        }
    }
}
