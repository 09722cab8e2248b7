import Foundation
import Testing

@testable import TraylogLMDB
import TraylogPlatform

/// What is kept ready behind the last page of a file that is written.
@Suite struct HeadroomTests {
    private func length(_ environment: Environment) throws -> Int {
        Int(try FileStatus(path: dataFile(of: environment.directory)).size)
    }

    /// A file system on which there is nothing to prepare has no room either.
    private func expectRoom(_ environment: Environment, _ bytes: ClosedRange<Int>) throws {
        let room = try length(environment) - environment.information().fileBytes
        let file = try #require(environment.file?.dataFile)
        #expect(FileSystem.overwritesInPlace(file) ? bytes.contains(room) : room == 0)
    }

    private func append(_ count: Int, bytes: Int, from first: UInt64, to environment: Environment) throws {
        let log = environment.database("log")
        let value = [UInt8](repeating: 7, count: bytes)
        try environment.write { transaction in
            for index in 0..<UInt64(count) { try transaction.append(log, first + index, value) }
        }
    }

    @Test func smallCommitsFindRoomAndClosingGivesItBack() throws {
        try withEnvironment { environment in
            for round in 0..<200 {
                try append(10, bytes: 200, from: UInt64(round * 10 + 1), to: environment)
                try expectRoom(environment, 4_096...(1 << 20) + 4_096)
            }
            let bytes = try environment.information().fileBytes
            let path = dataFile(of: environment.directory)
            environment.close()
            #expect(try FileStatus(path: path).size == Int64(bytes))
        }
    }

    @Test func whatIsBehindTheLastPageIsZeros() throws {
        try withEnvironment { environment in
            for round in 0..<20 { try append(10, bytes: 200, from: UInt64(round * 10 + 1), to: environment) }
            let bytes = try environment.information().fileBytes
            let content = try Data(contentsOf: URL(filePath: dataFile(of: environment.directory)))
            #expect(content[bytes...].allSatisfy { $0 == 0 })
            for key in 1...200 { #expect(try environment.value("log", UInt64(key))?.count == 200) }
        }
    }

    @Test func largeCommitsGetNoRoom() throws {
        try withEnvironment { environment in
            for round in 0..<30 { try append(1_000, bytes: 300, from: UInt64(round * 1_000 + 1), to: environment) }
            try expectRoom(environment, 0...0)
        }
    }

    @Test func smallCommitsAfterLargeOnesGetTheRoomOfSmallOnes() throws {
        try withEnvironment { environment in
            for round in 0..<30 { try append(1_000, bytes: 300, from: UInt64(round * 1_000 + 1), to: environment) }
            for round in 0..<100 {
                try append(1, bytes: 200, from: UInt64(30_001 + round), to: environment)
                // A page more in the one commit of many that needs one.
                try expectRoom(environment, 0...32 * 4_096 + 4_096)
            }
        }
    }

    @Test func whatAKilledWriterLeftIsUsedAndGivenBackByTheNext() throws {
        try withEnvironment { environment in
            try append(1, bytes: 200, from: 1, to: environment)
            let path = dataFile(of: environment.directory)
            environment.close()
            let closed = try FileStatus(path: path).size
            let result = unsafe truncate(path, off_t(closed + 500_000))
            #expect(result == 0)
            let next = try Environment.open(
                directory: environment.directory, access: .readWrite, databases: environment.databaseNames)
            try append(1, bytes: 200, from: 2, to: next)
            #expect(try next.value("log", 2)?.count == 200)
            let bytes = try next.information().fileBytes
            next.close()
            #expect(try FileStatus(path: path).size == Int64(bytes))
        }
    }

    /// A power cut before the names of a rewrite were on disk: its data file may hold anything.
    @Test func aRewriteThatHadNotBegunIsTakenAway() throws {
        try withEnvironment { environment in
            try append(1, bytes: 200, from: 1, to: environment)
            let directory = environment.directory
            environment.close()
            try FileManager.default.createDirectory(
                atPath: directory + "/data-2", withIntermediateDirectories: false)
            try Data(repeating: 0, count: 20_000).write(to: URL(filePath: directory + "/data-2/data.mdb"))
            let next = try Environment.open(
                directory: directory, access: .readWrite, databases: environment.databaseNames)
            defer { next.close() }
            #expect(try next.value("log", 1)?.count == 200)
            #expect(leftovers(in: directory) == [])
        }
    }
}
