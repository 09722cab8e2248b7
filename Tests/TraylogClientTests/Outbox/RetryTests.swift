import Testing
import TraylogClient

struct RetryTests {
    @Test func aTemporaryErrorIsRetriedThreeTimesAfter5SecondsThenFails() async throws {
        try await withOutbox { tested in
            let id = try await tested.enqueue("T1")
            for attempt in 1...4 {
                let request = await tested.transport.next()
                #expect(request.entry.attempts == attempt && request.entry.id == id)
                request.fail(.retry(code: "timeout", "30 s of silence"))
                guard attempt < 4 else { break }
                let due = Int64(attempt) * 5_000
                await tested.clock.sleeping(until: due)
                #expect(await tested.outbox.entry(id)?.state == .syncing, "meanwhile it stays syncing")
                tested.clock.advance(to: due)
            }
            let entry = try await tested.entry(id, is: .failed)
            #expect(entry.problem?.code == "timeout" && entry.problem?.isOutcomeUnknown == true)
            #expect(entry.attempts == 4)
        }
    }

    @Test(arguments: [(2.0, 5_000), (60.0, 60_000)] as [(Double, Int64)])
    func theLongerOf5SecondsAndRetryAfterIsWaited(asked: Double, waited: Int64) async throws {
        try await withOutbox { tested in
            let id = try await tested.enqueue("T1")
            await tested.transport.next().fail(.retry(after: asked, code: "rateLimit", "busy"))
            await tested.clock.sleeping(until: waited)
            #expect(tested.clock.deadlines == [waited])
            tested.clock.advance(to: waited)
            await tested.transport.next().succeed()
            try await tested.entry(id, is: .synced)
        }
    }

    @Test func anEntryThatWaitsToBeSentAgainIsQueuedWhenTheConnectionIsLost() async throws {
        try await withOutbox { tested in
            let id = try await tested.enqueue("T1")
            await tested.transport.next().fail(.retry(code: "reset", "reset"))
            await tested.clock.sleeping(until: 5_000)
            _ = try await tested.enqueue("I1", "media")
            await tested.transport.next().fail(.offline("refused"))
            let entry = try await tested.entry(id, is: .queued)
            #expect(entry.attempts == 1)
        }
    }

    @Test func aRejectedEntryFailsAtOnce() async throws {
        try await withOutbox { tested in
            let id = try await tested.enqueue("T1")
            await tested.transport.next().fail(.reject(code: "invalid", "title: is longer than 1024 bytes"))
            let entry = try await tested.entry(id, is: .failed)
            #expect(entry.attempts == 1 && entry.problem?.isOutcomeUnknown == false)
        }
    }
}

struct FailedEntryTests {
    /// One entry that failed.
    private func fail(_ tested: TestedOutbox, _ text: String) async throws -> String {
        let id = try await tested.enqueue(text)
        await tested.transport.next().fail(.reject(code: "forbidden", "no"))
        try await tested.entry(id, is: .failed)
        return id
    }

    @Test func aFailedEntryStaysListedAndDoesNotBlockItsLane() async throws {
        try await withOutbox { tested in
            let failed = try await fail(tested, "T1")
            let next = try await tested.enqueue("T2")
            await tested.transport.next().succeed()
            try await tested.entry(next, is: .synced)
            #expect(await tested.outbox.entries.map(\.id) == [failed, next])
            #expect(await tested.outbox.entry(failed)?.state == .failed)
        }
    }

    @Test func entriesAreListedOldestFirstAlsoAfterAResendAndARestart() async throws {
        try await withOutbox { tested in
            let first = try await fail(tested, "T1")
            let second = try await fail(tested, "T2")
            let third = try await tested.enqueue("T3")
            try await tested.outbox.resend(first)
            #expect(await tested.outbox.entries.map(\.id) == [first, second, third])
            try await tested.restart(isStarted: false)
            #expect(await tested.outbox.entries.map(\.id) == [first, second, third])
        }
    }

    @Test func aResentEntryGoesToTheEndOfItsLaneWithItsKeyAndItsTime() async throws {
        try await withOutbox { tested in
            let failed = try await fail(tested, "T1")
            let created = await tested.outbox.entry(failed)?.createdAt
            let second = try await tested.enqueue("T2")
            let third = try await tested.enqueue("T3")
            tested.clock.advance(by: 60_000)
            try await tested.outbox.resend(failed)
            for id in [second, third, failed] {
                let request = await tested.transport.next()
                #expect(request.entry.id == id)
                request.succeed()
            }
            try await tested.entry(failed, is: .synced)
            #expect(await tested.outbox.entry(failed)?.createdAt == created)
            await #expect(throws: OutboxRefusal.notFailed(second)) { try await tested.outbox.resend(second) }
            await #expect(throws: OutboxRefusal.unknownEntry("x")) { try await tested.outbox.resend("x") }
        }
    }

    @Test func discardRemovesOneAndDiscardFailedAll() async throws {
        try await withOutbox { tested in
            let first = try await fail(tested, "T1")
            _ = try await fail(tested, "T2")
            _ = try await fail(tested, "T3")
            let pending = try await tested.enqueue("T4")
            try await tested.outbox.discard(first)
            #expect(await tested.outbox.entry(first) == nil)
            #expect(try await tested.outbox.discardFailed() == 2)
            #expect(await tested.outbox.entries.map(\.id) == [pending])
            await #expect(throws: OutboxRefusal.unknownEntry(first)) { try await tested.outbox.discard(first) }
        }
    }
}
