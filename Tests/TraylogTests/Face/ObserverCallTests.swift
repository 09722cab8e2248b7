import TraylogCLibrary
import Synchronization
import TestSupport
import Testing
import TraylogDomain
import TraylogPlatform

@_spi(Operations) @_spi(Replication) @testable import Traylog
@testable import TraylogStates

/// Calls on a store from within its observer, for which the store waits.
@Suite(.serialized) struct ObserverCallTests {
    /// Calls a closure for the first commit, or the first of another kind.
    private final class Caller: StoreObserver {
        private let state = Mutex<(store: Store?, call: (@Sendable (Store, StoreActivity) -> Void)?)>((nil, nil))

        func begin(_ store: Store, _ call: @escaping @Sendable (Store, StoreActivity) -> Void) {
            state.withLock { $0 = (store, call) }
        }

        func end() { state.withLock { $0 = (nil, nil) } }

        func observe(_ activity: StoreActivity) {
            let (store, call) = state.withLock { state in
                defer { state.call = nil }
                return (state.store, state.call)
            }
            if let store { call?(store, activity) }
        }
    }

    private func withStore(_ body: (Store, Caller) async throws -> Void) async throws {
        let caller = Caller()
        var options = StoreOptions()
        (options.ticking, options.observer) = (.manual, caller)
        let store = try Store.temporary(options: options)
        try await body(store, caller)
        caller.end()
        await store.close()
    }

    /// The outcome of a call, for a test that waits for it.
    private final class Outcome: Sendable {
        private let results: AsyncStream<Result<Void, TraylogError>>
        private let continuation: AsyncStream<Result<Void, TraylogError>>.Continuation

        init() { (results, continuation) = AsyncStream.makeStream() }

        func note(_ body: () throws -> Void) {
            do {
                try body()
                continuation.yield(.success(()))
            } catch {
                continuation.yield(.failure(TraylogError(error, in: "")))
            }
        }

        func code() async -> StoreFailure.Code? {
            for await result in results {
                guard case .failure(.failed(let failure)) = result else { return nil }
                return failure.code
            }
            return nil
        }
    }

    /// The calls that need the writer.
    private static let writing: [(name: String, call: @Sendable (Store) throws -> Void)] = [
        ("perform", { try $0.blocking.perform(.notify("bob", title: "2")) }),
        ("perform(mode:)", { _ = try $0.blocking.perform([.notify("bob", title: "2")], mode: .each) }),
        ("tick", { try $0.blocking.tick() }),
        ("hold", { try $0.blocking.hold("bob") }),
        ("compact", { try $0.blocking.compact(before: .seq(1)) }),
        ("erase", { try $0.blocking.erase("ann") }),
        ("forgetProjection", { try $0.forgetProjection(named: "none") }),
        ("apply", { try $0.blocking.apply([], expecting: 1, source: SourcePosition(source: "s", position: 1)) }),
    ]

    @Test(arguments: writing.indices)
    func aCallThatNeedsTheWriterFailsAtOnce(index: Int) async throws {
        let (name, call) = Self.writing[index]
        try await withStore { (store: Store, caller: Caller) async throws in
            let outcome = Outcome()
            caller.begin(store) { store, _ in outcome.note { try call(store) } }
            try await store.notify("ann", title: "1")
            let code = await outcome.code()
            if name == "forgetProjection" || name == "compact" {
                // Nothing to forget, or to compact: no call on the writer.
                #expect(code == nil || code == .calledFromObserver, "\(name)")
            } else {
                #expect(code == .calledFromObserver, "\(name)")
            }
            // The store goes on.
            #expect(try await store.perform(.notify("cy", title: "3")).seq == 2, "\(name)")
        }
    }

    @Test func aThreadThatWritesByItselfFailsAtOnce() async throws {
        try await withStore { (store: Store, caller: Caller) async throws in
            // Once the writer rests, the caller writes by itself.
            await onThread {
                for _ in 0..<50 {
                    let outcome = Mutex<TraylogError?>(nil)
                    caller.begin(store) { store, _ in
                        do throws(TraylogError) {
                            try store.blocking.perform(.notify("bob", title: "2"))
                        } catch {
                            outcome.withLock { $0 = error }
                        }
                    }
                    _ = try? store.blocking.perform(.notify("ann", title: "1"))
                    let error = outcome.withLock { $0 }
                    guard case .failed(let failure)? = error else {
                        Issue.record("\(String(describing: error))")
                        return
                    }
                    #expect(failure.code == .calledFromObserver)
                }
            }
            #expect(try await store.tray(of: "bob").total == 0)
        }
    }

    @Test func aQueryInAnObserverSeesTheObservedEvent() async throws {
        try await withStore { (store: Store, caller: Caller) async throws in
            for number in 1...20 {
                let seen = Mutex<(head: Seq, total: UInt64, told: Seq)?>(nil)
                caller.begin(store) { store, activity in
                    guard case .committed(_, let told, _, _) = activity, let head = try? store.blocking.head(),
                        let tray = try? store.blocking.tray(of: "ann")
                    else { return }
                    seen.withLock { $0 = (head, UInt64(tray.total), told) }
                }
                try await store.notify("ann", title: "\(number)")
                let found = try #require(seen.withLock { $0 })
                #expect(found.head == Seq(UInt64(number)) && found.told == found.head && found.total == number)
            }
        }
    }

    @Test func aTaskThatTheObserverDoesNotWaitForPerforms() async throws {
        try await withStore { (store: Store, caller: Caller) async throws in
            let (seqs, continuation) = AsyncStream<Seq?>.makeStream()
            caller.begin(store) { store, _ in
                Task { continuation.yield(try? await store.perform(.notify("bob", title: "2")).seq) }
                // The task reaches the store while this call is under way.
                usleep(50_000)
            }
            try await store.notify("ann", title: "1")
            var answers = seqs.makeAsyncIterator()
            #expect(await answers.next() == .some(2))
        }
    }

    @Test func aTaskThatTheObserverWaitsForFailsInTheEnd() async throws {
        ObserverCall.timeoutMilliseconds.store(200, ordering: .relaxed)
        defer { ObserverCall.timeoutMilliseconds.store(10_000, ordering: .relaxed) }
        try await withStore { (store: Store, caller: Caller) async throws in
            for call: @Sendable (Store) async throws -> Void in [
                { try await $0.perform(.notify("bob", title: "2")) }, { try await $0.tick() },
                { try await $0.upkeep.hold("bob") },
            ] {
                let outcome = Outcome()
                caller.begin(store) { store, _ in
                    let gate = Gate()
                    Task {
                        do {
                            try await call(store)
                            outcome.note {}
                        } catch {
                            outcome.note { throw error }
                        }
                        gate.open()
                    }
                    gate.pass()
                }
                try await store.notify("ann", title: "1")
                #expect(await outcome.code() == .calledFromObserver)
            }
            #expect(try await store.tray(of: "bob").total == 0)
        }
    }

    @Test func anObserverMayWriteIntoAnotherStore() async throws {
        let other = try Store.temporary()
        try await withStore { (store: Store, caller: Caller) async throws in
            caller.begin(store) { _, _ in _ = try? other.blocking.perform(.notify("operator", title: "a commit")) }
            try await store.notify("ann", title: "1")
            #expect(try await other.tray(of: "operator").total == 1)
        }
        await other.close()
    }

    @Test func anObserverMayCloseItsStore() async throws {
        for isBlocking in [true, false] {
            try await withStorePath { (path: String) async throws in
                let caller = Caller()
                var options = StoreOptions()
                (options.ticking, options.observer) = (.manual, caller)
                let store = try Store.open(path, options: options)
                caller.begin(store) { store, _ in
                    if isBlocking { return store.blocking.close() }
                    let gate = Gate()
                    Task {
                        await store.close()
                        gate.open()
                    }
                    gate.pass()
                }
                try await store.notify("ann", title: "1")
                await store.close()
                caller.end()
                let again = try Store.open(path)
                #expect(try await again.tray(of: "ann").total == 1)
                await again.close()
            }
        }
    }
}

/// Lets a thread pass once it is open.
final class Gate: Sendable {
    private let isOpen = Monitor(false)

    func open() {
        isOpen.withLock { $0 = true }
        isOpen.signalAll()
    }

    func pass() { _ = isOpen.wait(timeoutMilliseconds: nil, until: { $0 }, { _ in }) }
}
