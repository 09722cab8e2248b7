import Foundation
import Testing
import TraylogClient

struct KeptEntryTests {
    @Test func aSyncedEntryLeavesTheListWhenTheLogIsCompacted() async throws {
        try await withOutbox { tested in
            let id = try await tested.enqueue("T1")
            await tested.transport.next().succeed()
            try await tested.entry(id, is: .synced)
            #expect(await tested.outbox.entries.map(\.id) == [id])
            try await tested.outbox.compact()
            #expect(await tested.outbox.entries.isEmpty)
            #expect(await tested.outbox.outcome(of: id) == .over)
        }
    }

    @Test func theLogIsCompactedByItself() async throws {
        var options = OutboxOptions()
        options.compactionEvents = 20
        try await withOutbox(options) { tested in
            for index in 0..<40 {
                let id = try await tested.enqueue("T\(index)")
                await tested.transport.next().succeed()
                try await tested.entry(id, is: .synced)
            }
            #expect(await tested.outbox.entries.count < 15)
        }
    }

    @Test func aCompactionThatCannotBeWrittenChangesNothing() async throws {
        let (storage, transport) = (MemoryStorage(), ScriptedTransport())
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("outbox-\(UUID())").path
        let outbox = try Outbox(storage: storage, attachments: directory, transport: transport)
        await outbox.start()
        let id = try await outbox.enqueue([1], lane: "text").id
        await transport.next().succeed()
        #expect(await outbox.outcome(of: id) == .synced(receipt: Array("ok".utf8)))
        storage.isFull = true
        await #expect(throws: DeviceFailure.self) { try await outbox.compact() }
        #expect(await outbox.entries.map(\.id) == [id])
        storage.isFull = false
        try await outbox.compact()
        #expect(await outbox.entries.isEmpty)
        // The log has no rows that a compaction forgot.
        let again = try Outbox(storage: storage, attachments: directory, transport: transport)
        #expect(await again.entries.isEmpty)
        await again.close()
        await outbox.close()
    }

    @Test func aCallerThatIsCancelledWaitsNoLongerForAnOutcome() async throws {
        try await withOutbox { tested in
            let id = try await tested.enqueue("T1")
            let request = await tested.transport.next()
            let outbox = tested.outbox
            let waiter = Task { await outbox.outcome(of: id) }
            let other = Task { await outbox.outcome(of: id) }
            await Task.yield()
            waiter.cancel()
            #expect(await waiter.value == .pending)
            let late = Task {
                unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
                return await outbox.outcome(of: id)
            }
            #expect(await late.value == .pending)
            request.succeed()
            #expect(await other.value == .synced(receipt: Array("ok".utf8)), "the entry went on")
        }
    }

    @Test func everyEntryHasAKeyOfItsOwn() async throws {
        try await withOutbox { tested in
            let ids = [try await tested.enqueue("same"), try await tested.enqueue("same")]
            #expect(Set(ids).count == 2)
            try await tested.outbox.enqueue([1], lane: "text", id: "chosen")
            await #expect(throws: OutboxRefusal.repeatedID("chosen")) {
                try await tested.outbox.enqueue([1], lane: "text", id: "chosen")
            }
        }
    }

    @Test func anAttachmentIsKeptUntilItsEntryIsOverAndUploadedOnce() async throws {
        try await withOutbox { tested in
            let path = try tested.file("photo.jpg", 1_000)
            let id = try await tested.outbox.enqueue([1], lane: "media", attachment: path).id
            try FileManager.default.removeItem(atPath: path)
            let kept = "\(tested.directory)/attachments/\(id)"
            #expect(FileManager.default.fileExists(atPath: kept))
            await tested.transport.next().succeed("https://files/1")
            let send = await tested.transport.next()
            #expect(send.entry.attachment?.name.hasSuffix("photo.jpg") == true)
            #expect(send.entry.attachment?.byteCount == 1_000)
            send.fail(.retry(code: "server", "503"))
            await tested.clock.sleeping(until: 5_000)
            tested.clock.advance(to: 5_000)
            let again = await tested.transport.next()
            #expect(!again.isUpload)
            again.succeed()
            try await tested.entry(id, is: .synced)
            #expect(!FileManager.default.fileExists(atPath: kept))
        }
    }

    @Test func anOutboxAtItsLimitsRefusesByNameAndLosesNothing() async throws {
        var options = OutboxOptions()
        (options.entryLimit, options.attachmentByteLimit) = (2, 1_000)
        try await withOutbox(options) { tested in
            let large = try tested.file("large", 1_001)
            await #expect(throws: OutboxRefusal.attachmentsFull(limit: 1_000)) {
                try await tested.outbox.enqueue([1], lane: "media", attachment: large)
            }
            await #expect {
                try await tested.outbox.enqueue([1], lane: "media", attachment: "/nowhere/at/all")
            } throws: { ($0 as? OutboxRefusal)?.name == "unreadableAttachment" }
            let ids = [try await tested.enqueue("T1"), try await tested.enqueue("T2")]
            await #expect(throws: OutboxRefusal.outboxFull(limit: 2)) { try await tested.enqueue("T3") }
            #expect(await tested.outbox.entries.map(\.id) == ids)
        }
    }

    @Test func aDamagedEventIsReportedAndTheOtherEntriesStay() async throws {
        try await withOutbox(isStarted: false) { tested in
            let storage = MemoryStorage()
            let outbox = try Outbox(
                storage: storage, attachments: tested.directory + "/files", transport: tested.transport)
            let first = try await outbox.enqueue(Array("T1".utf8), lane: "text").id
            let second = try await outbox.enqueue(Array("T2".utf8), lane: "text").id
            storage.flip(byte: 12, of: 1, in: .outbox)
            let again = try Outbox(
                storage: storage, attachments: tested.directory + "/files", transport: tested.transport)
            #expect(await again.damage.count == 1)
            #expect(await again.entries.map(\.id) == [second])
            #expect(await again.entry(first) == nil)
        }
    }

    @Test func aFullDiskRefusesAnEntryAndAnsweredOnesAreSentAgainRatherThanLost() async throws {
        try await withOutbox(isStarted: false) { tested in
            let storage = MemoryStorage()
            let outbox = try Outbox(
                storage: storage, attachments: tested.directory + "/files", transport: tested.transport,
                clock: tested.clock)
            await outbox.start()
            let id = try await outbox.enqueue(Array("T1".utf8), lane: "text").id
            let request = await tested.transport.next()
            storage.isFull = true
            await #expect {
                try await outbox.enqueue(Array("T2".utf8), lane: "text")
            } throws: { ($0 as? OutboxRefusal)?.name == "diskFull" }
            request.succeed()
            await tested.clock.sleeping(until: 5_000)
            storage.isFull = false
            tested.clock.advance(to: 5_000)
            let again = await tested.transport.next()
            #expect(again.entry.id == id, "the same key makes the repetition harmless")
            again.succeed()
            #expect(await outbox.outcome(of: id) == .synced(receipt: Array("ok".utf8)))
        }
    }
}
