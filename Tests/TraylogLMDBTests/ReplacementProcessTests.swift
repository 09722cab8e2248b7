import Foundation
import TestSupport
import Testing

@testable import TraylogLMDB
import TraylogPlatform

/// A data file is replaced while other processes read the store, and by processes that are killed.
@Suite struct ReplacementProcessTests {
    /// Every key of a commit has the number of that commit, so that a mixed answer shows.
    private static let keys: UInt64 = 400

    @Test func readersOfOtherProcessesGoOnInTheNewFile() async throws {
        try await withPath { path in
            await #expect(processExitsWith: .success) { [path = path as String] in
                let created = try openWriter(path)
                try created.writeRound(0, keys: Self.keys)
                created.close()
                let readers = (0..<3).map { _ in
                    let child = forkProcess()
                    if child == 0 { _exit((try? Self.readRounds(path, through: 121)) == nil ? 1 : 0) }
                    return child
                }
                let environment = try openWriter(path)
                for round in 1...121 {
                    try environment.writeRound(UInt64(round), keys: Self.keys)
                    if round % 10 == 0 { try environment.rewrite() }
                }
                for reader in readers { try #require(exitStatus(of: reader) == 0) }
                try #require(try environment.readRound() == 121)
                environment.close()
            }
        }
    }

    /// Reads with two threads until both have seen a round, after which nothing is replaced; mixed and older answers
    /// end the process.
    private static func readRounds(_ path: String, through end: UInt64) throws {
        let reader = try openReader(path)
        let threads = (0..<2).map { _ in
            startThread("reader") {
                var last: UInt64 = 0
                while last < end {
                    guard let round = try? reader.readRound(), round >= last else { _exit(2) }
                    last = round
                }
            }
        }
        for thread in threads { thread.join() }
        reader.waitForRetired()
        if deletedFiles(of: path) != 0 { _exit(3) }
        reader.close()
    }

    @Test func anIdleReaderSeesTheNewFileWithItsNextTransaction() async throws {
        try await withPath { path in
            let environment = try openWriter(path)
            defer { environment.close() }
            try environment.writeRound(1, keys: 1)
            let reader = Task {
                await #expect(processExitsWith: .success) { [path = path as String] in
                    let reader = try openReader(path)
                    try #require(try reader.readRound() == 1)
                    try "".write(toFile: path + "/ready", atomically: true, encoding: .utf8)
                    waitForFile(path + "/replaced")
                    // Inside of a transaction on the old file, too.
                    try reader.read { _ in try #require(try reader.readRound() == 2) }
                    // The writer keeps the file longer than its last page, by less than it would for large commits.
                    let size = try Int64(reader.information().fileBytes)
                    let length = try FileStatus(path: dataFile(of: path)).size
                    try #require(size <= length && length < size + (1 << 20))
                    try #require(reader.readers().contains { $0.processID == getpid() })
                    reader.close()
                    try #require(deletedFiles(of: path) == 0)
                }
            }
            try await waitForFile(path + "/ready") { false }
            try environment.rewrite()
            try environment.writeRound(2, keys: 1)
            try "".write(toFile: path + "/replaced", atomically: true, encoding: .utf8)
            _ = await reader.value
        }
    }

    @Test func anIdleReaderCopiesTheNewFile() async throws {
        try await withPath { path in
            let environment = try openWriter(path)
            defer { environment.close() }
            let reader = Task {
                await #expect(processExitsWith: .success) { [path = path as String] in
                    let reader = try openReader(path)
                    try "".write(toFile: path + "/ready", atomically: true, encoding: .utf8)
                    waitForFile(path + "/replaced")
                    _ = try reader.copyStore(to: path + "-copy", table: "log")
                    reader.close()
                }
            }
            try await waitForFile(path + "/ready") { false }
            try environment.rewrite()
            try environment.writeRound(1, keys: 1)
            try "".write(toFile: path + "/replaced", atomically: true, encoding: .utf8)
            _ = await reader.value
            let copy = try openReader(path + "-copy")
            defer { copy.close() }
            #expect(try copy.readRound() == 1)
        }
    }

    @Test func aReaderOfTheNewFileIsKnownToTheWriter() async throws {
        try await withPath { path in
            let environment = try openWriter(path)
            defer { environment.close() }
            try environment.rewrite()
            await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
                try openReader(path).read { _ in _ = kill(getpid(), SIGKILL) }
            }
            #expect(environment.readers().count { $0.transactionID != nil } == 1)
            #expect(environment.reapDeadReaders() >= 1)
        }
    }

    @Test(arguments: Environment.ReplacementStep.allCases)
    func aReplacementKilledAtAnyStepLeavesTheOldStoreOrTheNewOne(_ step: Environment.ReplacementStep) async throws {
        try await withPath { path in
            let environment = try openWriter(path)
            try environment.writeRound(1, keys: 5)
            environment.close()
            // One reader stays on the file that it has, one opens the store that the killed process left.
            let reader = try openReader(path)
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = path as String, step = step.rawValue as String] in
                let writer = try openWriter(path)
                try writer.rewrite(onStep: { if $0.rawValue == step { kill(getpid(), SIGKILL) } })
            }
            #expect(try reader.readRound() == 1)
            await #expect(processExitsWith: .success) { [path = path as String] in
                let other = try openReader(path)
                try #require(try other.readRound() == 1)
                other.close()
            }
            await #expect(processExitsWith: .success) { [path = path as String] in
                let writer = try openWriter(path)
                try #require(try writer.readRound() == 1)
                try #require(try !writer.isNoted())
                try #require(leftovers(in: path) == [])
                for round in 2...20 { try writer.writeRound(UInt64(round), keys: 5) }
                try writer.rewrite()
                try writer.writeRound(21, keys: 5)
                writer.close()
            }
            #expect(try reader.readRound() == 21)
            reader.close()
        }
    }

    @Test(arguments: Environment.ReplacementStep.allCases)
    func aSnapshotOfTheOldFileStaysWhatItWasWhateverComesAfterTheKill(
        _ step: Environment.ReplacementStep
    ) async throws {
        try await withPath { path in
            let environment = try openWriter(path)
            try environment.writeRound(1, keys: Self.keys)
            environment.close()
            let reader = try openReader(path)
            defer { reader.close() }
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = path as String, step = step.rawValue as String] in
                let writer = try openWriter(path)
                try writer.rewrite(onStep: { if $0.rawValue == step { kill(getpid(), SIGKILL) } })
            }
            let (begun, ended) = (path + "/begun", path + "/ended")
            let writing = Task {
                await #expect(processExitsWith: .success) { [path = path as String, begun = begun as String] in
                    waitForFile(begun)
                    let writer = try openWriter(path)
                    for round in 2...30 { try writer.writeRound(UInt64(round), keys: Self.keys) }
                    writer.close()
                }
            }
            let reading = startOnOtherThread {
                try reader.read { transaction in
                    try "".write(toFile: begun, atomically: true, encoding: .utf8)
                    waitForFile(ended)
                    let rounds = try transaction.rounds(reader.database("log"))
                    #expect(rounds == [1])
                }
            }
            _ = await writing.value
            try "".write(toFile: ended, atomically: true, encoding: .utf8)
            reading.join()
            #expect(try reader.readRound() == 30)
        }
    }

    @Test func aChildOfForkLeavesTheNewFileAlone() async throws {
        try await withPath { path in
            await #expect(processExitsWith: .success) { [path = path as String] in
                let environment = try openWriter(path)
                try environment.writeRound(1, keys: 1)
                let successor = try environment.openSuccessor()
                let child = forkProcess()
                if child == 0 {
                    let codes = [
                        try failureCode { try environment.replace(by: successor) },
                        try failureCode { _ = try environment.openSuccessor() },
                        try failureCode { try successor.write { _ in } },
                    ]
                    successor.close()
                    environment.close()
                    _exit(codes.allSatisfy { $0 == .wrongProcess } ? 0 : 1)
                }
                try #require(exitStatus(of: child) == 0)
                try environment.replace(by: successor)
                try environment.writeRound(2, keys: 1)
                try #require(try environment.readRound() == 2)
            }
        }
    }
}

extension Environment {
    /// Writes the number of a round under all keys, in one commit.
    fileprivate func writeRound(_ round: UInt64, keys: UInt64) throws {
        let log = database("log")
        let value =
            (0..<8).map { UInt8(truncatingIfNeeded: round >> (56 - 8 * $0)) } + [UInt8](repeating: 3, count: 100)
        try write { transaction in
            for key in 1...keys { try transaction.put(log, key, RawSpan(_elements: value.span)) }
        }
    }

    /// The round that all keys show.
    fileprivate func readRound() throws -> UInt64 {
        let rounds = try read { try $0.rounds(database("log")) }
        precondition(rounds.count == 1, "An answer is mixed of rounds \(rounds).")
        return rounds.first ?? 0
    }
}

extension ReadTransaction {
    fileprivate borrowing func rounds(_ database: Database) throws -> Set<UInt64> {
        try withCursor(database) { cursor in
            var rounds: Set<UInt64> = []
            while try cursor.next() {
                rounds.insert(cursor.withEntry { $1.copy.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } })
            }
            return rounds
        }
    }
}
