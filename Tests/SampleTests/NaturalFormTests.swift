import Foundation
import Testing
import Traylog
import TraylogFoundation

/// What somebody writes who has not read the documentation yet.
///
/// These tests have no access to the package: they see what any program sees.
@Suite struct NaturalFormTests {
    private struct Build: Codable, Equatable { var number: Int }

    /// A helper of an app's own, which holds the store.
    private struct Service {
        let store: Store

        func post() async throws { try await store.notify("ann", title: "Hi") }
    }

    @Test func valuesTravelAsJSON() async throws {
        let store = try Store.temporary()
        try await store.perform(JSONDecoder().decode(Command.self, from: Data(#"{"kind":"notify","user":"ann"}"#.utf8)))
        let tray = try await store.tray(of: "ann")
        #expect(try JSONDecoder().decode(Tray.self, from: JSONEncoder().encode(tray)) == tray)
        let item = try await store.inbox(of: "ann").elements[0]
        #expect(try JSONDecoder().decode(Item.self, from: JSONEncoder().encode(item)) == item)
        await store.close()
    }

    /// What a thread does: no `await`.
    private func onThread<Answer>(_ body: () throws -> Answer) rethrows -> Answer { try body() }

    @Test func tasksWaitAndThreadsSaySo() async throws {
        let store = try Store.temporary()
        try await Service(store: store).post()
        var trays: [Tray] = []
        for user in ["ann", "bob"] { trays.append(try await store.tray(of: user)) }
        #expect(trays.map(\.unseen) == [1, 0])
        #expect(try onThread { try ["ann", "bob"].map { try store.blocking.tray(of: $0).unseen } } == [1, 0])
        await store.close()
    }

    @Test func namesOfTheAppsOwnWin() async throws {
        struct Item { var title: String }
        enum Command { case refresh }
        let store: Traylog.Store = try .temporary()
        try await store.notify("ann", Traylog.Content(title: "Hi"))
        let items = try await store.inbox(of: "ann").elements.map { Item(title: $0.content.title ?? "") }
        #expect(items.map(\.title) == ["Hi"])
        _ = Command.refresh
        await store.close()
    }

    @Test func foundationIsThere() async throws {
        let url = URL(filePath: NSTemporaryDirectory()).appending(path: "traylog-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: url) }
        let store = try Store.open(url)
        let inAnHour = Timestamp.now + .seconds(3_600)
        var content = Content(title: "Build", expiresAt: inAnHour)
        try content.encodeData(Build(number: 17))
        try await store.notify("ann", content)
        let item = try await store.inbox(of: "ann").elements[0]
        #expect(try item.content.decodeData(as: Build.self) == Build(number: 17))
        #expect(abs(Date(item.recordedAt).timeIntervalSinceNow) < 3_600)
        try await store.perform(.snooze(.seq(item.seq), of: "ann", until: Timestamp(Date(timeIntervalSinceNow: 3_600))))
        #expect(try await store.inbox(of: "ann").elements.isEmpty)
        await store.close()
    }

    @Test func numbersAddUpAndBadgesAreInts() async throws {
        let store = try Store.temporary()
        try await store.notify("ann", title: "1")
        let second = try await store.notify("ann", title: "2")
        let badge: Int = try await store.tray(of: "ann").unseen
        #expect(badge == 2)
        for try await event in store.follow(after: 1) {
            #expect(event.seq == second.seq && event.seq == Seq(1) + 1)
            break
        }
        await store.close()
    }

    @Test func theUsualCallsAreOneLine() async throws {
        let store = try Store.temporary()
        try await store.notify("ann", title: "1", thread: "ci", key: "build-1")
        let item = try await store.item("build-1", of: "ann")
        try await store.mark(.read, item.seq, of: "ann")
        try await store.seeTray(of: "ann")
        let tray = try await store.tray(of: "ann")
        #expect(tray.isSeen && tray.seenAt != nil)
        #expect(try await store.inbox(of: "ann", InboxQuery(ItemFilter(thread: "ci"))).elements.map(\.isRead) == [true])
        let group = try await store.threads(of: "ann").elements[0]
        #expect((group.more, group.names) == (0, []))
        var fetcher: InboxFetcher<Store>?
        fetcher = try InboxFetcher(store, of: "ann")
        #expect(try await fetcher?.fetchNew().new.count == 1)
        #expect(try await store.life(of: "build-1", of: "ann").events.map(\.kind).contains(.marked))
        #expect(try await store.log.events(matching: EventFilter(), newestFirst: true, limit: 1).elements.count == 1)
        await store.close()
    }

    @Test func aStoreClosesWithoutBlockingATask() async throws {
        let store = try Store.temporary()
        try await withThrowingDiscardingTaskGroup { tasks in
            for number in 0..<100 {
                tasks.addTask { try await store.notify("user-\(number)", title: "Hi") }
            }
        }
        await store.close()
        await store.close()
    }

    @Test func aRedoIsTheActAgain() async throws {
        let store = try Store.temporary()
        try await store.notify("ann", title: "1")
        let read = try await store.markAll(.read, of: "ann")
        let undone = try await store.undo(read.seq ?? 0, of: "ann")
        await #expect(throws: TraylogError.refused(.notUndoable(undone.seq ?? 0, kind: .undone))) {
            try await store.undo(undone.seq ?? 0, of: "ann")
        }
        try await store.markAll(.read, of: "ann")
        #expect(try await store.tray(of: "ann").unread == 0)
        await store.close()
    }

    @Test func whatOneGuessesIsThere() async throws {
        let store = try Store.temporary()
        try await store.notify("ann", title: "1", key: "one")
        try await store.snooze("one", of: "ann", until: .now + .seconds(60))
        do throws(TraylogError) {
            try await store.mark(.read, [Seq(9)], of: "ann")
            Issue.record("an item that never was is marked")
        } catch {
            #expect(error.refusal?.code == .unknownItem)
        }
        let report = try await store.proofs.auditReport(of: "ann")
        let head = try await store.proofs.treeHead()
        #expect(report.steps.map(\.seq) == [1, 2] && report.treeHead == head)
        await store.close()
    }

    @Test func errorsSayWhatToDo() async throws {
        let store = try Store.temporary()
        do {
            try await store.perform(.wake(9, of: "ann"))
            Issue.record("nothing sleeps")
        } catch {
            switch error {
            case .refused(let refusal): #expect(refusal == .unknownItem(9))
            case .failed(let failure): Issue.record("\(failure)")
            }
        }
        await store.close()
        do {
            _ = try await store.tray(of: "bob")
            Issue.record("it is closed")
        } catch {
            #expect(!error.isTransient)
        }
    }
}
