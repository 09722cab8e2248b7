import Testing
import TraylogClient

struct ConnectivityTests {
    @Test func aLostConnectionIsLookedForAfter1And2And4ThenEvery5Seconds() async throws {
        try await withOutbox { tested in
            let id = try await tested.enqueue("T1")
            var now: Int64 = 0
            for wait in [1_000, 2_000, 4_000, 5_000, 5_000, 5_000] as [Int64] {
                await tested.transport.next().fail(.offline("refused"))
                try await tested.entry(id, is: .queued)
                now += wait
                await tested.clock.sleeping(until: now)
                #expect(tested.transport.untaken == 0)
                #expect(tested.clock.deadlines == [now])
                tested.clock.advance(to: now)
            }
            let request = await tested.transport.next()
            #expect(request.entry.attempts == 1, "what was offline counts as no attempt")
            request.succeed()
            #expect(try await tested.entry(id, is: .synced).attempts == 1)
        }
    }

    @Test func theOutboxRetriesAtOnceWhenTheSystemReportsAConnection() async throws {
        try await withOutbox { tested in
            let id = try await tested.enqueue("T1")
            await tested.transport.next().fail(.offline("unreachable"))
            try await tested.entry(id, is: .queued)
            await tested.clock.sleeping(until: 1_000)
            await tested.outbox.retryNow()
            await tested.transport.next().succeed()
            try await tested.entry(id, is: .synced)
        }
    }

    @Test func noLaneSendsWhileOffline() async throws {
        try await withOutbox { tested in
            let text = try await tested.enqueue("T1")
            await tested.transport.next().fail(.offline("unresolved"))
            try await tested.entry(text, is: .queued)
            await tested.clock.sleeping(until: 1_000)
            let media = try await tested.enqueue("I1", "media")
            #expect(await tested.outbox.entry(media)?.state == .queued)
            #expect(tested.transport.count == 1)
        }
    }

    @Test func anExpiredTokenLetsTheLaneWaitAndCountsAsNoAttempt() async throws {
        try await withOutbox { tested in
            let id = try await tested.enqueue("T1")
            await tested.transport.next().fail(.authenticationRequired("expired"))
            try await tested.entry(id, is: .queued)
            // Another lane goes on; the server can be reached.
            _ = try await tested.enqueue("I1", "media")
            await tested.transport.next().succeed()
            #expect(await tested.outbox.entry(id)?.attempts == 0)
            #expect(tested.clock.deadlines.isEmpty, "only new credentials help")
            await tested.outbox.retryNow()
            let request = await tested.transport.next()
            #expect(request.text == "T1" && request.entry.attempts == 1)
        }
    }

    @Test func anOutboxThatWasSetOfflineSendsNothingUntilItIsSetOnline() async throws {
        try await withOutbox { tested in
            let id = try await tested.enqueue("T1")
            let lost = await tested.transport.next()
            await tested.outbox.setOffline(true)
            let entry = try await tested.entry(id, is: .queued)
            #expect(entry.attempts == 0)
            lost.succeed()  // The answer comes too late to be believed.
            await tested.outbox.retryNow()
            #expect(await tested.outbox.entry(id)?.state == .queued)
            await tested.outbox.setOffline(false)
            let again = await tested.transport.next()
            #expect(again.entry.id == id, "under the same key")
            again.succeed()
            try await tested.entry(id, is: .synced)
        }
    }
}
