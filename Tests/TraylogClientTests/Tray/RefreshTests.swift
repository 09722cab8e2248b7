import Testing
import Traylog
import TraylogClient

/// The times of requests, and the server's errors as an app sees them.
struct RefreshTests {
    @Test func afterAnErrorItAsksAgainAfter1And2And4SecondsThenAtTheNextTrigger() async throws {
        let clock = ManualClock()
        try await withClient(clock: clock, weather: .answering(503)) { tested in
            var now: Int64 = 0
            for (index, wait) in ([1_000, 2_000, 4_000] as [Int64]).enumerated() {
                now += wait
                await clock.sleeping(until: now)
                #expect(tested.service.requests.count == index + 1)
                clock.advance(to: now)
            }
            while tested.service.requests.count < 4 { await Task.yield() }
            while await tested.client.status != .failing { await Task.yield() }
            // The fourth answer is on its way.
            for _ in 0..<1_000 { await tested.client.run { _ in } }
            #expect(clock.deadlines.isEmpty, "nothing more until the next trigger")
            tested.service.weather = .fine
            // A trigger while that answer is on its way makes no other request.
            while await tested.client.status != .upToDate(through: 0) {
                await tested.client.refresh(.trayVisible)
                await Task.yield()
            }
        }
    }

    @Test func theClientWaitsForANodeThatIsBehindAndKeepsTheReplica() async throws {
        let clock = ManualClock()
        try await withClient(clock: clock, before: { _ = try $0.blocking.perform(.notify("ann", title: "n")) }) {
            tested in
            while await tested.client.status != .upToDate(through: 1) { await Task.yield() }
            tested.service.weather = .behind(seconds: 7)
            await tested.client.refresh(.pull)
            for turn in 1...6 {
                await clock.sleeping(until: Int64(turn) * 7_000)
                #expect(await tested.client.tray.tray.unread == 1)
                if turn == 6 { tested.service.weather = .fine }
                clock.advance(to: Int64(turn) * 7_000)
            }
            while await tested.client.status != .upToDate(through: 1) { await Task.yield() }
            #expect(tested.service.requests.count { $0.hasSuffix("/snapshot") } == 1)
        }
    }

    /// Another node of a cluster answers, which lacks events that were shown already.
    @Test func aNodeThatDoesNotKnowTheOffsetIsAskedAgainAndNothingGoesBack() async throws {
        let clock = ManualClock()
        try await withClient(clock: clock, before: { _ = try $0.blocking.perform(.notify("ann", title: "n")) }) {
            tested in
            let old = try tested.service.snapshot(of: "ann")
            while await tested.client.status != .upToDate(through: 1) { await Task.yield() }
            _ = try await tested.service.store.perform(.notify("ann", title: "later"))
            while await tested.client.status != .upToDate(through: 2) {
                await tested.client.refresh(.pull)
                await Task.yield()
            }
            tested.service.answer(asNodeWith: old)
            await tested.client.refresh(.pull)
            for turn in 1...6 {
                await clock.sleeping(until: Int64(turn) * 5_000)
                let view = await tested.client.tray
                #expect(view.tray.unread == 2 && view.status == .failing && view.error?.code == "behind")
                if turn == 6 { tested.service.answer(asNodeWith: nil) }
                clock.advance(to: Int64(turn) * 5_000)
            }
            while await tested.client.status != .upToDate(through: 2) { await Task.yield() }
            #expect(await tested.client.tray.tray.unread == 2)
        }
    }

    @Test func aServerThatStaysBehindForAMinuteHasLostEvents() async throws {
        let clock = ManualClock()
        try await withClient(clock: clock, before: { _ = try $0.blocking.perform(.notify("ann", title: "n")) }) {
            tested in
            let old = try tested.service.snapshot(of: "ann")
            _ = try await tested.service.store.perform(.notify("ann", title: "lost"))
            while await tested.client.status != .upToDate(through: 2) {
                await tested.client.refresh(.pull)
                await Task.yield()
            }
            tested.service.answer(asNodeWith: old)
            await tested.client.refresh(.pull)
            for turn in 1...12 {
                await clock.sleeping(until: Int64(turn) * 5_000)
                clock.advance(to: Int64(turn) * 5_000)
            }
            while await tested.client.tray.tray.unread != 1 { await Task.yield() }
        }
    }

    /// The server's store is away: the request is right, and the server's words are not for users.
    @Test(arguments: [
        (404, #"{"status":404,"detail":"/srv/store is missing","code":"notFound"}"#),
        (404, #"{"status":404,"detail":"/srv/store is missing"}"#),
        (507, #"{"status":507,"detail":"/srv/store: no space","code":"diskFull"}"#),
    ])
    func aStoreThatIsAwayFailsNoMarkAtOnceAndNamesNoPath(status: Int, body: String) async throws {
        try await withClient { tested in
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            tested.service.weather = .saying(status, body)
            let id = try await tested.client.send(to: "bob", Content(title: "m")).id
            let outbox = tested.client.outbox
            while await outbox.entry(id)?.attempts ?? 0 < 3 { await Task.yield() }
            let problem = await outbox.entry(id)?.problem
            #expect(problem?.message.contains("/srv") == false && problem?.message.contains("its store") == true)
            tested.service.weather = .fine
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            #expect(try await tested.service.store.tray(of: "bob").total == 1)
        }
    }

    @Test(
        arguments: [
            (.offline, .connectivity, true), (.mute, .connectivity, true), (.answering(429), .rateLimit, true),
            (.answering(401), .authentication, false), (.answering(503), .server, true),
            (.answering(403), .server, false),
        ] as [(SimulatedService.Weather, ClientError.Group, Bool)])
    func errorsAreInFourGroupsAndSayWhetherTryingAgainHelps(
        weather: SimulatedService.Weather, group: ClientError.Group, mayPass: Bool
    ) async throws {
        try await withClient { tested in
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            tested.service.weather = weather
            // The request that brought it there may go on, and a trigger meanwhile makes no other one.
            while await tested.client.lastError == nil {
                await tested.client.refresh(.pull)
                await Task.yield()
            }
            let error = try #require(await tested.client.lastError)
            #expect(error.group == group && error.mayPass == mayPass, "\(error)")
            #expect(error.retryAfter == (group == .rateLimit ? 7 : nil))
        }
    }

    @Test func anEventOfAnUnknownKindBringsANewSnapshotAndPendingMarksStay() async throws {
        try await withClient(before: { _ = try $0.blocking.perform(.notify("ann", title: "n")) }) { tested in
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            await tested.client.setOffline(true)
            try await tested.client.mark(.read, [.seq(1)])
            _ = try await tested.service.store.perform(.notify("ann", title: "later"))
            tested.service.send(strangeKind: "flown")
            let before = tested.service.requests.count { $0.hasSuffix("/snapshot") }
            await tested.client.setOffline(false)
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            #expect(tested.service.requests.count { $0.hasSuffix("/snapshot") } == before + 1)
            try await tested.expectEqual()
            #expect(await tested.client.tray.tray.unread == 1)
        }
    }

    @Test func aDotShowsForNewItemsAndNotForMutedOnes() async throws {
        try await withClient { tested in
            let store = tested.service.store
            _ = try await store.perform(.mute(.thread("noise"), of: "ann"))
            _ = try await store.perform(.notify("ann", title: "muted", thread: "noise"))
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            #expect(await !tested.client.dot)
            _ = try await store.perform(.notify("ann", title: "counted"))
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            #expect(await tested.client.dot)
            // Another account, or another device of this one, is lit and goes out by itself.
            let other = try await TestedClient(tested.service)
            #expect(await other.client.wait(for: .synced, seconds: 30))
            await other.client.trayWasShown()
            #expect(await !other.client.dot)
            #expect(await tested.client.dot)
            await other.client.close()
            await tested.client.trayWasShown()
            try await tested.restart()
            #expect(await !tested.client.dot, "after a restart, too")
        }
    }
}
