import Foundation
import Synchronization
import TestSupport
import Testing

@testable import TraylogLMDB
import TraylogPlatform

/// Readers whose map is smaller than the file that another process grows.
@Suite struct MapGrowthTests {
    @Test func aReaderFollowsAGrownMap() async throws {
        try await withPath { path in
            let small = try openWriter(path, .init(mapSizeBytes: 1 << 20))
            try small.write { try $0.append(small.database("log"), 1, [1]) }
            small.close()
            let reader = try Environment.open(
                directory: path, access: .readOnly, databases: databaseNames,
                configuration: .init(mapSizeBytes: 1 << 20))
            defer { reader.close() }
            #expect(try reader.value("log", 1) == [1])
            await #expect(processExitsWith: .success) { [path = path as String] in
                let environment = try openWriter(path, .init(mapSizeBytes: 64 << 20))
                try environment.write { transaction in
                    for key in UInt64(2)...4000 {
                        try transaction.append(environment.database("log"), key, [UInt8](repeating: 1, count: 2000))
                    }
                }
                environment.close()
            }
            #expect(try reader.keys("log").count == 4000)
            #expect(try reader.information().mapSizeBytes > 1 << 20)
        }
    }

    @Test func manyThreadsFollowAGrowingMap() async throws {
        try await withPath { path in
            try openWriter(path, .init(mapSizeBytes: 1 << 20)).close()
            let reader = try Environment.open(
                directory: path, access: .readOnly, databases: databaseNames,
                configuration: .init(mapSizeBytes: 1 << 20))
            defer { reader.close() }
            let log = reader.database("log")
            let isDone = Atomic(false)
            let failures = Atomic(0)
            let threads = (0..<4).map { number in
                startThread("reader-\(number)") {
                    while !isDone.load(ordering: .relaxed) {
                        do {
                            try reader.read { transaction in
                                let entries = UInt64(try transaction.statistics(log).entries)
                                if entries > 0 {
                                    guard try transaction.get(log, entries, { $0.byteCount }) == 2000 else {
                                        throw CancellationError()
                                    }
                                }
                            }
                        } catch {
                            failures.wrappingAdd(1, ordering: .relaxed)
                        }
                    }
                }
            }
            for megabytes in [4, 8, 16, 32] {
                await #expect(processExitsWith: .success) { [path = path as String, megabytes = megabytes as Int] in
                    let environment = try openWriter(path, .init(mapSizeBytes: megabytes << 20, durability: .relaxed))
                    let log = environment.database("log")
                    let first = try environment.read { UInt64(try $0.statistics(log).entries) } + 1
                    for batch in stride(from: first, to: first + UInt64(megabytes * 150), by: 50) {
                        try environment.write { transaction in
                            for key in batch..<batch + 50 {
                                try transaction.append(log, key, [UInt8](repeating: 1, count: 2000))
                            }
                        }
                    }
                    environment.close()
                }
            }
            isDone.store(true, ordering: .relaxed)
            for thread in threads { thread.join() }
            #expect(failures.load(ordering: .relaxed) == 0)
            #expect(try reader.keys("log").count == 60 * 150)
        }
    }

    @Test func anOpenTransactionOfTheSameThreadStopsTheRemapping() async throws {
        try await withPath { path in
            let small = try openWriter(path, .init(mapSizeBytes: 1 << 20))
            small.close()
            let reader = try Environment.open(
                directory: path, access: .readOnly, databases: databaseNames,
                configuration: .init(mapSizeBytes: 1 << 20))
            defer { reader.close() }
            let grow = {
                _ = await #expect(processExitsWith: .success) { [path = path as String] in
                    let environment = try openWriter(path, .init(mapSizeBytes: 64 << 20))
                    try environment.write { transaction in
                        for key in UInt64(1)...2000 {
                            try transaction.append(environment.database("log"), key, [UInt8](repeating: 1, count: 2000))
                        }
                    }
                    environment.close()
                }
            }
            let isReading = Monitor(0)
            let codes = Monitor<[LMDBError.Code?]>([])
            let thread = startThread("holder") {
                let code = try? failureCode {
                    try reader.read { _ in
                        isReading.withLock { $0 = 1 }
                        isReading.signalAll()
                        isReading.wait(timeoutMilliseconds: 60_000, until: { $0 == 2 }) { _ in }
                        try reader.read { _ in }
                    }
                }
                codes.withLock { $0.append(code ?? nil) }
            }
            isReading.wait(timeoutMilliseconds: 60_000, until: { $0 == 1 }) { _ in }
            await grow()
            isReading.withLock { $0 = 2 }
            isReading.signalAll()
            thread.join()
            #expect(codes.withLock { $0 } == [.mapResized])
            #expect(try reader.keys("log").count == 2000)
        }
    }
}
