import Foundation
import Testing
import Traylog
import TraylogClient

/// The server moves to another address while a device has entries for it.
struct MovedServerTests {
    private static let (old, new) = ("http://old.example", "https://new.example")

    private func open(
        _ directory: String, _ service: SimulatedService, at origin: String, movedFrom former: String? = nil
    ) throws -> TrayClient {
        var options = TestedClient.quick
        options.movedFrom = former
        return try TrayClient(
            user: "ann", directory: directory, transport: NamedService(service: service, origin: origin),
            tokens: service,
            options: options)
    }

    private func expectForeign(_ body: () throws -> TrayClient) {
        #expect(performing: { _ = try body() }, throws: { ($0 as? DeviceFailure)?.code == .foreign })
    }

    /// A device that was connected at the old address, and has a message and a mark since.
    private func withDevice(_ body: (String, SimulatedService) async throws -> Void) async throws {
        let service = try SimulatedService()
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("moved-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        _ = try await service.store.perform(.notify("ann", title: "n"))
        let client = try open(directory, service, at: Self.old)
        await client.start()
        #expect(await client.wait(for: .synced, seconds: 30))
        await client.setOffline(true)
        try await client.send(to: "bob", Content(title: "hello"))
        try await client.mark(.read, [.seq(1)])
        await client.close()
        try await body(directory, service)
        await service.store.close()
    }

    @Test func entriesAreSentToTheSameStoreAtItsNewAddress() async throws {
        try await withDevice { directory, service in
            expectForeign { try open(directory, service, at: Self.new) }
            for _ in 0..<2 {
                // The second time it has moved already.
                let client = try open(directory, service, at: Self.new, movedFrom: Self.old)
                await client.start()
                #expect(await client.wait(for: .synced, seconds: 30))
                #expect(await client.tray.tray.unread == 0)
                await client.close()
            }
            #expect(try await service.store.inbox(of: "bob").elements.map(\.content.title) == ["hello"])
            #expect(try await service.store.tray(of: "ann").unread == 0)
            await (try open(directory, service, at: Self.new)).close()
            expectForeign { try open(directory, service, at: Self.old) }
        }
    }

    @Test func anotherStoreAtTheNewAddressGetsNothing() async throws {
        try await withDevice { directory, service in
            let other = try SimulatedService()
            for index in 0..<3 { _ = try await other.store.perform(.notify("ann", title: "another \(index)")) }
            let client = try open(directory, other, at: Self.new, movedFrom: Self.old)
            await client.start()
            var view = await client.tray
            // It looks again and again, and finds the same.
            while view.status != .offline || view.error?.message.contains("has another store") != true {
                await client.refresh(.pull)
                await Task.yield()
                view = await client.tray
            }
            #expect(view.tray.total == 1, "the tray is the old server's")
            #expect(view.pending.count == 2 && view.pending.allSatisfy { $0.attempts == 0 || $0.isUnderWay })
            #expect(!other.requests.contains { $0.hasPrefix("POST") })
            // Nothing is under way then, which a restart would count as failed.
            await client.setOffline(true)
            await client.close()
            await other.store.close()
            let again = try open(directory, service, at: Self.old)
            await again.start()
            #expect(await again.wait(for: .synced, seconds: 30), "the directory has stayed the old address's")
            await again.close()
            #expect(try await service.store.tray(of: "bob").total == 1)
        }
    }

    @Test func aDirectoryThatWasNeverConnectedOrIsOfAnotherAddressStays() async throws {
        try await withDevice { directory, service in
            expectForeign { try open(directory, service, at: Self.new, movedFrom: "http://third.example") }
            let fresh = directory + "-fresh"
            defer { try? FileManager.default.removeItem(atPath: fresh) }
            let client = try open(fresh, service, at: Self.old)
            try await client.send(to: "bob", Content(title: "before any connection"))
            await client.close()
            expectForeign { try open(fresh, service, at: Self.new, movedFrom: Self.old) }
        }
    }
}
