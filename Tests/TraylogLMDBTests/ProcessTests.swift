import Foundation
import Synchronization
import Testing

@testable import TraylogLMDB

/// What several processes do to one store; the others are children that run a closure of a test.
@Suite struct ProcessTests {
    @Test func theLeaseNamesTheProcessThatWrites() async throws {
        try await withPath { path in
            let child = Task {
                _ = await #expect(processExitsWith: .success) { [path = path as String] in
                    let environment = try openWriter(path)
                    try environment.write { try $0.append(environment.database("log"), 1, [1]) }
                    try String(getpid()).write(toFile: path + "/ready", atomically: true, encoding: .utf8)
                    waitForFile(path + "/stop")
                    environment.close()
                }
            }
            waitForFile(path + "/ready")
            let holder = try #require(Int32(try String(contentsOfFile: path + "/ready", encoding: .utf8)))
            do {
                _ = try openWriter(path)
                Issue.record("Two processes have the lease.")
            } catch let error as LMDBError {
                #expect(error.code == .writerLocked)
                #expect(error.holderPID == holder)
                #expect(error.message.contains(String(holder)))
            }
            let reader = try openReader(path)
            #expect(try reader.value("log", 1) == [1])
            reader.close()
            try "".write(toFile: path + "/stop", atomically: true, encoding: .utf8)
            await child.value
            try openWriter(path).close()
        }
    }

    @Test func aKilledWriterLeavesTheStoreUsable() async throws {
        try await withPath { path in
            await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
                let environment = try openWriter(path)
                let log = environment.database("log")
                try environment.write { try $0.append(log, 1, [1]) }
                try environment.write { transaction in
                    try transaction.append(log, 2, [2])
                    kill(getpid(), SIGKILL)
                }
            }
            let environment = try openWriter(path)
            defer { environment.close() }
            #expect(try environment.value("log", 1) == [1])
            #expect(try environment.value("log", 2) == nil)
            try environment.write { try $0.append(environment.database("log"), 2, [3]) }
        }
    }

    @Test func theSlotOfADeadReaderIsFreed() async throws {
        try await withPath { path in
            let environment = try openWriter(path)
            defer { environment.close() }
            await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
                try openReader(path).read { _ in _ = kill(getpid(), SIGKILL) }
            }
            let pinned = environment.readers().filter { $0.transactionID != nil }
            #expect(pinned.count == 1)
            #expect(environment.reapDeadReaders() >= 1)
            #expect(environment.readers().filter { $0.transactionID != nil }.isEmpty)
        }
    }

    @Test func slotsOfDeadReadersAreReusedWhenNoneIsLeft() async throws {
        try await withPath { path in
            let environment = try openWriter(path)
            defer { environment.close() }
            await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
                let reader = try openReader(path)
                OSThread.start(name: "deep") {
                    @Sendable func nest(_ depth: Int) {
                        if depth == 1023 { kill(getpid(), SIGKILL) }
                        try? reader.read { _ in nest(depth + 1) }
                    }
                    nest(0)
                }.join()
            }
            #expect(environment.readers().count >= 1000)
            try environment.read { _ in try environment.read { _ in try environment.read { _ in } } }
            #expect(environment.readers().count < 10)
        }
    }

    @Test func aForkedChildIsRefused() async throws {
        try await withPath { path in
            await #expect(processExitsWith: .success) { [path = path as String] in
                let environment = try openWriter(path)
                let child = forkProcess()
                if child == 0 {
                    let codes = [
                        try failureCode { try environment.read { _ in } },
                        try failureCode { try environment.write { _ in } },
                        try failureCode { try environment.sync() },
                    ]
                    environment.close()
                    let reader = try openReader(path)
                    let own = try reader.read { $0.statistics(reader.database("log")).entries }
                    reader.close()
                    let isLeased = try failureCode { try openWriter(path) } == .writerLocked
                    _exit(codes.allSatisfy { $0 == .wrongProcess } && own == 0 && isLeased ? 0 : 1)
                }
                #expect(exitStatus(of: child) == 0)
                // The child's end took nothing from the parent.
                try environment.write { try $0.append(environment.database("log"), 1, [1]) }
                #expect(try environment.value("log", 1) == [1])
            }
        }
    }

    @Test func aForkedChildDrawsOtherRandomNumbers() async {
        await #expect(processExitsWith: .success) {
            var pool = RandomPool()
            _ = pool.next16()
            let path = FileManager.default.temporaryDirectory.path + "/traylog-random-\(getpid())"
            let child = forkProcess()
            if child == 0 {
                try "\(pool.next16())".write(toFile: path, atomically: true, encoding: .utf8)
                _exit(0)
            }
            #expect(exitStatus(of: child) == 0)
            #expect(try String(contentsOfFile: path, encoding: .utf8) != "\(pool.next16())")
            try FileManager.default.removeItem(atPath: path)
        }
    }

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
                OSThread.start(name: "reader-\(number)") {
                    while !isDone.load(ordering: .relaxed) {
                        do {
                            try reader.read { transaction in
                                let entries = UInt64(transaction.statistics(log).entries)
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
                    let first = try environment.read { UInt64($0.statistics(log).entries) } + 1
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
            let thread = OSThread.start(name: "holder") {
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

    @Test func aStrangerIsToldThatAccessIsDenied() async throws {
        guard getuid() == 0 else { return }
        try await withPath { path in
            try openWriter(path).close()
            await #expect(processExitsWith: .success) { [path = path as String] in
                _ = setuid(65534)
                let codes = [
                    try failureCode { try openReader(path) }, try failureCode { try openWriter(path) },
                ]
                #expect(codes == [.permissionDenied, .permissionDenied])
            }
            // Readable files do not help: readers write the lock file.
            for file in ["", "/data.mdb", "/lock.mdb", "/open.lock"] {
                let mode = file.isEmpty ? 0o755 : 0o644
                try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path + file)
            }
            await #expect(processExitsWith: .success) { [path = path as String] in
                _ = setuid(65534)
                do {
                    _ = try openReader(path)
                    Issue.record("It was opened.")
                } catch let error as LMDBError {
                    #expect(error.code == .permissionDenied)
                    #expect(error.message.contains("Readers too"))
                }
            }
        }
    }

    @Test func rootsVisitDoesNotLockTheOwnerOut() async throws {
        guard getuid() == 0 else { return }
        try await withPath { path in
            try openWriter(path).close()
            let owner: [FileAttributeKey: Any] = [.ownerAccountID: 65534, .groupOwnerAccountID: 65534]
            try FileManager.default.setAttributes(owner, ofItemAtPath: path)
            try FileManager.default.setAttributes(owner, ofItemAtPath: path + "/data.mdb")
            for file in ["lock.mdb", "open.lock", "writer.lock"] {
                try FileManager.default.removeItem(atPath: path + "/" + file)
            }
            try openWriter(path).close()
            await #expect(processExitsWith: .success) { [path = path as String] in
                _ = setuid(65534)
                try openWriter(path).close()
                try openReader(path).close()
            }
        }
    }

    @Test func aFileSizeLimitIsReportedAsAFullDisk() async throws {
        try await withPath { path in
            await #expect(processExitsWith: .success) { [path = path as String] in
                let environment = try openWriter(path)
                let log = environment.database("log")
                try environment.write { try $0.append(log, 1, [1]) }
                limitFileSize(bytes: 1 << 20)
                let code = try failureCode {
                    for key in UInt64(2)...2000 {
                        try environment.write { try $0.append(log, key, [UInt8](repeating: 1, count: 1500)) }
                    }
                }
                #expect(code == .diskFull)
                #expect(try environment.value("log", 1) == [1])
                #expect(try environment.write { try $0.delete(log, 2) })
                environment.close()
            }
            try openReader(path).close()
        }
    }

    @Test func startedProgramsDoNotInheritTheFiles() throws {
        try withEnvironment { environment in
            var files: [String] = []
            for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
                guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name),
                    target.hasPrefix(environment.directory),
                    let information = try? String(contentsOfFile: "/proc/self/fdinfo/" + name, encoding: .utf8)
                else { continue }
                let line = try #require(information.split(separator: "\n").first { $0.hasPrefix("flags:") })
                let flags = try #require(Int(line.split(whereSeparator: \.isWhitespace).last ?? "", radix: 8))
                #expect(flags & 0o2000000 != 0, "\(target) is inherited.")
                files.append(URL(filePath: target).lastPathComponent)
            }
            #expect(files.sorted() == ["data.mdb", "data.mdb", "lock.mdb", "open.lock", "writer.lock"])
        }
    }
}
