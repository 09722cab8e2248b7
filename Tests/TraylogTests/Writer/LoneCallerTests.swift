import Synchronization
import TestSupport
import Testing
import TraylogDomain
import TraylogPlatform

@_spi(Operations) @testable import Traylog
@testable import TraylogStates
@testable import TraylogWriter

/// A thread that appends while nobody else does writes by itself.
@Suite struct LoneCallerTests {
    /// Notes the thread of each commit, and what happened.
    private final class Notes: StoreObserver {
        private struct Noted {
            var thread: UInt = 0
            var hasStored = false
            var expired: UInt64 = 0
        }
        private let noted = Monitor(Noted())
        /// Runs before the commit that comes next is answered.
        let duringCommit = Mutex<(@Sendable () -> Void)?>(nil)

        var thread: UInt { noted.withLock { $0.thread } }

        func observe(_ activity: StoreActivity) {
            noted.withLock { noted in
                switch activity {
                case .committed: noted.thread = OSThread.currentNumber
                case .flushed: noted.hasStored = true
                case .ticked(_, let expired, _): noted.expired += expired
                default: break
                }
            }
            noted.signalAll()
            if case .committed = activity { duringCommit.withLock { $0.take() }?() }
        }

        func waitUntilStored() {
            noted.wait(timeoutMilliseconds: nil, until: { $0.hasStored }, { _ in })
        }

        func waitUntilExpired(_ count: UInt64) {
            noted.wait(timeoutMilliseconds: nil, until: { $0.expired >= count }, { _ in })
        }
    }

    private func withNotes(
        ticks: StoreOptions.Ticking = .manual, _ body: (Store, Notes) async throws -> Void
    ) async throws {
        try await withStorePath { path in
            let notes = Notes()
            var settings = options()
            (settings.ticking, settings.observer) = (ticks, notes)
            let store = try Store.open(path, options: settings)
            try await body(store, notes)
            try store.checkInvariants()
            await store.close()
            #expect(try replay(path).identical)
        }
    }

    /// Appends until the caller wrote by itself: the writer's thread may not rest yet.
    private func appendAlone(
        _ store: Store, _ notes: Notes, _ content: Content = Content(title: "1"), prepare: () -> Void = {},
        check: () -> Void = {}
    ) throws {
        for _ in 0..<10_000 {
            OSThread.sleep(milliseconds: 1)
            prepare()
            try store.blocking.perform(.notify("ann", content))
            check()
            if notes.thread == OSThread.currentNumber { return }
        }
        Issue.record("the caller never wrote by itself")
    }

    @Test func aLoneCallerNeedsNoOtherThread() async throws {
        try await withNotes { store, notes in
            try appendAlone(store, notes)
            // A refusal comes from there, too.
            #expect(throws: TraylogError.self) { try store.blocking.perform(.mark(.read, [.seq(99)], of: "ann")) }
            #expect(try await store.log.head() >= 1)
        }
    }

    @Test func aTaskNeverWaitsForTheDiskOnItsOwnThread() async throws {
        try await withNotes { store, notes in
            let writer = try store.writer.perform { _ in OSThread.currentNumber }
            for _ in 0..<20 {
                try await store.perform(.notify("ann", title: "1"))
                #expect(notes.thread == writer)
            }
        }
    }

    @Test func statesAreStoredOnceALoneCallerPauses() async throws {
        try await withNotes { store, notes in
            try appendAlone(store, notes)
            notes.waitUntilStored()
        }
    }

    @Test func aLoneCallersItemsExpireInTime() async throws {
        try await withNotes(ticks: .automatic) { store, notes in
            let soon = Timestamp(milliseconds: SystemClock.nowMilliseconds() + 300)
            try appendAlone(store, notes, Content(title: "1", expiresAt: soon))
            notes.waitUntilExpired(1)
        }
    }

    @Test func aSecondCallerIsServedByTheWriterThread() async throws {
        try await withNotes { store, notes in
            let answered = Monitor<Result<Void, TraylogError>?>(nil)
            try appendAlone(store, notes) {
                answered.withLock { $0 = nil }
                notes.duringCommit.withLock { body in
                    body = {
                        store.writer.perform({ _ in }) { answer in
                            answered.withLock { $0 = answer }
                            answered.signalAll()
                        }
                    }
                }
            } check: {
                answered.wait(timeoutMilliseconds: nil, until: { $0 != nil }, { _ in })
            }
        }
    }

    private struct NoListener: CommitListener {
        var wantsTouched: Bool { false }
        func committed(through head: UInt64, _ touched: Touched?) {}
        func foundCommitted(through head: UInt64) {}
        func erased() {}
    }

    @Test func theWritersLoopIsLentOnceAndOnlyWhileNothingWaits() throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store in
                let (environment, memory) = try store.writer.perform { ($0.environment, $0.memory) }
                let writer = Writer(directory: path, environment: environment)
                var loop: WriterLoop?
                var queue = WriterQueue()

                func isLent() -> Bool {
                    loop = queue.lend()
                    return loop != nil
                }
                func wantsThread() -> Bool { queue.wantsThread }
                func comesBack(lookingAt time: Int64) -> Bool { queue.takeBack(&loop, lookingAt: time) }
                #expect(!isLent(), "before the thread rests")
                loop = WriterLoop(
                    writer, directory: path, environment: environment, tables: Tables(environment), memory: memory,
                    listener: NoListener(), options: options(isRelaxed: true))
                queue.rest(&loop, until: 100)
                #expect(!wantsThread())
                #expect(isLent())
                var second = queue.lend()
                let isLentTwice = second.take() != nil
                #expect(!isLentTwice)
                // Back, with nothing to do before the thread looks anyway.
                #expect(!comesBack(lookingAt: 100))
                #expect(isLent())
                // Something comes meanwhile, for which the thread is woken.
                let request = AppendRequest(
                    PreparedCommands([notify("ann")], hasher: IdentityHasher(key0: 1, key1: 2)), mode: .atomic
                ) { _ in }
                queue.appends.append(request)
                #expect(!wantsThread(), "without the loop it has to wait")
                #expect(comesBack(lookingAt: 100))
                #expect(!isLent(), "a request waits")
                loop = queue.wake()
                queue.appends.removeAll()
                queue.rest(&loop, until: 100)
                #expect(isLent())
                #expect(comesBack(lookingAt: 99), "the thread has to look earlier")
                #expect(!isLent(), "it has not looked yet")
                loop = queue.wake()
            }
        }
    }

    /// Threads, tasks and a close meanwhile: every caller with a receipt finds the event.
    @Test(arguments: 0..<sized(2, nightly: 40))
    func threadsAndTasksShareTheStore(round: Int) async throws {
        try await withStorePath { path in
            let store = try Store.open(path, options: options(isRelaxed: round % 2 == 1))
            let receipts = Monitor<Set<Seq>>([])
            try await withThrowingTaskGroup(of: Void.self) { group in
                let note: @Sendable (Receipt) -> Void = { receipt in
                    let isNew = receipts.withLock { $0.insert(receipt.seq ?? 0).inserted }
                    #expect(isNew)
                }
                for caller in 0..<3 {
                    group.addTask {
                        await onThread("caller") {
                            for _ in 0..<100 {
                                guard let receipt = try? store.blocking.perform(.notify("user\(caller)", title: "1"))
                                else { return }
                                note(receipt)
                            }
                        }
                    }
                    group.addTask {
                        for number in 0..<50 {
                            guard let receipt = try? await store.perform(.notify("task\(caller)", title: "1")) else {
                                return
                            }
                            note(receipt)
                            if number % 10 == 0 { try? store.checkInvariants() }
                        }
                    }
                }
                group.addTask {
                    while receipts.withLock({ $0.count }) < 100 + 80 * (round % 4) {
                        try await Task.sleep(for: .milliseconds(1))
                    }
                    await store.close()
                }
                try await group.waitForAll()
            }
            let reader = try StoreReader.open(path)
            let head = try await reader.log.head()
            await reader.close()
            #expect(receipts.withLock { $0.count } == Int(head.rawValue) && receipts.withLock { $0.max() } == head)
            #expect(try replay(path).identical)
        }
    }
}
