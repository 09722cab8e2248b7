import Foundation
import Testing
import Traylog
import TraylogClient

/// A client in a directory of its own, on a simulated service, with the system's clock.
struct TestedClient {
    let directory: String
    let service: SimulatedService
    var client: TrayClient

    init(
        _ service: SimulatedService, options: TrayClientOptions = quick, clock: any DeviceClock = SystemDeviceClock()
    ) async throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("tray-\(UUID())").path
        self.service = service
        client = try TrayClient(
            user: "ann", directory: directory, transport: service, tokens: service, options: options, clock: clock)
        await client.start()
    }

    /// Short times, and no streams.
    static var quick: TrayClientOptions {
        var options = TrayClientOptions()
        options.live = false
        options.outbox.retryMilliseconds = 5
        options.outbox.retries = 1_000
        options.outbox.reconnectMilliseconds = [5]
        return options
    }

    mutating func restart() async throws {
        await client.close()
        client = try TrayClient(
            user: "ann", directory: directory, transport: service, tokens: service, options: Self.quick)
        await client.start()
    }

    /// Everything that is shown equals the server's answers.
    func expectEqual(_ comment: Comment? = nil) async throws {
        var tray = await client.tray.tray
        var theirs = try await service.store.tray(of: "ann")
        (tray.asOf, theirs.asOf) = (0, 0)
        #expect(tray == theirs, comment)
        var (mutes, theirMutes) = (try await client.mutes(), try await service.store.mutes(of: "ann"))
        (mutes.asOf, theirMutes.asOf) = (0, 0)
        #expect(mutes == theirMutes, comment)
        for view in [InboxQuery.View.inbox, .archived] {
            let query = InboxQuery(ItemFilter(includeSilent: true), view: view, limit: 100)
            #expect(try await client.inbox(query).elements == service.store.inbox(of: "ann", query).elements, comment)
        }
        #expect(
            try await client.threads(limit: 100).elements == service.store.threads(of: "ann", limit: 100).elements,
            comment)
    }

    func end() async {
        await client.close()
        await service.store.close()
        try? FileManager.default.removeItem(atPath: directory)
    }
}

func withClient(
    seed: UInt64 = 0, options: TrayClientOptions = TestedClient.quick, clock: any DeviceClock = SystemDeviceClock(),
    weather: SimulatedService.Weather = .fine, before: (Store) throws -> Void = { _ in },
    _ body: (inout TestedClient) async throws -> Void
) async throws {
    let service = try SimulatedService(seed: seed)
    try before(service.store)
    service.weather = weather
    var tested = try await TestedClient(service, options: options, clock: clock)
    do {
        try await body(&tested)
    } catch {
        await tested.end()
        throw error
    }
    await tested.end()
}
