import Foundation
import TestSupport
import Testing
import Traylog
import TraylogClient

/// A device whose service may answer anything lives, and so does the next start from what it stored.
///
/// A trap would end the tests' process. The seed is printed at the start; `TRAYLOG_SEED` repeats one, and
/// `TRAYLOG_TESTS=nightly` goes on for ten minutes.
struct HostileServiceTests {
    @Test func aServiceThatAnswersAnythingEndsNoClient() async throws {
        let given = ProcessInfo.processInfo.environment["TRAYLOG_SEED"].flatMap { UInt64($0) }
        let first = given ?? UInt64.random(in: 0...UInt64(UInt32.max))
        print("hostile service: TRAYLOG_SEED=\(first)")
        let span: Duration = sized(.zero, nightly: .seconds(600))
        let began = ContinuousClock.now
        var lives: UInt64 = 0
        while lives < 40 || began.duration(to: .now) < span {
            let service = try SimulatedService(seed: first &+ lives)
            try await fill(service.store)
            for _ in 0..<20 {
                try await live(service, seed: first &+ lives)
                lives += 1
            }
            await service.store.close()
        }
        print("hostile service: \(lives) lives")
    }

    private func fill(_ store: Store) async throws {
        let actions = [ItemAction(id: "yes", label: "Yes"), ItemAction(id: "no", label: "No")]
        for index in 0..<12 {
            var content = Content(title: "n\(index)")
            content.thread = index % 3 == 0 ? "ci" : nil
            content.category = index % 4 == 0 ? "builds" : nil
            content.summaryCount = UInt32(index)
            content.collapseKey = index % 5 == 0 ? "collapse" : nil
            content.actions = index % 2 == 0 ? actions : []
            _ = try await store.perform(Command(user: "ann", .notify(content)))
        }
        _ = try await store.perform(.mute(.thread("ci"), of: "ann"))
        _ = try await store.perform(
            Command(user: "ann", .mute(.all, until: Timestamp(milliseconds: 4_000_000_000_000))))
        _ = try await store.perform(
            Command(user: "ann", .snooze(.seq(2), until: Timestamp(milliseconds: 4_000_000_000_000))))
        _ = try await store.perform(Command(user: "ann", .act(.seq(3), action: "yes", note: "fine")))
        _ = try await store.perform(Command(user: "ann", .seeTray(upTo: 4)))
        let mark = try await store.perform(Command(user: "ann", .mark(.read, [.seq(5), .seq(6)])))
        if let seq = mark.seq { _ = try await store.perform(Command(user: "ann", .undo(event: seq))) }
    }

    private func live(_ service: SimulatedService, seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("hostile-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        for start in 0..<3 as Range<UInt64> {
            let hostile = HostileService(service, seed: seed &* 3 &+ start)
            var options = TestedClient.quick
            (options.live, options.witness) = (random.chance(50), random.chance(50))
            options.outbox.retries = 2
            let client = try TrayClient(
                user: "ann", directory: directory, transport: hostile, tokens: hostile, options: options)
            await client.start()
            for _ in 0..<8 { await step(client, directory, &random) }
            await client.close()
        }
        // Something arrives for the next life.
        _ = try await service.store.perform(.notify("ann", title: "more"))
    }

    private func step(_ client: TrayClient, _ directory: String, _ random: inout SeededRandom) async {
        let seq = Seq([1, 3, 7, UInt64.max >> 8][random.below(4)])
        switch random.below(14) {
        case 0: await client.refresh(.pull)
        case 1: _ = try? await client.mark(.read, [.seq(seq), .key("k")])
        case 2: _ = try? await client.markAll(.archived, ItemFilter(thread: "ci"), upTo: seq)
        case 3: _ = try? await client.see(upTo: seq)
        case 4: _ = try? await client.snooze(.seq(seq), until: Timestamp(milliseconds: 4_100_000_000_000))
        case 5: _ = try? await client.act(.seq(seq), action: "no")
        case 6: _ = try? await client.inbox(InboxQuery(ItemFilter(includeSilent: true, text: "n"), limit: 100))
        case 7: _ = try? await client.threads(limit: 100)
        case 8: _ = (try? await client.mutes(), try? await client.item(.seq(seq)), await client.dot)
        case 9: await client.poll(everySeconds: [Int.max, Int.min, -1, 0, 1][random.below(5)])
        case 10:
            let entries = await client.outbox.entries
            if !entries.isEmpty { _ = try? await client.undo(entries[random.below(entries.count)].id) }
        case 11:
            let file = directory + "/photo"
            try? Data("photo".utf8).write(to: URL(fileURLWithPath: file))
            _ = try? await client.send(to: "bob", Content(title: "m"), attachment: file)
        case 12: await client.setLive(random.chance(50))
        default: break
        }
        _ = await client.tray
        let seconds: [Double] = [.nan, -.infinity, -1, 0.02]
        _ = await client.wait(for: random.chance(50) ? .idle : .synced, seconds: seconds[random.below(4)])
    }
}

/// What a service, or any web server that takes attachments, asks a device to wait.
struct HostileRetryAfterTests {
    /// Answers 503 with a `Retry-After`.
    private struct Busy: ServiceTransport, TokenSource {
        let retryAfter: String

        private var answer: ServiceResponse {
            ServiceResponse(
                status: 503, headers: ["content-type": "application/problem+json", "retry-after": retryAfter],
                body: Array(#"{"status":503}"#.utf8))
        }
        func token() async throws -> String { "t" }
        func perform(_ request: ServiceRequest) async throws(ServiceFailure) -> ServiceResponse { answer }
        func open(_ request: ServiceRequest) async throws(ServiceFailure) -> ServiceStream {
            throw .interrupted("no streams")
        }
        func upload(
            file path: String, as name: String, progress: @escaping @Sendable (Double) -> Void
        ) async throws(ServiceFailure) -> (response: ServiceResponse, address: String) { (answer, "") }
        func isReachable() async -> Bool { true }
    }

    @Test(arguments: HostileService.numbers + ["", " 5", "Fri, 31 Dec 9999 23:59:59 GMT", "+Inf", "0x10"])
    func anyTextOfRetryAfterIsAWaitOfADayAtMost(text: String) async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("busy-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let busy = Busy(retryAfter: text)
        var options = TestedClient.quick
        options.outbox.retryMilliseconds = 5_000
        // The entry waits over a restart, and meets the same answer.
        for start in 0..<2 {
            let clock = ManualClock()
            let client = try TrayClient(
                user: "ann", directory: directory, transport: busy, tokens: busy, options: options, clock: clock)
            if start == 0 {
                let file = directory + "/photo"
                try Data("photo".utf8).write(to: URL(fileURLWithPath: file))
                try await client.send(to: "bob", Content(title: "m"), attachment: file)
            }
            await client.start()
            let outbox = client.outbox
            if start == 1 { for entry in await outbox.entries { try? await outbox.resend(entry.id) } }
            while await outbox.entries.first?.problem?.code != "http503" { await Task.yield() }
            while clock.deadlines.count < 2 { await Task.yield() }
            #expect(clock.deadlines.allSatisfy { (1...86_400_000).contains($0) })
            #expect(await client.lastError.map { (0...86_400).contains($0.retryAfter ?? 0) } == true)
            await client.close()
        }
    }

    @Test(arguments: [Double.nan, Double.infinity, -Double.infinity, -1e300, 1e300, -0.0])
    func anAppsTransportMayAskToWaitForAnyNumber(seconds: Double) async throws {
        try await withOutbox { tested in
            _ = try await tested.enqueue("T1")
            await tested.transport.next().fail(.retry(after: seconds, code: "busy", "busy"))
            await tested.clock.sleeping(until: seconds == 1e300 ? 86_400_000 : 5_000)
        }
    }

    @Test func intervalsOfAnyNumberAreTaken() async throws {
        try await withClient { tested in
            #expect(await tested.client.poll(everySeconds: .max) == 86_400)
            #expect(await tested.client.poll(everySeconds: .min) == 0)
            #expect(await tested.client.poll(everySeconds: 1) == 120)
            tested.service.weather = .offline
            await tested.client.setOffline(true)
            try await tested.client.send(to: "bob", Content(title: "waits"))
            for seconds in [Double.nan, -Double.infinity, -1e300, -1, 0] {
                #expect(await !tested.client.wait(for: .idle, seconds: seconds))
            }
        }
    }
}
