import Testing
import TestSupport
import TraylogPlatform
@_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogDomain
@testable import TraylogQueries

/// Many callers of one store at once, as tasks and as threads.
@Suite struct ConcurrentCallersTests {
    @Test func concurrentTasksGetTheirOwnReceiptsAndSeeTheirWrites() async throws {
        try await withStorePath { path in
            let store = try Store.open(path, options: options(tailEvents: 50, cacheBytes: 20_000))
            let readers = Readers(store)
            let seqs = try await withThrowingTaskGroup(of: [Seq].self) { group in
                for task in 0..<sized(24, nightly: 64) {
                    group.addTask { try await Self.appendAndLook(store, user: "user\(task)") }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            readers.stop()
            #expect(seqs.sorted() == (1...UInt64(seqs.count)).map { Seq($0) })
            #expect(try await store.log.head() == Seq(UInt64(seqs.count)))
            await store.close()
            #expect(try replay(path).identical)
        }
    }

    private static func appendAndLook(_ store: Store, user: String) async throws -> [Seq] {
        var seqs: [Seq] = []
        for round in 1...12 {
            let seq = try #require(try await store.perform(notify(user, key: "k\(round)")).seq)
            let tray = try await store.tray(of: user)
            #expect(tray.total == UInt64(round) && tray.newest == seq && tray.unread == 1 && tray.asOf >= seq)
            #expect(try await store.perform(notify(user, key: "k\(round)")) == .duplicate(seq))
            seqs.append(seq)
            let mark = Command(user: user, .mark(.read, [.key("k\(round)")]))
            seqs.append(try #require(try await store.perform(mark).seq))
            #expect(try await store.tray(of: user).unread == 0)
            #expect(try await store.inbox(of: user).elements.first?.isRead == true)
        }
        return seqs
    }

    @Test func concurrentThreadsGetTheirOwnReceipts() throws {
        try withStorePath { path in
            try withStore(path, options(tailEvents: 100, isRelaxed: true)) { store in
                let seqs = Monitor<[Seq]>([])
                let threads = (0..<32).map { thread in
                    startThread("caller") {
                        for round in 0..<40 {
                            let user = "user\(thread % 8)"
                            guard let seq = try? store.perform(notify(user, key: "\(thread)-\(round)")).seq else {
                                continue
                            }
                            seqs.withLock { $0.append(seq) }
                            if let tray = try? store.tray(of: user) { #expect(tray.newest ?? .zero >= seq) }
                        }
                    }
                }
                for thread in threads { thread.join() }
                let sorted = seqs.withLock { $0.sorted() }
                #expect(sorted == (1...1_280).map { Seq(UInt64($0)) })
            }
            #expect(try replay(path).identical)
        }
    }

    /// A round of flushing lasts for many commits here, and stores the states of newcomers before their names.
    @Test func aUserOnceListedStaysListed() throws {
        try withStorePath { path in
            try withStore(path, options(tailEvents: 2_000)) { store in
                _ = try store.perform((0..<2_000).map { notify("user\($0)") })
                let isOver = Monitor(false)
                let missing = Monitor<[String]>([])
                let reader = startThread("reader") {
                    var before: Set<String> = []
                    while !isOver.withLock({ $0 }) {
                        guard let now = (try? store.users(after: "v", limit: .max).elements).map({ Set($0) }) else {
                            continue
                        }
                        let gone = before.subtracting(now).sorted()
                        if !gone.isEmpty { missing.withLock { $0 += gone } }
                        before = now
                    }
                }
                for round in 0..<sized(60, nightly: 120) {
                    // Each in its turn, so that some have nothing to flush but their name.
                    let known = (max(0, round * 20 - 900)..<round * 20).filter { $0 % 3 == round % 3 }
                        .map { notify("v\($0)") }
                    _ = try store.perform((0..<20).map { notify("v\(round * 20 + $0)") } + known)
                }
                isOver.withLock { $0 = true }
                reader.join()
                let gone = missing.withLock { $0 }
                #expect(gone.isEmpty, "\(gone.count) times somebody vanished: \(gone.prefix(5))")
            }
        }
    }
}

/// Threads that query all the time; their answers must never go back.
private struct Readers {
    private let isOver = Monitor(false)
    private var threads: [OSThread] = []

    init(_ store: Store) {
        let isOver = isOver
        threads = (0..<4).map { number in
            startThread("reader") {
                var (head, asOf, total, users) = (Seq.zero, Seq.zero, 0, 0)
                while !isOver.withLock({ $0 }) {
                    do {
                        let user = "user\(number)"
                        let tray = try store.tray(of: user)
                        #expect(tray.asOf >= asOf && tray.total >= total && tray.unread <= tray.total)
                        (asOf, total) = (tray.asOf, tray.total)
                        let now = try store.head()
                        #expect(now >= head && now >= asOf)
                        head = now
                        #expect(try store.inbox(of: user).elements.count >= min(20, total))
                        #expect(try store.threads(of: user).elements.first?.count ?? 0 >= total)
                        #expect(try store.events(from: 1, limit: 50).elements.count >= min(50, Int(head.rawValue)))
                        let listed = try store.users(limit: .max).elements.count
                        #expect(listed >= users)
                        users = listed
                        #expect(try store.statistics().head >= head)
                    } catch {
                        Issue.record(error)
                        return
                    }
                }
            }
        }
    }

    func stop() {
        isOver.withLock { $0 = true }
        for thread in threads { thread.join() }
    }
}
