import Foundation
import Synchronization
import TestSupport
import Testing

@testable import TraylogLMDB
import TraylogPlatform

@Suite struct ConcurrencyTests {
    /// Each commit sets two records to the same number; a reader must never see two numbers.
    @Test func readersSeeWholeCommits() throws {
        try withEnvironment(.init(durability: .relaxed)) { environment in
            let log = environment.database("log")
            let index = environment.database("index")
            let isDone = Atomic(false)
            let reads = Atomic(0)
            let torn = Atomic(0)
            let readers = (0..<3).map { number in
                startThread("reader-\(number)") {
                    while !isDone.load(ordering: .relaxed) {
                        let isWhole = try? environment.read { transaction in
                            let first = try transaction.get(log, 1) { $0.copy }
                            let second = try transaction.get(index, 1) { $0.copy }
                            return first == second
                        }
                        reads.wrappingAdd(1, ordering: .relaxed)
                        if isWhole != true { torn.wrappingAdd(1, ordering: .relaxed) }
                    }
                }
            }
            for number in 0..<400 {
                let value = [UInt8](repeating: UInt8(number % 251), count: 50)
                try environment.write { transaction in
                    try transaction.put(log, 1, RawSpan(_elements: value.span))
                    try transaction.put(index, 1, RawSpan(_elements: value.span))
                }
            }
            isDone.store(true, ordering: .relaxed)
            for reader in readers { reader.join() }
            #expect(torn.load(ordering: .relaxed) == 0)
            #expect(reads.load(ordering: .relaxed) > 0)
        }
    }

    @Test func writersOfSeveralThreadsTakeTurns() throws {
        try withEnvironment(.init(durability: .relaxed)) { environment in
            let log = environment.database("log")
            let failures = Atomic(0)
            let writers = (0..<4).map { number in
                startThread("writer-\(number)") {
                    for _ in 0..<50 {
                        let result: Void? = try? environment.write { transaction in
                            let count = try transaction.get(log, 1) { $0.copy[0] } ?? 0
                            try transaction.put(log, [0, 0, 0, 0, 0, 0, 0, 1], [count + 1])
                        }
                        if result == nil { failures.wrappingAdd(1, ordering: .relaxed) }
                    }
                }
            }
            for writer in writers { writer.join() }
            #expect(failures.load(ordering: .relaxed) == 0)
            let count = try environment.value("log", 1)
            #expect(count == [200])
        }
    }

    @Test func closingWaitsForTransactionsAndThenRefuses() throws {
        try withPath { path in
            for _ in 0..<10 {
                let environment = try openWriter(path, .init(durability: .relaxed))
                let log = environment.database("log")
                let wrong = Atomic(0)
                let started = Atomic(0)
                let threads = (0..<4).map { number in
                    startThread("user-\(number)") {
                        started.wrappingAdd(1, ordering: .relaxed)
                        while true {
                            do {
                                if number == 0 {
                                    try environment.write { try $0.put(log, [1], [1]) }
                                } else {
                                    _ = try environment.read { try $0.get(log, 1) { $0.byteCount } }
                                }
                            } catch {
                                if (error as? LMDBError)?.code != .closed { wrong.wrappingAdd(1, ordering: .relaxed) }
                                return
                            }
                        }
                    }
                }
                while started.load(ordering: .relaxed) < 4 { usleep(100) }
                let closers = (0..<2).map { startThread("closer-\($0)") { environment.close() } }
                for thread in closers + threads { thread.join() }
                #expect(wrong.load(ordering: .relaxed) == 0)
            }
        }
    }

    @Test func idleReadersKeepFewSlots() throws {
        try withEnvironment { environment in
            func nest(_ depth: Int) throws {
                try environment.read { _ in
                    if depth > 0 { try nest(depth - 1) }
                }
            }
            try nest(200)
            #expect(environment.readers().count <= 64)
            #expect(environment.readers().allSatisfy { $0.transactionID == nil })
        }
    }

    @Test func aReadersLagCountsCommits() throws {
        try withEnvironment(.init(durability: .relaxed)) { environment in
            try environment.read { transaction in
                for key in UInt64(1)...5 {
                    try environment.write { try $0.append(environment.database("log"), key, [1]) }
                }
                let slot = try #require(environment.readers().first { $0.transactionID != nil })
                #expect(slot.lag == 5)
                #expect(slot.processID == getpid())
                #expect(slot.transactionID == transaction.id)
            }
        }
    }

    @Test func aFullReaderTableIsNamedInTheError() throws {
        try withEnvironment { environment in
            @Sendable func nest(_ depth: Int) throws -> Int {
                do {
                    return try environment.read { _ in try nest(depth + 1) }
                } catch let error as LMDBError where error.code == .readersFull {
                    return depth
                }
            }
            #expect(try onDeepStack { try nest(0) } == Environment.maximumReaders)
            try environment.read { _ in }
        }
    }

    /// 1024 nested reads need more stack than a test's thread may have.
    private func onDeepStack(_ body: @escaping @Sendable () throws -> Int) throws -> Int {
        let result = Monitor(Result<Int, any Error>.success(0))
        startThread("deep") {
            let value = Result { try body() }
            result.withLock { $0 = value }
        }.join()
        return try result.withLock { $0 }.get()
    }
}
