import Testing
import TestSupport
import TraylogPlatform
@_spi(Internals) @testable import Traylog
@testable import TraylogObservation
@testable import TraylogDomain
@testable import TraylogWriter

/// A tray as a sequence, in the process that writes.
@Suite struct TrayUpdatesTests {
    private func withStore(_ body: (Store) async throws -> Void) async throws {
        try await withStorePath { path in
            let store = try Store.open(path)
            defer { store.close() }
            try await body(store)
        }
    }

    @Test func anObserverGetsThePresentStateFirst() async throws {
        try await withStore { store in
            _ = try await store.perform(notify("ann"))
            var trays = store.trayUpdates(of: "ann").makeAsyncIterator()
            #expect(try await trays.next() == store.tray(of: "ann"))
            var nobody = store.trayUpdates(of: "bob").makeAsyncIterator()
            #expect(try await nobody.next() == Tray(user: "bob", asOf: 1))
        }
    }

    @Test func aUserWithoutEventsGetsTheFirst() async throws {
        try await withStore { store in
            var trays = store.trayUpdates(of: "ann").makeAsyncIterator()
            #expect(try await trays.next()?.total == 0)
            _ = try await store.perform(notify("ann"))
            #expect(try await trays.next()?.total == 1)
        }
    }

    @Test func anUnchangedTrayIsNotEmitted() async throws {
        try await withStore { store in
            var trays = store.trayUpdates(of: "ann").makeAsyncIterator()
            _ = try await trays.next()
            _ = try await store.perform(Command(user: "ann", .mute(.thread("t"))))
            _ = try await store.perform(notify("bob"))
            _ = try await store.perform(notify("ann"))
            let tray = try #require(try await trays.next())
            #expect(tray.unread == 1)
            #expect(tray.asOf == 3)
        }
    }

    @Test func eventsOfOthersRaiseNoSignal() async throws {
        try await withStore { store in
            let observation = try #require(try store.queries.hub.observe(user: "ann"))
            _ = try await store.perform(notify("bob"))
            let isRaised = Task { await observation.signal.wait() }
            isRaised.cancel()
            #expect(await isRaised.value == false)
            _ = try await store.perform(notify("ann"))
            #expect(await observation.signal.wait())
        }
    }

    @Test func aTopicWakesEverybody() async throws {
        try await withStore { store in
            let observation = try #require(try store.queries.hub.observe(user: "ann"))
            store.queries.hub.publish(Touched(topics: true))
            #expect(await observation.signal.wait())
        }
    }

    @Test func aSlowObserverGetsTheNewestStateOnly() async throws {
        try await withStore { store in
            var trays = store.trayUpdates(of: "ann").makeAsyncIterator()
            _ = try await trays.next()
            for _ in 0..<100 { _ = try await store.perform(notify("ann")) }
            #expect(try await trays.next()?.total == 100)
        }
    }

    @Test func noStateIsOlderThanTheOneBeforeUnderAFastWriter() async throws {
        try await withStore { store in
            let writer = startThread("writer") {
                for _ in 0..<2_000 { _ = try? store.perform(notify("ann")) }
            }
            var last = Tray(user: "ann", asOf: 0)
            var count = 0
            for try await tray in store.trayUpdates(of: "ann") {
                #expect(count == 0 || (tray.asOf > last.asOf && tray.total > last.total))
                last = tray
                count += 1
                if tray.total == 2_000 { break }
            }
            writer.join()
            #expect(last.unseen == 2_000)
        }
    }

    @Test func cancellingTheTaskEndsTheIteration() async throws {
        try await withStore { store in
            let trays = Task { try await store.trayUpdates(of: "ann").reduce(0) { count, _ in count + 1 } }
            while store.queries.hub.count == 0 { await Task.yield() }
            trays.cancel()
            let count = try await trays.value
            #expect(count <= 1)
            #expect(store.queries.hub.count == 0)
        }
    }

    @Test func closingTheStoreEndsTheIteration() async throws {
        try await withStore { store in
            let tasks = (0..<10).map { user in
                Task {
                    var count = 0
                    for try await _ in store.trayUpdates(of: "user\(user)") { count += 1 }
                    return count
                }
            }
            while store.queries.hub.count < 10 { await Task.yield() }
            await store.close()
            for task in tasks {
                let count = try await task.value
                #expect(count <= 1)
            }
            var late = store.trayUpdates(of: "ann").makeAsyncIterator()
            #expect(try await late.next() == nil)
            #expect(store.queries.hub.count == 0)
        }
    }

    @Test func anInvalidUserIsThrownOnce() async throws {
        try await withStore { store in
            var trays = store.trayUpdates(of: "").makeAsyncIterator()
            await #expect(throws: TraylogError.self) { try await trays.next() }
            let next = try await trays.next()
            #expect(next == nil)
        }
    }

    @Test func aThousandObserversComeAndGo() async throws {
        try await withStore { store in
            for round in 0..<3 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for user in 0..<1_000 {
                        group.addTask {
                            for try await tray in store.trayUpdates(of: "user\(user)") where tray.total > round {
                                return
                            }
                        }
                    }
                    while store.queries.hub.count < 1_000 { await Task.yield() }
                    _ = try await store.perform((0..<1_000).map { notify("user\($0)") })
                    try await group.waitForAll()
                }
                #expect(store.queries.hub.count == 0)
            }
        }
    }

    @Test func iteratorsThatAreNotUsedUpAreForgotten() async throws {
        try await withStore { store in
            do {
                var trays = store.trayUpdates(of: "ann").makeAsyncIterator()
                _ = try await trays.next()
                #expect(store.queries.hub.count == 1)
            }
            #expect(store.queries.hub.count == 0)
            _ = try await store.perform(notify("ann"))
        }
    }
}
