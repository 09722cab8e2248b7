import Foundation
import Testing

@testable import TraylogLMDB
import TraylogPlatform

/// The data file is longer than its last page says while it is written, so that few commits change its length.
@Suite struct FileLengthTests {
    private let smallestRoom = 64 << 10
    private let largestRoom = 1 << 20

    private func length(_ environment: Environment) throws -> Int {
        Int(try FileStatus(path: dataFile(of: environment.directory)).size)
    }

    private func append(_ count: Int, bytes: Int, from first: UInt64, to environment: Environment) throws {
        let log = environment.database("log")
        let value = [UInt8](repeating: 7, count: bytes)
        try environment.write { transaction in
            for index in 0..<UInt64(count) { try transaction.append(log, first + index, value) }
        }
    }

    @Test func fewCommitsChangeTheFilesLengthAndClosingRemovesTheSpare() throws {
        try withEnvironment { environment in
            var lengths: Set<Int> = []
            for round in 0..<400 {
                try append(10, bytes: 200, from: UInt64(round * 10 + 1), to: environment)
                lengths.insert(try length(environment))
                let room = try length(environment) - environment.information().fileBytes
                #expect((0...largestRoom).contains(room))
            }
            let bytes = try environment.information().fileBytes
            #expect(bytes > 600_000)
            #expect(lengths.count <= bytes / smallestRoom + 1)
            let path = dataFile(of: environment.directory)
            environment.close()
            #expect(try FileStatus(path: path).size == Int64(bytes))
        }
    }

    @Test func theSpareLengthTakesNoSpaceAndIsZeros() throws {
        try withEnvironment { environment in
            for round in 0..<20 { try append(10, bytes: 200, from: UInt64(round * 10 + 1), to: environment) }
            let bytes = try environment.information().fileBytes
            var status = stat()
            #expect(unsafe stat(dataFile(of: environment.directory), &status) == 0)
            // The system counts blocks of 512 bytes.
            #expect(Int(status.st_blocks) * 512 < Int(status.st_size))
            let content = try Data(contentsOf: URL(filePath: dataFile(of: environment.directory)))
            #expect(content.count > bytes)
            #expect(content[bytes...].allSatisfy { $0 == 0 })
            for key in 1...200 { #expect(try environment.value("log", UInt64(key))?.count == 200) }
        }
    }

    @Test func theFilesLengthStaysWithinTheMap() throws {
        var configuration = Environment.Configuration()
        configuration.mapSizeBytes = 256 << 10
        try withEnvironment(configuration) { environment in
            for key in 1...60 {
                try append(1, bytes: 2_000, from: UInt64(key), to: environment)
                let limit = max(try environment.information().mapSizeBytes, configuration.mapSizeBytes)
                #expect(try length(environment) <= limit)
            }
        }
    }

    @Test func theSpareLengthOfAKilledWriterIsUsedAndRemovedByTheNext() throws {
        try withEnvironment { environment in
            try append(1, bytes: 200, from: 1, to: environment)
            let path = dataFile(of: environment.directory)
            environment.close()
            let closed = try FileStatus(path: path).size
            let result = unsafe truncate(path, off_t(closed + 500_000))
            #expect(result == 0)
            let next = try openWriter(environment.directory)
            try append(1, bytes: 200, from: 2, to: next)
            #expect(try length(next) == Int(closed) + 500_000)
            #expect(try next.value("log", 2)?.count == 200)
            let bytes = try next.information().fileBytes
            next.close()
            #expect(try FileStatus(path: path).size == Int64(bytes))
        }
    }
}
