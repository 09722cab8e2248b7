import Foundation
import TestSupport
import Testing
@testable import TraylogLMDB

/// Headers as a commit leaves them whose page LMDB could not write, or as one changed bit does.
@Suite struct RenumberedCommitTests {
    /// Calls `body` with a closed store of rows that all have the number of their commit, and with the header's numbers:
    /// the newest commit neither made the file longer, nor has it a number without the second bit.
    private func withRounds(_ body: (_ path: String, _ bytes: inout Data, _ newest: UInt64) throws -> Void) throws {
        try withPath { path in
            let environment = try openWriter(path)
            var newest: UInt64 = 0
            while newest < 20 || newest & 2 == 0 {
                newest = try environment.write { transaction in
                    for key in UInt64(1)...200 {
                        try transaction.put(
                            environment.database("index"), Array("\(key)".utf8), Array("\(transaction.id)".utf8))
                    }
                    return transaction.id
                }
            }
            environment.close()
            let file = URL(filePath: dataFile(of: path))
            var bytes = try Data(contentsOf: file)
            try #require(
                bytes.number(page(newest) + 144) == newest && bytes.number(page(newest - 1) + 144) == newest - 1)
            try #require(bytes.number(page(newest) + 136) == bytes.number(page(newest - 1) + 136))
            try body(path, &bytes, newest)
        }
    }

    @Test(arguments: [true, false])
    func theNewestCommitCountsUnderAnOlderNumber(isWriting: Bool) throws {
        try withRounds { path, bytes, newest in
            bytes[page(newest) + 144] ^= 2
            try bytes.write(to: URL(filePath: dataFile(of: path)))
            let environment = try isWriting ? openWriter(path) : openReader(path)
            #expect(try environment.rounds() == [newest])
            environment.close()
            try expectSound(path, [newest])
        }
    }

    @Test(arguments: [true, false])
    func aPartlyRestoredHeaderNamesTheCommitBefore(isWriting: Bool) throws {
        try withRounds { path, bytes, newest in
            // The free list of the newest commit with other tables.
            bytes[page(newest) + 144] ^= 2
            bytes.replaceSubrange(
                page(newest) + 88..<page(newest) + 136, with: bytes[page(newest - 1) + 88..<page(newest - 1) + 136])
            try bytes.write(to: URL(filePath: dataFile(of: path)))
            let environment = try isWriting ? openWriter(path) : openReader(path)
            #expect(try environment.rounds() == [newest - 1])
            environment.close()
            try expectSound(path, [newest - 1])
        }
    }

    @Test func theLockOfOtherProcessesKnowsTheNewestCommit() throws {
        try withRounds { path, bytes, newest in
            let ready = path + "-ready"
            let child = forkProcess()
            if child == 0 {
                guard let reader = try? openReader(path), (try? reader.rounds()) == [newest] else { _exit(1) }
                _ = FileManager.default.createFile(atPath: ready, contents: nil)
                waitForFile(ready + "-done")
                _exit(0)
            }
            waitForFile(ready)
            let file = try FileHandle(forWritingTo: URL(filePath: dataFile(of: path)))
            try file.seek(toOffset: UInt64(page(newest) + 144))
            try file.write(contentsOf: [bytes[page(newest) + 144] ^ 2])
            try file.close()
            #expect(try failureCode { try openReader(path).close() } == .corrupted)
            #expect(try failureCode { try openWriter(path).close() } == .corrupted)
            _ = FileManager.default.createFile(atPath: ready + "-done", contents: nil)
            #expect(exitStatus(of: child) == 0)
        }
    }

    /// A store that shows these rounds goes on, and everything is sound then.
    private func expectSound(_ path: String, _ rounds: Set<UInt64>) throws {
        let environment = try openWriter(path)
        defer { environment.close() }
        #expect(try environment.rounds() == rounds)
        #expect(try environment.checkPages().isEmpty)
        try environment.write { try $0.put(environment.database("log"), Array("12345678".utf8), [1]) }
        #expect(try environment.rounds() == rounds)
        #expect(try environment.checkPages().isEmpty)
    }

    /// Where the header's page of a commit begins.
    private func page(_ commit: UInt64) -> Int { Int(commit & 1) * 4_096 }
}

extension Environment {
    /// The numbers in all rows.
    fileprivate func rounds() throws -> Set<UInt64> {
        try read { transaction in
            try transaction.withCursor(database("index")) { cursor in
                var rounds: Set<UInt64> = []
                while try cursor.next() {
                    cursor.withEntry { _, value in
                        _ = UInt64(String(decoding: value.copy, as: UTF8.self)).map { rounds.insert($0) }
                    }
                }
                return rounds
            }
        }
    }
}
