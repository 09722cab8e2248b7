import Testing
import TestSupport
import TraylogPlatform
@_spi(Internals) @testable import Traylog
@testable import TraylogObservation
@testable import TraylogDomain

/// The log as a sequence, in the process that writes.
@Suite struct LogFollowerTests {
    private func withStore(_ body: (Store) async throws -> Void) async throws {
        try await withStorePath { path in
            let store = try Store.open(path)
            defer { store.close() }
            try await body(store)
        }
    }

    @Test func everyEventComesOnceAndInOrderWhileOthersWrite() async throws {
        try await withStore { store in
            for _ in 0..<300 { _ = try await store.perform(notify("ann")) }
            let writers = (0..<4).map { writer in
                startThread("writer") {
                    for _ in 0..<300 { _ = try? store.perform(notify("user\(writer)")) }
                }
            }
            var seqs: [UInt64] = []
            for try await event in store.follow(from: 1) {
                seqs.append(event.seq.rawValue)
                if seqs.count == 1_500 { break }
            }
            for writer in writers { writer.join() }
            #expect(seqs == Array(1...1_500))
            #expect(store.queries.hub.count == 0)
        }
    }

    @Test func aFollowerWithoutAStartBeginsAfterTheHead() async throws {
        try await withStore { store in
            _ = try await store.perform([notify("ann"), notify("ann")])
            let next = Task {
                var events = store.follow().makeAsyncIterator()
                return try await events.next()?.seq
            }
            while store.queries.hub.count == 0 { await Task.yield() }
            // Until it has looked at the head, more events may come before it.
            for _ in 0..<50 { _ = try await store.perform(notify("bob")) }
            // If it was slower than that, it waits for this one.
            let last = Task {
                while !Task.isCancelled { _ = try await store.perform(notify("bob")) }
            }
            let seq = try #require(try await next.value)
            last.cancel()
            #expect(seq > 2)
        }
    }

    @Test func aStartBeyondTheHeadIsWaitedFor() async throws {
        try await withStore { store in
            let events = Task { try await store.follow(from: 3).first { _ in true } }
            while store.queries.hub.count == 0 { await Task.yield() }
            for user in ["ann", "bob", "cy", "dan"] { _ = try await store.perform(notify(user)) }
            let event = try #require(try await events.value)
            #expect(event.seq == 3)
            #expect(event.user == "cy")
        }
    }

    @Test func cancellingAndClosingEndAFollower() async throws {
        try await withStore { store in
            _ = try await store.perform(notify("ann"))
            let (cancelled, closed) = (counting(store), counting(store))
            while store.queries.hub.count < 2 { await Task.yield() }
            cancelled.cancel()
            #expect(try await cancelled.value <= 1)
            await store.close()
            #expect(try await closed.value <= 1)
            #expect(store.queries.hub.count == 0)
        }
    }

    private func counting(_ store: Store) -> Task<Int, any Error> {
        Task {
            var count = 0
            for try await _ in store.follow(from: 1) { count += 1 }
            return count
        }
    }
}
