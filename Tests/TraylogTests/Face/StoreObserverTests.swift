import Synchronization
import Testing
@_spi(Operations) import Traylog

/// A store reports its work to its observer.
@Suite struct StoreObserverTests {
    private final class Notes: StoreObserver {
        let activities: AsyncStream<StoreActivity>
        private let continuation: AsyncStream<StoreActivity>.Continuation

        init() { (activities, continuation) = AsyncStream.makeStream() }

        func observe(_ activity: StoreActivity) { continuation.yield(activity) }

        /// The first activity, from now on, of which `body` makes something.
        func first<Value>(_ body: (StoreActivity) -> Value?) async throws -> Value {
            for await activity in activities { if let value = body(activity) { return value } }
            throw CancellationError()
        }
    }

    private func observed(_ change: (inout StoreOptions) -> Void = { _ in }) throws -> (Store, Notes) {
        let notes = Notes()
        var options = StoreOptions()
        options.ticking = .manual
        options.observer = notes
        change(&options)
        return (try Store.temporary(options: options), notes)
    }

    @Test func aCommitIsReportedWithItsEvents() async throws {
        let (store, notes) = try observed()
        try await store.perform([.notify("ann", title: "1"), .notify("ann", title: "2")])
        let (events, head) = try await notes.first { activity -> (UInt64, Seq)? in
            guard case .committed(let events, let head, let waited, let writing) = activity else { return nil }
            #expect(waited >= .zero && writing > .zero)
            return (events, head)
        }
        #expect((events, head) == (2, 2))
        await store.close()
    }

    @Test func queriesTicksAndFlushesAreReported() async throws {
        let (store, notes) = try observed { $0.tailEvents = 1 }
        try await store.notify("ann", Content(title: "1", expiresAt: Timestamp(milliseconds: 5)))
        _ = try await store.inbox(of: "ann")
        try await notes.first { if case .queried(let waited, _) = $0, waited >= .zero { () } else { nil } }
        try await store.tick(now: Timestamp(milliseconds: 10))
        let expired = try await notes.first { activity -> UInt64? in
            if case .ticked(_, let expired, _) = activity { expired } else { nil }
        }
        #expect(expired == 1)
        try await notes.first { if case .flushed = $0 { () } else { nil } }
        await store.close()
    }

    /// A query that waits for a thread has waited for some time, however short; one on the task's own thread for none.
    @Test func aTaskAnswersByItselfOnlyWhatIsInMemory() async throws {
        let (store, notes) = try observed()
        try await store.notify("ann", Content(category: "news", title: "1"))
        // No thread of the store does it, so none may be about to become idle.
        func bringIntoMemory() throws { _ = try store.blocking.inbox(of: "ann") }
        try bringIntoMemory()
        func waited(_ filter: ItemFilter, asOf: Moment? = nil) async throws -> Duration {
            _ = try await store.inbox(of: "ann", InboxQuery(filter), asOf: asOf)
            return try await notes.first { activity -> Duration? in
                if case .queried(let waited, _) = activity { waited } else { nil }
            }
        }
        for filter in [ItemFilter(), ItemFilter(categories: ["news"]), ItemFilter(level: .passive)] {
            #expect(try await waited(filter) == .zero, "\(filter)")
        }
        for filter in [ItemFilter(text: "1"), ItemFilter(actor: "bob"), ItemFilter(level: .active)] {
            #expect(try await waited(filter) > .zero, "\(filter)")
        }
        #expect(try await waited(ItemFilter(), asOf: .seq(1)) > .zero)
        await store.close()
    }

    @Test func aClockThatFallsBehindTheLogIsReportedOnce() async throws {
        let time = Mutex(Timestamp(milliseconds: 100_000))
        let (store, notes) = try observed { $0.clock = { time.withLock(\.self) } }
        func notify(at milliseconds: Int64) async throws {
            time.withLock { $0 = Timestamp(milliseconds: milliseconds) }
            try await store.notify("ann", title: "x")
        }
        // Corrections of a clock are no news, nor is the same lag again.
        for milliseconds in [100_000, 96_000, 40_000, 30_000, 100_000, 94_000] as [Int64] {
            try await notify(at: milliseconds)
        }
        var lags: [Duration] = []
        while lags.count < 2 {
            lags.append(try await notes.first { if case .clockBehind(let lag) = $0 { lag } else { nil } })
        }
        #expect(lags == [.seconds(60), .seconds(6)])
        await store.close()
    }

    @Test func backgroundFailuresAreReported() async throws {
        let (store, notes) = try observed { options in
            var policy = CompactionPolicy(keepDays: 0, archive: "/proc/no-archive-can-be-here")
            (policy.minimumBytes, policy.oldShare, policy.intervalSeconds) = (0, 0, 1)
            options.compaction = policy
        }
        try await store.perform((0..<50).map { .notify("ann", title: "\($0)") })
        try await store.perform(.markAll(.deleted, of: "ann"))
        let (work, error) = try await notes.first { activity -> (BackgroundWork, TraylogError)? in
            if case .failed(let work, let error) = activity { (work, error) } else { nil }
        }
        #expect(work == .compaction)
        guard case .failed = error else { throw error }
        await store.close()
    }

    /// A fold whose value cannot be stored.
    private struct Unstorable: Projection {
        struct NoRoom: Error {}

        static let name = "unstorable"
        static let version: UInt32 = 1

        init() {}
        init(decoding bytes: [UInt8]) {}
        mutating func apply(_ event: Event) {}
        func encoded() throws -> [UInt8] { throw NoRoom() }
    }

    @Test func aProjectionThatCannotBeStoredIsReported() async throws {
        let (store, notes) = try observed()
        try await store.project(Unstorable.self)
        try await store.notify("ann", title: "1")
        let (work, _) = try await notes.first { activity -> (BackgroundWork, TraylogError)? in
            if case .failed(let work, let error) = activity { (work, error) } else { nil }
        }
        #expect(work == .projection)
        await store.close()
    }

    @Test func aCompactionByPolicyIsReported() async throws {
        let (store, notes) = try observed { options in
            var policy = CompactionPolicy(keepDays: 0)
            (policy.minimumBytes, policy.oldShare, policy.intervalSeconds) = (0, 0, 1)
            options.compaction = policy
        }
        try await store.perform((0..<50).map { .notify("ann", title: "\($0)") })
        try await store.perform(.markAll(.deleted, of: "ann"))
        try await store.notify("bob", title: "1")
        // On a slow machine the first one may come before there is anything to drop.
        try await notes.first { if case .compacted(let dropped, _, _) = $0, dropped > 0 { () } else { nil } }
        await store.close()
    }

    @Test func aClockOfTheTestsOwnStampsEventsAndSaysWhatIsDue() async throws {
        let clock = TestClock()
        let (store, _) = try observed { $0.clock = { clock.now } }
        try await store.notify("ann", Content(title: "1", expiresAt: Timestamp(milliseconds: 2_000_000)))
        #expect(try await store.log.event(1).recordedAt == Timestamp(milliseconds: 1_000_000))
        #expect(try await store.tick().expired == 0)
        clock.set(3_000_000)
        #expect(try await store.tick().expired == 1)
        #expect(try await store.log.event(2).recordedAt == Timestamp(milliseconds: 3_000_000))
        // It is clamped, as the system's is.
        clock.set(5)
        try await store.notify("ann", title: "2")
        #expect(try await store.log.event(3).recordedAt == Timestamp(milliseconds: 3_000_000))
        await store.close()
    }

    @Test func everyEventIsStampedByTheStoresClock() async throws {
        let clock = TestClock()
        let (store, _) = try observed { $0.clock = { clock.now } }
        try await store.notify("ann", Content(title: "1", expiresAt: Timestamp(milliseconds: 9_000_000)))
        try await store.notify("bob", title: "2")
        try await store.upkeep.hold("ann")
        try await store.recordAccess(of: "ann")
        try await store.upkeep.release("ann")
        try await store.upkeep.compact(before: .seq(2))
        try await store.erase("bob")
        let events = try await store.log.events(limit: 100).elements
        #expect(events.map(\.kind).suffix(5) == [.held, .audited, .released, .compacted, .erased])
        #expect(Set(events.map(\.recordedAt)) == [Timestamp(milliseconds: 1_000_000)])
        #expect(try await store.upkeep.statistics().overdue == 0)
        // None of them stands in the way of what comes later.
        clock.set(2_000_000)
        let seq = try #require(try await store.notify("ann", title: "3").seq)
        #expect(try await store.log.event(seq).recordedAt == Timestamp(milliseconds: 2_000_000))
        await store.close()
    }
}

/// A clock that stands until it is set.
private final class TestClock: Sendable {
    private let milliseconds = Mutex<Int64>(1_000_000)

    var now: Timestamp { Timestamp(milliseconds: milliseconds.withLock(\.self)) }

    func set(_ time: Int64) { milliseconds.withLock { $0 = time } }
}
