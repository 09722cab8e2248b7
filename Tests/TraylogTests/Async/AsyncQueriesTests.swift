import Dispatch
import Synchronization
import Testing
import TestSupport
import TraylogLMDB
@_spi(Operations) @testable import Traylog
@testable import TraylogDomain
@testable import TraylogQueries

/// Queries of tasks: the same answers, and nobody left waiting.
@Suite struct AsyncQueriesTests {
    private struct Answers: Equatable {
        var head: Seq
        var tray: Tray
        var inbox: Page<Item, Cursor>
        var threads: Page<ThreadGroup, Cursor>
        var history: [Event]
        var events: [Event]
        var users: [String]
    }

    private func blocking(_ store: some BlockingQueries) throws -> Answers {
        Answers(
            head: try store.head(), tray: try store.tray(of: "ann"),
            inbox: try store.inbox(of: "ann", InboxQuery(limit: 2)), threads: try store.threads(of: "ann", limit: 1),
            history: try store.history(of: "ann", from: 2, limit: 3).elements,
            events: try store.events(from: 3, limit: 2).elements,
            users: try store.users(after: "ann", limit: 1).elements)
    }

    private func waiting(_ store: some TrayQueries) async throws -> Answers {
        Answers(
            head: try await store.log.head(), tray: try await store.tray(of: "ann"),
            inbox: try await store.inbox(of: "ann", InboxQuery(limit: 2)),
            threads: try await store.threads(of: "ann", limit: 1),
            history: try await store.history(of: "ann", from: 2, limit: 3).elements,
            events: try await store.log.events(from: 3, limit: 2).elements,
            users: try await store.users(after: "ann", limit: 1).elements)
    }

    @Test func asyncQueriesAnswerLikeBlockingOnes() async throws {
        try await withStorePath { path in
            let store = try Store.open(path)
            for user in ["ann", "bob", "ann", "cy", "ann"] { _ = try await store.perform(notify(user)) }
            let expected = try blocking(store)
            let found = try await waiting(store)
            let statistics = try await store.upkeep.statistics()
            #expect(found == expected && statistics.head == 5)
            await store.close()
            let reader = try StoreReader.open(path)
            defer { reader.close() }
            let read = try await waiting(reader)
            #expect(read == expected)
        }
    }

    @Test func aTaskGetsTheRefusalOfItsCall() async throws {
        try await withStorePath { path in
            let store = try Store.open(path)
            defer { store.close() }
            await #expect(throws: TraylogError.refused(.invalid(field: "limit", reason: "must be 1 to 100, not 0"))) {
                try await store.inbox(of: "ann", InboxQuery(limit: 0))
            }
        }
    }

    /// A console counts damaged trays and looks for holds along the whole store while somebody waits for its first page.
    @Test(.timeLimit(.minutes(1))) func longQueriesAndScansOfTheWholeStoreDoNotWaitForEachOther() async throws {
        try await withStorePath { path in
            let store = try Store.open(path)
            _ = try await store.perform(notify("ann"))
            let held = HeldThreads()
            let scans = (0..<2).map { _ in Task { try await store.askingOfAll { _ in held.hold() } } }
            try await held.begin(2)
            #expect(try await store.users(limit: 1).elements == ["ann"])
            try await held.end(scans)

            let queries = (0..<2).map { _ in Task { try await store.asking(atLength: true) { _ in held.hold() } } }
            try await held.begin(2)
            #expect(try await store.upkeep.statistics().head == 1)
            #expect(try await store.upkeep.legalHolds().events.isEmpty)
            try await held.end(queries)
            await store.close()
        }
    }

    private final class HeldThreads: Sendable {
        private let begun = Mutex(0)
        private let mayEnd = DispatchSemaphore(value: 0)

        func hold() {
            begun.withLock { $0 += 1 }
            mayEnd.wait()
        }

        func begin(_ count: Int) async throws {
            while begun.withLock({ $0 }) < count { try await Task.sleep(for: .milliseconds(1)) }
        }

        func end(_ tasks: [Task<Void, any Error>]) async throws {
            for _ in tasks { mayEnd.signal() }
            for task in tasks { try await task.value }
            begun.withLock { $0 = 0 }
        }
    }

    @Test func closingAStoreAnswersAllWaitingTasks() async throws {
        try await withStorePath { path in
            let store = try Store.open(path)
            _ = try await store.perform(notify("ann"))
            let callers = (0..<20).map { _ in
                Task {
                    while true {
                        do throws(TraylogError) {
                            let tray = try await store.tray(of: "ann")
                            #expect(tray.total == 1)
                            // A tray in memory is answered without a suspension.
                            await Task.yield()
                        } catch {
                            return error
                        }
                    }
                }
            }
            try await Task.sleep(for: .milliseconds(20))
            await store.close()
            for caller in callers {
                guard case .failed(let failure) = await caller.value else {
                    Issue.record("no failure")
                    continue
                }
                #expect(failure.code == .closed)
            }
        }
    }
}
