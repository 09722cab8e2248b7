import TestSupport
import Testing
import TraylogDomain
import TraylogPlatform

@_spi(Internals) @_spi(Operations) @testable import Traylog
@testable import TraylogStates
@testable import TraylogWriter

/// Requests that come while those before them are decided.
@Suite struct GatheringTests {
    private let hasher = IdentityHasher(key0: 1, key1: 2)

    private func request(_ hasher: IdentityHasher, _ commands: [Command]) -> AppendRequest {
        AppendRequest(PreparedCommands(commands, hasher: hasher), mode: .atomic) { _ in }
    }

    /// A writer without a thread, whose part the test plays.
    private func withWriter(_ body: (Writer) throws -> Void) throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store in
                let environment = try store.writer.perform { $0.environment }
                try body(Writer(directory: path, environment: environment))
            }
        }
    }

    @Test func gatheredRequestsJoinTheTransactionWithTheirOwnTimes() throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store in
                let source = try #require(store.queries.source as? LiveSource)
                let hasher = source.memory.withLock { $0.store.hasher }
                let times: [Int64] = [4_000_000_000_000, 4_000_000_000_003, 4_000_000_000_001]
                let requests = times.indices.map { request(hasher, [notify("user\($0)"), notify("user\($0)")]) }
                let refused = request(hasher, [Command(user: "user0", .mark(.read, [.seq(99)]))])
                let outcomes = try store.writer.perform { loop in
                    var decision = GroupDecision(limit: .max, directory: path)
                    let memory = loop.memory
                    try memory.withLock { try $0.begin(events: 6, now: Timestamp(milliseconds: times[0])) }
                    for (request, time) in zip(requests, times) {
                        decision.add([request], now: Timestamp(milliseconds: time))
                        while !memory.withLock({ decision.proceed(&$0) }) {}
                        #expect(decision.hasRoom)
                        // Until all of them are durable, they show to nobody.
                        #expect(try store.head() == 0)
                    }
                    decision.add([refused], now: Timestamp(milliseconds: times[1]))
                    while !memory.withLock({ decision.proceed(&$0) }) {}
                    #expect(decision.commands == 7)
                    try loop.commit()
                    return decision.outcomes
                }
                #expect(try outcomes[..<3].flatMap { try $0.get() } == (1...6).map { .success(.appended(Seq($0))) })
                #expect(try outcomes[3].get().count == 1)
                // A clock that steps back is clamped, as between two transactions.
                let recorded = try (1...6).map { try store.event(Seq($0)).recordedAt.milliseconds }
                #expect(recorded == [0, 0, 1, 1, 1, 1].map { times[$0] })
            }
            #expect(try replay(path).identical)
        }
    }

    @Test func aRequestThatDoesNotFitClosesTheTransaction() throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store in
                let source = try #require(store.queries.source as? LiveSource)
                let hasher = source.memory.withLock { $0.store.hasher }
                let requests = (0..<3).map { request(hasher, [notify("user\($0)")]) }
                try store.writer.perform { loop in
                    var decision = GroupDecision(limit: 150, directory: path)
                    let (memory, now) = (loop.memory, loop.now)
                    try memory.withLock { try $0.begin(events: 3, now: now) }
                    decision.add(Array(requests[..<1]), now: now)
                    while !memory.withLock({ decision.proceed(&$0) }) {}
                    #expect(decision.hasRoom)
                    decision.add(Array(requests[1...]), now: now)
                    while !memory.withLock({ decision.proceed(&$0) }) {}
                    #expect(!decision.hasRoom && decision.outcomes.count < 3)
                    try loop.commit()
                    #expect(memory.withLock { $0.store.head.seq } == decision.outcomes.count)
                }
            }
            #expect(try replay(path).identical)
        }
    }

    @Test func theWriterGathersTheRequestedNumberOfCallers() throws {
        try withWriter { writer in
            #expect(!writer.gather(1, nanoseconds: 1_000))
            writer.append(request(hasher, [notify("ann")]))
            #expect(!writer.gather(2, nanoseconds: 1_000))
            writer.append(request(hasher, [notify("bob")]))
            #expect(writer.gather(2, nanoseconds: 0))
            // Somebody who comes later ends a long wait.
            let late = startThread("late") { writer.append(request(hasher, [notify("cy")])) }
            #expect(writer.gather(3, nanoseconds: 60_000_000_000, besides: 0, 0).count == 3)
            late.join()
            #expect(writer.waiting == 0)
        }
    }

    @Test func aTaskEndsTheWaitForMoreRequests() throws {
        try withWriter { writer in
            writer.perform({ _ in }, answer: { _ in })
            #expect(writer.gather(9, nanoseconds: 60_000_000_000))
            #expect(writer.gather(9, nanoseconds: 60_000_000_000, besides: 1, 0).isEmpty)
        }
    }

    @Test func aTransactionTakesWhatFits() throws {
        try withWriter { writer in
            for _ in 0..<3 { writer.append(request(hasher, [notify("ann"), notify("bob")])) }
            #expect(writer.gather(1, nanoseconds: 0, besides: Writer.groupCommands - 1, 0).isEmpty)
            #expect(writer.gather(1, nanoseconds: 0, besides: Writer.groupCommands - 4, 0).count == 2)
            #expect(writer.gather(1, nanoseconds: 0, besides: 1, Writer.groupBytes).isEmpty)
            #expect(writer.waiting == 1)
            // An empty one takes even a request that is too large.
            writer.append(request(hasher, (0...Writer.groupCommands).map { _ in notify("ann") }))
            #expect(writer.gather(1, nanoseconds: 0, besides: 0, 0).count == 1)
            #expect(writer.gather(1, nanoseconds: 0, besides: 0, 0).map(\.prepared.commands.count) == [2_049])
        }
    }

    /// A caller may compare its own clock with the event's time.
    @Test func noEventIsRecordedBeforeItsCall() async throws {
        try await withStorePath { path in
            let store = try Store.open(path, options: options())
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<16 {
                    group.addTask {
                        for _ in 0..<30 {
                            let before = Timestamp(milliseconds: SystemClock.nowMilliseconds())
                            let seq = try #require(try await store.perform(notify("user\(task)")).seq)
                            let recordedAt = try await store.log.event(seq).recordedAt
                            #expect(recordedAt >= before)
                        }
                    }
                }
                try await group.waitForAll()
            }
            await store.close()
        }
    }
}
