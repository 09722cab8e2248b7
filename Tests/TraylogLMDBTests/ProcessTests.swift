import Foundation
import TestSupport
import Testing
import TraylogLMDB
import TraylogPlatform

/// What several processes do to one store; the others are children that run a closure of a test.
@Suite struct ProcessTests {
    @Test func theLeaseNamesTheProcessThatWrites() async throws {
        try await withPath { path in
            let isOver = Monitor(false)
            let child = Task {
                defer { isOver.withLock { $0 = true } }
                _ = await #expect(processExitsWith: .success) { [path = path as String] in
                    let environment = try openWriter(path)
                    try environment.write { try $0.append(environment.database("log"), 1, [1]) }
                    try String(getpid()).write(toFile: path + "/ready", atomically: true, encoding: .utf8)
                    waitForFile(path + "/stop")
                    environment.close()
                }
            }
            try await waitForFile(path + "/ready") { isOver.withLock { $0 } }
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
                startThread("deep") {
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
                    let own = try reader.read { try $0.statistics(reader.database("log")).entries }
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
