import Foundation
import Testing
import Traylog
import TraylogClient

/// A client that keeps the server's tree heads.
struct WitnessTests {
    private static var watching: TrayClientOptions {
        var options = TestedClient.quick
        options.witness = true
        return options
    }

    private func withWitness(_ body: (TestedClient) async throws -> Void) async throws {
        let service = try SimulatedService()
        let tested = try await TestedClient(service, options: Self.watching)
        do {
            try await service.store.notify("ann", title: "1")
            try await sync(tested.client)
            try await body(tested)
        } catch {
            await tested.end()
            throw error
        }
        await tested.end()
    }

    private func sync(_ client: TrayClient) async throws {
        await client.refresh(.pull)
        #expect(await client.wait(for: .synced, seconds: 60))
    }

    /// A different log with more events than the first, at the same address.
    private func rewrite(_ service: SimulatedService, events: Int) async throws {
        let old = service.store
        let new = try Store.temporary()
        for index in 0..<events { try await new.notify("ann", title: "not what was there \(index)") }
        service.store = new
        await old.close()
    }

    @Test func aLogThatGrowsIsConsistent() async throws {
        try await withWitness { tested in
            for index in 0..<20 {
                for _ in 0...index { try await tested.service.store.notify("ann", title: "more") }
                try await sync(tested.client)
                #expect(await tested.client.status == .upToDate(through: try await tested.service.store.head()))
            }
            let proofs = tested.service.requests.filter { $0 == "GET /v1/proofs/consistency" }
            #expect(proofs.count >= 19, "a newer tree head is accepted with its proof only")
        }
    }

    @Test func aNodeThatIsBehindIsNotTakenForOneThatRewroteItsLog() async throws {
        try await withWitness { tested in
            let service = tested.service
            try await service.store.notify("ann", title: "2")
            try await sync(tested.client)
            service.giveTreeHead(asOf: .seq(1))
            try await service.store.notify("ann", title: "3")
            try await sync(tested.client)
            #expect(await tested.client.status == .upToDate(through: 3))
            service.giveTreeHead(asOf: nil)
            try await service.store.notify("ann", title: "4")
            try await sync(tested.client)
            #expect(await tested.client.status == .upToDate(through: 4))
            #expect(service.requests.contains("GET /v1/proofs/consistency"))
        }
    }

    @Test(arguments: [1, 2, 9])
    func aServerThatRewroteItsLogIsReported(events: Int) async throws {
        try await withWitness { tested in
            try await tested.service.store.notify("ann", title: "2")
            try await sync(tested.client)
            try await rewrite(tested.service, events: events)
            await tested.client.refresh(.pull)
            while await tested.client.status != .inconsistent { try await Task.sleep(for: .milliseconds(5)) }
            #expect(await tested.client.tray.status == .inconsistent)
        }
    }

    @Test func aRewrittenLogIsReportedAfterARestart() async throws {
        try await withWitness { tested in
            try await sync(tested.client)
            await tested.client.close()
            try await rewrite(tested.service, events: 9)
            for _ in 0..<2 {
                let client = try TrayClient(
                    user: "ann", directory: tested.directory, transport: tested.service, tokens: tested.service,
                    options: Self.watching)
                await client.start()
                while await client.status != .inconsistent { try await Task.sleep(for: .milliseconds(5)) }
                await client.close()
            }
        }
    }

    @Test func aClientWithoutAWitnessRequestsNoProofs() async throws {
        try await withClient { tested in
            try await tested.service.store.notify("ann", title: "1")
            await tested.client.refresh(.pull)
            #expect(await tested.client.wait(for: .synced, seconds: 60))
            #expect(!tested.service.requests.contains("GET /v1/proofs/consistency"))
        }
    }
}
