import Testing
import Traylog
import TraylogClient

/// The undo of an entry that left the device and got no answer.
struct AnswerlessUndoTests {
    private func withRead(
        _ options: TrayClientOptions, _ body: (TestedClient, OutboxEntry) async throws -> Void
    ) async throws {
        try await withClient(options: options, before: { _ = try $0.blocking.perform(.notify("ann", title: "n")) }) {
            tested in
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            tested.service.weather = .mute
            try await body(tested, try await tested.client.mark(.read, [.seq(1)]))
        }
    }

    /// The mark is sent once, and fails without an answer.
    private func withFailedRead(_ body: (TestedClient, OutboxEntry) async throws -> Void) async throws {
        var options = TestedClient.quick
        options.outbox.retries = 0
        try await withRead(options) { tested, mark in
            while await tested.client.outbox.entry(mark.id)?.state != .failed { await Task.yield() }
            try await body(tested, mark)
        }
    }

    private func expectUndone(_ tested: TestedClient, _ mark: OutboxEntry) async throws {
        #expect(try await tested.client.undo(mark.id) != mark.id)
        #expect(await tested.client.tray.tray.unread == 1)
        tested.service.weather = .fine
        #expect(await tested.client.wait(for: .synced, seconds: 30))
        try await tested.expectEqual()
        #expect(await tested.client.tray.tray.unread == 1)
        let events = try await tested.service.store.history(of: "ann").elements
        #expect(events.map(\.kind) == [.notified, .marked, .undone])
    }

    @Test func undoFollowsAMarkThatWasQueuedAgain() async throws {
        try await withRead(TestedClient.quick) { tested, mark in
            while try await tested.service.store.log.head() < 2 { await Task.yield() }
            tested.service.weather = .offline
            while await tested.client.outbox.entry(mark.id)?.state != .queued { await Task.yield() }
            #expect(await tested.client.outbox.entry(mark.id)?.mayHaveArrived == true)
            try await expectUndone(tested, mark)
        }
    }

    @Test func aMarkThatFailedWithoutAnAnswerIsResentAndUndone() async throws {
        try await withFailedRead { tested, mark in
            tested.service.weather = .fine
            try await expectUndone(tested, mark)
        }
    }

    @Test func anUndoOfAnUnansweredMarkFailsAndStaysListed() async throws {
        try await withFailedRead { tested, mark in
            let undo = try await tested.client.undo(mark.id)
            while await tested.client.outbox.entry(undo)?.state != .failed { await Task.yield() }
            #expect(await tested.client.outbox.entry(undo)?.problem?.code == "unknownOutcome")
            tested.service.weather = .fine
            try await tested.client.outbox.resend(mark.id)
            try await tested.client.outbox.resend(undo)
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            try await tested.expectEqual()
            #expect(await tested.client.tray.tray.unread == 1)
        }
    }

    @Test func undoRemovesAMarkThatFoundNoConnection() async throws {
        try await withClient(before: { _ = try $0.blocking.perform(.notify("ann", title: "n")) }) { tested in
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            tested.service.weather = .offline
            let mark = try await tested.client.mark(.read, [.seq(1)])
            while await tested.client.outbox.isOnline { await Task.yield() }
            #expect(await tested.client.outbox.entry(mark.id)?.mayHaveArrived == false)
            #expect(try await tested.client.undo(mark.id) == mark.id)
            #expect(await tested.client.tray.tray.unread == 1)
        }
    }
}
