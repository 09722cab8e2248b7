import Testing
import TestSupport
import Traylog

/// A refusal's message is true of every call that can meet it.
@Suite struct RefusalMessageTests {
    @Test func anItemIsUnknownInWordsThatFitTheCall() async throws {
        let store = try Store.temporary()
        try await store.notify("ann", title: "Hers")
        try await store.subscribe("ann", to: "news")
        let broadcast = try #require(try await store.broadcast(to: "news", Content(title: "Everybody's")).seq)
        let edit = ContentEdit(title: .set("Other"))
        let calls: [() async throws -> Void] = [
            { _ = try await store.item(99, of: "ann") }, { try await store.mark(.read, 99, of: "ann") },
            { try await store.edit(broadcast, of: "ann", edit) }, { try await store.editBroadcast(1, edit) },
        ]
        for (call, seq) in zip(calls, [99, 99, broadcast, 1]) {
            let expected =
                "item \(seq) was never in this tray, or a broadcast was named with a user, or another item without one"
            let error = await #expect(throws: TraylogError.self) { try await call() }
            #expect(error?.refusal?.code == .unknownItem && error?.message == expected)
        }
        await store.close()
    }

    @Test func anEventIsUnknownInWordsThatFitTheCall() async throws {
        let store = try Store.temporary()
        try await store.notify("ann", title: "Hers")
        let calls: [() async throws -> Void] = [
            { _ = try await store.log.event(99) }, { try await store.undo(99, of: "ann") },
            { try await store.undo(1, of: "bob") },
        ]
        for (call, seq) in zip(calls, [99, 99, 1]) {
            let error = await #expect(throws: TraylogError.self) { try await call() }
            #expect(error?.message == "event \(seq) is not in the log, or an undo names somebody else's event")
        }
        await store.close()
    }

    @Test func aTransactionSaysWhichCommandWasRefused() async throws {
        let store = try Store.temporary()
        let good: Command = .notify("ann", title: "x")
        let results = try await store.perform([good, .undo(99, of: "ann"), good], mode: .atomic)
        #expect(results.count == 2 && results.last == .failure(.unknownEvent(99)))
        #expect(try await store.log.head() == 0)
        await store.close()
    }
}
