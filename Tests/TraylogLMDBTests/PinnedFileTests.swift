import Testing
@testable import TraylogLMDB

@Suite struct PinnedFileTests {
    private func keys(_ reader: some RowReader, _ log: Database) throws -> [UInt64] {
        try reader.read { transaction in
            try (1...3 as ClosedRange<UInt64>).filter { try transaction.get(log, $0) { _ in } != nil }
        }
    }

    @Test func aPinnedFilesTransactionsReadTheReplacedFile() throws {
        try withEnvironment { environment in
            let log = environment.database("log")
            try environment.write { try $0.append(log, 1, [1]) }
            let file = try PinnedFile(environment)
            try environment.write { try $0.append(log, 2, [1]) }
            // Until it is replaced, it is the environment's file like any other.
            #expect(try keys(file, log) == [1, 2])
            try environment.rewrite()
            try environment.write { try $0.append(log, 3, [1]) }
            #expect(try keys(file, log) == [1, 2])
            #expect(try keys(environment, log) == [1, 2, 3])
            let held = try file.hold()
            #expect(try keys(held, log) == [1, 2])
            held.end()
        }
    }

    @Test func aPinnedFileDoesNotDelayClosing() throws {
        try withPath { path in
            let environment = try openWriter(path)
            let log = environment.database("log")
            try environment.write { try $0.append(log, 1, [1]) }
            let old = try PinnedFile(environment)
            try environment.rewrite()
            let present = try PinnedFile(environment)
            environment.close()
            #expect(try failureCode { try keys(old, log) } == .closed)
            #expect(try failureCode { try keys(present, log) } == .closed)
        }
    }
}
