import Foundation
import Testing
@_spi(Operations) import Traylog
@_spi(Witness) import TraylogAudit
@testable import TraylogClient

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
                #expect(await tested.client.status == .upToDate(through: try await tested.service.store.log.head()))
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

/// A client that asks for a quorum of witnesses.
@Suite struct WitnessPolicyTests {
    /// A log's key, and three witnesses of which two are a quorum.
    private struct World {
        let log: NotePrivateKey
        let witnesses: [NotePrivateKey]

        init() throws {
            log = try NotePrivateKey(name: "trays.example")
            witnesses = try (0..<3).map { try NotePrivateKey(name: "w\($0).example", kind: .cosigner) }
        }

        var policy: String {
            let lines = witnesses.enumerated().map { "witness w\($0) \($1.publicKey.text)\n" }.joined()
            return "log \(log.publicKey.text)\n\(lines)group two 2 w0 w1 w2\nquorum two\n"
        }

        /// The checkpoint of a store, seen by so many witnesses so many seconds ago.
        func checkpoint(
            _ store: Store, asOf: Moment? = nil, seenBy count: Int = 2, secondsAgo: Int64 = 0
        ) async throws -> String {
            var note = try Checkpoint(origin: "trays.example", head: try await store.proofs.treeHead(asOf: asOf))
                .signed(with: log)
            let time = UInt64(Timestamp.now.milliseconds / 1_000 - secondsAgo)
            for witness in witnesses.prefix(count) { try note.cosign(with: witness, at: time) }
            return note.text
        }
    }

    private func withClient(
        ageLimit: Int? = nil, _ body: (TestedClient, World) async throws -> Void
    ) async throws {
        let (service, world) = (try SimulatedService(), try World())
        try await service.store.notify("ann", title: "1")
        var options = TestedClient.quick
        (options.witnessPolicy, options.witnessAgeLimit) = (world.policy, ageLimit)
        let tested = try await TestedClient(service, options: options)
        do {
            try await body(tested, world)
        } catch {
            await tested.end()
            throw error
        }
        await tested.end()
    }

    private func refuses(_ tested: TestedClient, code: String) async throws {
        await tested.client.refresh(.pull)
        while await tested.client.lastError?.code != code { try await Task.sleep(for: .milliseconds(5)) }
    }

    private func sync(_ tested: TestedClient) async throws {
        await tested.client.refresh(.pull)
        #expect(await tested.client.wait(for: .synced, seconds: 60))
    }

    @Test func aLogWithAQuorumIsFollowedAsItGrows() async throws {
        try await withClient { tested, world in
            let service = tested.service
            for number: UInt64 in 1...8 {
                service.publish(try await world.checkpoint(service.store))
                try await service.store.notify("ann", title: "more")
                try await sync(tested)
                #expect(await tested.client.tray.tray.total == Int(number) + 1)
            }
            #expect(service.requests.filter { $0 == "GET /v1/proofs/consistency" }.count >= 7)
        }
    }

    @Test(arguments: [0, 1])
    func nothingIsTakenFromALogThatTooFewWitnessesHaveSeen(count: Int) async throws {
        try await withClient { tested, world in
            tested.service.publish(try await world.checkpoint(tested.service.store, seenBy: count))
            try await refuses(tested, code: "unwitnessed")
            #expect(await tested.client.tray.tray.total == 0)
            #expect(!tested.service.requests.contains("GET /v1/users/ann/snapshot"))
            // Once a quorum has seen it, it is taken.
            tested.service.publish(try await world.checkpoint(tested.service.store))
            try await sync(tested)
            #expect(await tested.client.tray.tray.total == 1)
        }
    }

    @Test func nothingIsTakenFromALogOfAnotherKeyOrWithAChangedCheckpoint() async throws {
        try await withClient { tested, world in
            let store = tested.service.store
            let stranger = try World()
            let note = try await world.checkpoint(store)
            for text in [
                try await stranger.checkpoint(store), note.replacing("\n1\n", with: "\n2\n"), "", "not a note\n",
                String(note.dropLast()),
            ] {
                tested.service.publish(text)
                try await refuses(tested, code: "unwitnessed")
                #expect(await tested.client.tray.tray.total == 0)
            }
        }
    }

    @Test(arguments: [1, 2, 9])
    func aForkWithAQuorumIsRefusedAndReportedAfterARestartToo(events: Int) async throws {
        try await withClient { tested, world in
            let service = tested.service
            try await service.store.notify("ann", title: "2")
            service.publish(try await world.checkpoint(service.store))
            try await sync(tested)
            // Whoever controls a quorum can do this; the device has seen the other log.
            let (old, new) = (service.store, try Store.temporary())
            for index in 0..<events { try await new.notify("ann", title: "not what was there \(index)") }
            service.store = new
            await old.close()
            service.publish(try await world.checkpoint(new))
            await tested.client.refresh(.pull)
            while await tested.client.status != .inconsistent { try await Task.sleep(for: .milliseconds(5)) }
            #expect(await tested.client.tray.tray.total == 2, "what the device has seen stays")
            await tested.client.close()
            var options = TestedClient.quick
            options.witnessPolicy = world.policy
            let client = try TrayClient(
                user: "ann", directory: tested.directory, transport: service, tokens: service, options: options)
            await client.start()
            while await client.lastError?.code != "inconsistent" { try await Task.sleep(for: .milliseconds(5)) }
            #expect(await client.status == .inconsistent)
            #expect(await client.tray.tray.total == 2)
            await client.close()
        }
    }

    @Test func aCheckpointThatContradictsLaterEventsIsRefused() async throws {
        try await withClient { tested, world in
            let service = tested.service
            service.publish(try await world.checkpoint(service.store))
            for number in 2...5 { try await service.store.notify("ann", title: "\(number)") }
            try await sync(tested)
            // Witnesses saw another continuation than the one that this device was shown.
            let other = try Store.temporary()
            for number in 1...4 { try await other.notify("ann", title: "other \(number)") }
            service.publish(try await world.checkpoint(other))
            await tested.client.refresh(.pull)
            while await tested.client.status != .inconsistent { try await Task.sleep(for: .milliseconds(5)) }
            await other.close()
        }
    }

    @Test func anOldCosignatureCountsOnlyWhileTheLogHasNoNewerEvents() async throws {
        try await withClient(ageLimit: 60) { tested, world in
            let service = tested.service
            service.publish(try await world.checkpoint(service.store, secondsAgo: 3_600))
            try await sync(tested)
            try await service.store.notify("ann", title: "2")
            // The first answer shows that there is more; from then on the old cosignature is not enough.
            await tested.client.refresh(.pull)
            while await tested.client.tray.tray.total < 2 { try await Task.sleep(for: .milliseconds(5)) }
            try await refuses(tested, code: "unwitnessed")
            service.publish(try await world.checkpoint(service.store))
            try await sync(tested)
        }
    }

    @Test func aPolicyThatCannotBeReadOrNamesNoLogIsRefusedAtTheStart() throws {
        let service = try SimulatedService()
        for policy in ["", "quorum none\n", "log nothing\nquorum none\n"] {
            let place = FileManager.default.temporaryDirectory.appendingPathComponent("tray-\(UUID())").path
            defer { try? FileManager.default.removeItem(atPath: place) }
            var options = TestedClient.quick
            options.witnessPolicy = policy
            let failure = #expect(throws: DeviceFailure.self) {
                _ = try TrayClient(
                    user: "ann", directory: place, transport: service, tokens: service, options: options)
            }
            #expect(failure?.code == .invalidOption)
        }
    }
}
