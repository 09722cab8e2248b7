import Foundation
import TraylogCLibrary
import Synchronization
import TestSupport
import Testing
import TraylogDomain

@_spi(Operations) @_spi(Replication) @testable import Traylog
@testable import TraylogPlatform

/// A system without room for another thread: an error says which limit to raise, and the process goes on.
@Suite struct RefusedThreadTests {
    private func refusing<Answer>(
        _ names: Set<String>, _ body: () async throws -> Answer
    ) async rethrows -> Answer {
        try await ThreadRefused.$simulated.withValue({ names.contains($0) }, operation: body)
    }

    private func code(_ body: () async throws -> Void) async -> StoreFailure.Code? {
        do {
            try await body()
            return nil
        } catch {
            guard case .failed(let failure)? = error as? TraylogError else { return nil }
            #expect(failure.code != .outOfThreads || failure.message.contains("ulimit -u"))
            #expect(failure.code != .outOfThreads || failure.isTransient)
            return failure.code
        }
    }

    /// A log of record that takes everything.
    private struct TakingLog: LogOfRecord {
        let largestGroupBytes = 1 << 20

        func append(_ records: [LogRecord]) async throws(StoreFailure) -> SourcePosition {
            SourcePosition(source: "memory", position: records.last?.seq.rawValue ?? 0)
        }

        func confirmEnd(at head: Seq) async throws(StoreFailure) {}
    }

    @Test(arguments: ["traylog-writer", "traylog-flush", "traylog-compact", "traylog-log"])
    func withoutAThreadAnOpeningThrowsAndLeavesNothing(name: String) async throws {
        try await withStorePath { (path: String) async throws in
            var options = StoreOptions()
            options.ticking = .manual
            options.compaction = CompactionPolicy(keepDays: 1)
            let refused = await code {
                _ = try await refusing([name]) { _ = try Store.open(path, options: options, logOfRecord: TakingLog()) }
            }
            #expect(refused == .outOfThreads)
            // The store is free, and the next opening works.
            let store = try Store.open(path, options: options, logOfRecord: TakingLog())
            try await store.notify("ann", title: "1")
            await store.close()
        }
    }

    @Test func callsThatNeedAThreadThrowAndWorkLater() async throws {
        let store = try Store.temporary()
        let calls: [(String, (Store) async throws -> Void)] = [
            ("traylog-query", { _ = try await $0.inbox(of: "ann") }),
            ("traylog-query", { _ = try await $0.log.events(matching: EventFilter()) }),
            ("traylog-job", { _ = try await $0.upkeep.verify() }),
            ("traylog-values", { _ = try $0.project(Counted.self) }),
        ]
        try await store.notify("ann", title: "1")
        for (name, call) in calls {
            #expect(await code { try await refusing([name]) { try await call(store) } } == .outOfThreads, "\(name)")
            try await call(store)
        }
        // What needs no thread of its own is not concerned.
        _ = try await refusing(["traylog-hold", "traylog-query"]) { try await store.upkeep.hold("ann") }
        await store.close()
    }

    /// A fold that counts.
    private struct Counted: Projection {
        static let name = "counted"
        static let version: UInt32 = 1
        private var count: UInt8 = 0

        init() {}
        init(decoding bytes: [UInt8]) { count = bytes.first ?? 0 }
        mutating func apply(_ event: Event) { count &+= 1 }
        func encoded() -> [UInt8] { [count] }
    }

    @Test func withoutAThreadAWatchingReaderThrows() async throws {
        try await withStorePath { (path: String) async throws in
            await (try Store.open(path)).close()
            let reader = try StoreReader.open(path)
            let refused = await code {
                try await refusing(["traylog-observe"]) {
                    for try await _ in reader.trayUpdates(of: "ann") { return }
                }
            }
            #expect(refused == .outOfThreads)
            for try await tray in reader.trayUpdates(of: "ann") {
                #expect(tray.total == 0)
                break
            }
            await reader.close()
        }
    }

    /// Takes note of what fails in the background.
    private final class Failures: StoreObserver {
        let works = Mutex<[BackgroundWork]>([])

        func observe(_ activity: StoreActivity) {
            if case .failed(let work, _) = activity { works.withLock { $0.append(work) } }
        }
    }

    @Test func aStoreClosesWithoutAThreadOfItsOwn() async throws {
        try await withStorePath { (path: String) async throws in
            let failures = Failures()
            var options = StoreOptions()
            options.observer = failures
            try await refusing(["traylog-close"]) {
                let store = try Store.open(path, options: options)
                try await store.notify("ann", title: "1")
                await store.close()
                // One that nobody closes.
                var dropped: Store? = try Store.open(path, options: options)
                try await dropped?.notify("ann", title: "2")
                dropped = nil
            }
            #expect(failures.works.withLock(\.self) == [.closing])
            let store = try Store.open(path)
            #expect(try await store.tray(of: "ann").total == 2)
            await store.close()
            #expect(try replay(path).identical)
        }
    }

    @Test func aStoreReleasedOnAThreadOfTheLibraryIsClosedByTheNextOpening() async throws {
        try await withStorePath { (path: String) async throws in
            try await onThread {
                try ThreadRefused.$simulated.withValue({ $0 == "traylog-close" }) {
                    let store = try Store.open(path)
                    try store.blocking.perform(.notify("ann", title: "1"))
                }
            }
            let store = try Store.open(path)
            #expect(try await store.tray(of: "ann").total == 1)
            await store.close()
        }
    }

    @Test func aCompactionEndsBeforeItReplacesTheStore() async throws {
        let store = try Store.temporary()
        try await store.perform((0..<50).map { .notify("ann", title: "\($0)") })
        try await store.perform(.markAll(.deleted, of: "ann"))
        let refused = await onThread { () -> StoreFailure.Code? in
            ThreadRefused.$simulated.withValue({ $0 == "traylog-rewrite" }) {
                do throws(TraylogError) {
                    try store.blocking.compact(before: .seq(51))
                    return nil
                } catch {
                    if case .failed(let failure) = error { return failure.code }
                    return nil
                }
            }
        }
        #expect(refused == .outOfThreads)
        #expect(try await store.upkeep.verify().findings == [])
        await store.close()
    }

    @Test func aComputationOnTwoThreadsIsDoneByOne() throws {
        let answer = try ThreadRefused.$simulated.withValue({ _ in true }) { try Concurrent { 7 }.result.get() }
        #expect(answer == 7)
    }

    // MARK: The system itself

    @Test func aProcessAtItsLimitGetsErrorsAndGoesOn() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            alarm(120)
            // No limit holds for root, and another user may write to no directory of root's but this.
            let directory = geteuid() == 0 ? "/tmp" : Files.temporaryDirectory
            if geteuid() == 0 { try #require(setuid(61_321) == 0) }
            let path = "\(directory)/traylog-limit-\(getpid())"
            let store = try Store.open(path)
            try await store.notify("ann", title: "1")
            // The first query starts a thread, which the later ones have.
            _ = try await store.inbox(of: "ann")
            // RLIMIT_NPROC has no name in Swift.
            var limit = rlimit(rlim_cur: 1, rlim_max: 1)
            let isLimited = unsafe setrlimit(__rlimit_resource_t(6), &limit) == 0
            try #require(isLimited)
            func code(_ body: () async throws -> Void) async -> StoreFailure.Code? {
                do {
                    try await body()
                    return nil
                } catch {
                    guard case .failed(let failure)? = error as? TraylogError else { return nil }
                    return failure.code
                }
            }
            #expect(await code { _ = try await store.upkeep.verify() } == .outOfThreads)
            #expect(await code { _ = try Store.open(path + "-second") } == .outOfThreads)
            // Work that has its threads goes on.
            try await store.notify("ann", title: "2")
            #expect(try await store.tray(of: "ann").total == 2)
            await store.close()
            Files.removeTree(path)
            Files.removeTree(path + "-second")
        }
        let words = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(words.isEmpty, "\(words)")
    }

    @Test func manyWaitingCallsShareFewThreads() async throws {
        try await withStorePath { (path: String) async throws in
            _ = await #expect(processExitsWith: .success) { [path = path as String] in
                let store = try Store.open(path)
                try await store.perform((0..<200).map { .notify("user\($0 % 9)", title: "t") })
                let isOver = Monitor(false)
                let most = Task.detached {
                    var most = 0
                    while !isOver.withLock(\.self) {
                        let names = try Files.names(in: "/proc/self/task").filter { task in
                            guard
                                let name = try? String(contentsOfFile: "/proc/self/task/\(task)/comm", encoding: .utf8)
                            else { return false }
                            return name.hasPrefix("traylog-")
                        }
                        most = max(most, names.count)
                        usleep(1_000)
                    }
                    return most
                }
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<150 {
                        group.addTask {
                            switch number % 3 {
                            case 0: _ = try await store.upkeep.verify()
                            case 1: _ = try await store.upkeep.hold("user\(number)")
                            default: try await store.upkeep.backup(to: "\(path)-\(number)")
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                for _ in 0..<20 { async let closed: Void = store.close(); await closed }
                isOver.withLock { $0 = true }
                // Writer, flush thread, two for queries and two for long ones, four for jobs with two helpers each, one that closes.
                #expect(try await most.value <= 30)
                for number in 0..<150 { Files.removeTree("\(path)-\(number)") }
            }
        }
    }
}
