import Foundation
import TestSupport
import Testing
import TraylogClient

struct RestartTests {
    @Test func aRestartFailsEntriesUnderWayAndKeepsQueuedOnes() async throws {
        try await withOutbox { tested in
            let first = try await tested.enqueue("T1")
            let second = try await tested.enqueue("T2")
            _ = await tested.transport.next()
            try await tested.restart()
            #expect(await tested.outbox.entry(first)?.state == .failed)
            #expect(await tested.outbox.entry(first)?.problem?.isOutcomeUnknown == true)
            let request = await tested.transport.next()
            #expect(request.entry.id == second)
        }
    }

    @Test func resumedEntriesKeepTheirKeysAfterARestart() async throws {
        try await withOutbox { tested in
            let first = try await tested.enqueue("T1")
            _ = await tested.transport.next()
            var options = OutboxOptions()
            options.restart = .resume
            try await tested.restart(options)
            let request = await tested.transport.next()
            #expect(request.entry.id == first && request.text == "T1")
        }
    }

    @Test func marksResumeByDefault() async throws {
        try await withOutbox { tested in
            let mark = try await tested.enqueue("M1", "marks")
            _ = await tested.transport.next()
            try await tested.restart()
            #expect(await tested.transport.next().entry.id == mark)
        }
    }

    @Test func theOrderOfAResentEntrySurvivesARestart() async throws {
        try await withOutbox { tested in
            let first = try await tested.enqueue("T1")
            await tested.transport.next().fail(.reject(code: "forbidden", "no"))
            try await tested.entry(first, is: .failed)
            await tested.outbox.setOffline(true)
            let second = try await tested.enqueue("T2")
            try await tested.outbox.resend(first)
            try await tested.restart()
            for id in [second, first] {
                let request = await tested.transport.next()
                #expect(request.entry.id == id)
                request.succeed()
            }
        }
    }

    @Test func replayGivesTheSameStateAfterAnyHistory() async throws {
        for seed in seeds(5, nightly: 200) {
            var random = SeededRandom(seed: seed)
            try await withOutbox(isStarted: true) { tested in
                for _ in 0..<60 {
                    switch random.next() % 8 {
                    case 0...3:
                        _ = try await tested.enqueue("T", ["text", "media", "marks"].randomElement(using: &random)!)
                    case 4:
                        let failed = await tested.outbox.entries.filter { $0.state == .failed }
                        if let entry = failed.randomElement(using: &random) { try await tested.outbox.resend(entry.id) }
                    case 5:
                        let pending = await tested.outbox.entries.filter { !$0.isOver }
                        if let entry = pending.randomElement(using: &random) {
                            // An answer may have ended it by now.
                            try? await tested.outbox.discard(entry.id)
                        }
                    default:
                        guard tested.transport.untaken > 0 else { continue }
                        let request = await tested.transport.next()
                        let answers: [Result<[UInt8], OutboxFailure>] = [
                            .success([1]), .failure(.reject(code: "x", "y")), .failure(.retry(code: "x", "y")),
                        ]
                        request.answer(answers.randomElement(using: &random)!)
                    }
                }
                await tested.outbox.setOffline(true)
                let before = await tested.outbox.entries.map(Remembered.init)
                try await tested.restart(isStarted: false)
                #expect(await tested.outbox.entries.map(Remembered.init) == before, "seed \(seed)")
                try await tested.outbox.compact()
                let live = await tested.outbox.entries.map(Remembered.init)
                #expect(live == before.filter { $0.state != .synced }, "seed \(seed)")
                try await tested.restart(isStarted: false)
                #expect(await tested.outbox.entries.map(Remembered.init) == live, "compacted, seed \(seed)")
            }
        }
    }

    @Test func aDirectoryBelongsToOneProcessAtATime() async throws {
        try await withOutbox { tested in
            #expect {
                _ = try Outbox(directory: tested.directory, transport: tested.transport)
            } throws: { ($0 as? DeviceFailure)?.code == .inUse }
        }
    }

    @Test func loggingOutEndsSendingAndLeavesNothingOnTheDisk() async throws {
        try await withOutbox { tested in
            _ = try await tested.outbox.enqueue(
                Array("a secret".utf8), lane: "media", attachment: try tested.file("photo", 100))
            _ = await tested.transport.next()
            try await tested.outbox.logOut()
            let files = FileManager.default.enumerator(atPath: tested.directory)?.allObjects.count ?? 0
            #expect(files == 0)
            await #expect(throws: OutboxRefusal.closed) { try await tested.outbox.enqueue([1], lane: "text") }
        }
    }
}

/// A stopped outbox keeps its entries across a restart.
private struct Remembered: Equatable {
    let id: String
    let lane: String
    let state: OutboxEntry.State
    let attempts: Int
    let createdAt: String

    init(_ entry: OutboxEntry) {
        (id, lane, state, attempts) = (entry.id, entry.lane, entry.state, entry.attempts)
        createdAt = entry.createdAt.description
    }
}
