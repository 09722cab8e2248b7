import Foundation
import Synchronization
import TestSupport
import Testing

@testable import TraylogLMDB
import TraylogPlatform

@Suite struct OpeningTests {
    @Test func aSecondOpeningIsRefusedWhateverThePath() throws {
        try withPath { path in
            let environment = try openWriter(path)
            let alias = path + "-alias"
            try FileManager.default.createSymbolicLink(atPath: alias, withDestinationPath: path)
            for other in [path, alias, path + "/../store"] {
                #expect(try failureCode { try openWriter(other) } == .alreadyOpen)
                #expect(try failureCode { try openReader(other) } == .alreadyOpen)
            }
            environment.close()
            try openReader(alias).close()
            try openWriter(path).close()
        }
    }

    @Test func readingAMissingStoreCreatesNothing() throws {
        try withPath { path in
            #expect(try failureCode { try openReader(path) } == .notFound)
            #expect(!FileManager.default.fileExists(atPath: path))
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            #expect(try failureCode { try openReader(path) } == .notFound)
            #expect(try failureCode { try openWriter(path, .init(creates: false)) } == .notFound)
            #expect(try FileManager.default.contentsOfDirectory(atPath: path).isEmpty)
        }
    }

    @Test func valuesSurviveReopening() throws {
        try withPath { path in
            let writer = try openWriter(path)
            try writer.write { try $0.append(writer.database("log"), 1, [1, 2, 3]) }
            writer.close()
            let reader = try openReader(path)
            defer { reader.close() }
            #expect(try reader.value("log", 1) == [1, 2, 3])
            #expect(try failureCode { try reader.write { _ in } } == .readOnly)
        }
    }

    /// Between fork and exec a child has copies of all descriptors, and with them of the locks.
    @Test func reopeningWorksWhileProgramsAreStarted() throws {
        try withPath { path in
            let isDone = Atomic(false)
            let spawner = startThread("spawner") {
                while !isDone.load(ordering: .relaxed) {
                    let program = Process()
                    program.executableURL = URL(filePath: "/bin/true")
                    if (try? program.run()) != nil { program.waitUntilExit() }
                }
            }
            defer {
                isDone.store(true, ordering: .relaxed)
                spawner.join()
            }
            for _ in 0..<80 { try openWriter(path).close() }
        }
    }

    @Test func onlyTheOwnerCanReadTheFiles() throws {
        try withPath { path in
            let environment = try openWriter(path)
            defer { environment.close() }
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect(attributes[.posixPermissions] as? Int == 0o700)
            let inner = try FileManager.default.attributesOfItem(atPath: path + "/data-1")
            #expect(inner[.posixPermissions] as? Int == 0o700)
            for file in ["CURRENT", "data-1/data.mdb", "data-1/lock.mdb", "writer.lock", "open.lock"] {
                let attributes = try FileManager.default.attributesOfItem(atPath: path + "/" + file)
                #expect(attributes[.posixPermissions] as? Int == 0o600, "\(file)")
            }
        }
    }

    @Test func aReaderNamesTheDatabaseThatIsMissing() throws {
        try withPath { path in
            try openWriter(path).close()
            do {
                _ = try Environment.open(directory: path, access: .readOnly, databases: ["log", "other"])
                Issue.record("It was opened.")
            } catch let error as LMDBError {
                #expect(error.code == .missingDatabase)
                #expect(error.message.contains("other"))
            }
            try openReader(path).close()
        }
    }

    /// A draft may hold anything; it may have its name, or have lost it to a power cut.
    @Test(arguments: [nil, "data-1.new", "data-1"])
    func anInterruptedCreationIsResumed(left: String?) throws {
        try withPath { path in
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            if left != nil { try Data("data-1\n".utf8).write(to: URL(filePath: path + "/CURRENT")) }
            try Data("data-".utf8).write(to: URL(filePath: path + "/CURRENT.new"))
            if let left {
                try FileManager.default.createDirectory(
                    atPath: "\(path)/\(left)", withIntermediateDirectories: false)
                let file = left.hasSuffix(".new") ? "data.mdb" : "lock.mdb"
                try Data([1, 2, 3]).write(to: URL(filePath: "\(path)/\(left)/\(file)"))
            }
            #expect(try failureCode { try openReader(path) } == .notFound)
            let environment = try openWriter(path)
            try environment.write { try $0.append(environment.database("log"), 1, [1]) }
            environment.close()
            #expect(try openReader(path).value("log", 1) == [1])
            #expect(leftovers(in: path) == [])
        }
    }

    @Test(arguments: ["", "data-1", "data-01\n", "data-\n", "../store/data-1\n", "data-1.new\n", "data-1\n\n"])
    func aCurrentThatNamesNothingIsDamage(text: String) throws {
        try withStoredValue { path in
            try Data(text.utf8).write(to: URL(filePath: path + "/CURRENT"))
            #expect(try failureCode { try openWriter(path) } == .corrupted)
            #expect(try failureCode { try openReader(path) } == .corrupted)
        }
    }

    /// The data file is still there, and nobody begins an empty store over it.
    @Test(arguments: [nil, "data-2\n"])
    func aStoreThatLostItsCurrentIsNotTakenForANewOne(text: String?) throws {
        try withStoredValue { path in
            try FileManager.default.removeItem(atPath: path + "/CURRENT")
            if let text { try Data(text.utf8).write(to: URL(filePath: path + "/CURRENT")) }
            let before = try Data(contentsOf: URL(filePath: path + "/data-1/data.mdb"))
            #expect(try failureCode { try openReader(path) } == .notFound)
            do {
                _ = try openWriter(path)
                Issue.record("It was opened.")
            } catch let error as LMDBError {
                #expect(error.code == .corrupted)
                #expect(error.message.contains("data-1"))
            }
            #expect(try Data(contentsOf: URL(filePath: path + "/data-1/data.mdb")) == before)
            try Data("data-1\n".utf8).write(to: URL(filePath: path + "/CURRENT"))
            #expect(try openReader(path).value("log", 1)?.count == 500)
        }
    }

    @Test func anEmptyFileIsNotTakenForANewStore() throws {
        try withStoredValue { path in
            try Data().write(to: URL(filePath: dataFile(of: path)))
            #expect(try failureCode { try openWriter(path) } == .truncated)
            #expect(try failureCode { try openReader(path) } == .truncated)
        }
    }

    @Test(arguments: [1, 15, 16, 23, 24, 151, 4095, 4096, 4247, 8191, 8192, 12288, 20000])
    func aTruncatedFileIsRefused(bytes: Int) throws {
        try withStoredValue { path in
            let data = URL(filePath: dataFile(of: path))
            let handle = try FileHandle(forUpdating: data)
            try handle.truncate(atOffset: UInt64(bytes))
            try handle.close()
            #expect(try failureCode { try openReader(path) } == .truncated)
            #expect(try failureCode { try openWriter(path) } == .truncated)
        }
    }

    @Test func newerAndForeignDataFilesAreRecognised() throws {
        try withStoredValue { path in
            let url = URL(filePath: dataFile(of: path))
            let sound = try Data(contentsOf: url)
            var newer = sound
            newer.replaceSubrange(16..<24, with: [0, 0, 0, 0, 0, 0, 0, 0])
            newer.replaceSubrange(24..<32, with: [0xDE, 0xC0, 0xEF, 0xBE, 3, 0, 0, 0])
            var version = sound
            version[20] = 2
            var second = sound
            second.replaceSubrange(4096..<8192, with: Data(count: 4096))
            var pageSize = sound
            pageSize[40] = 1
            let cases: [(Data, LMDBError.Code)] = [
                (Data(repeating: 0x41, count: 40_000), .notAStore), (Data(count: 40_000), .notAStore),
                (newer, .newerFormat), (version, .newerFormat), (second, .corrupted), (pageSize, .corrupted),
            ]
            for (bytes, code) in cases {
                try bytes.write(to: url)
                #expect(try failureCode { try openReader(path) } == code)
                #expect(try failureCode { try openWriter(path) } == code)
            }
            try sound.write(to: url)
            try openReader(path).close()
        }
    }

    @Test func aDirectoryIsNeeded() throws {
        try withPath { path in
            try Data([1]).write(to: URL(filePath: path))
            #expect(try failureCode { try openWriter(path) } == .unusableTarget)
            #expect(try failureCode { try openWriter(path + "/below") } == .unusableTarget)
            #expect(try failureCode { try openWriter("/nowhere/at/all") } == .notFound)
        }
    }

    /// LMDB never writes pages that one transaction takes and gives up again.
    @Test(arguments: UInt64(0)..<6)
    func aShortButHealthyFileOpens(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        try withPath { path in
            var shortFiles = 0
            for round in 0..<12 {
                let environment = try openWriter(path, .init(durability: .relaxed))
                let log = environment.database("log")
                let first = UInt64(round) * 10_000
                for commit in 0..<UInt64(10) {
                    let start = first + commit * 1000
                    let end = start + UInt64.random(in: 1...60, using: &random)
                    try environment.write { transaction in
                        for key in start..<end {
                            let size = Int.random(in: 0..<3, using: &random) > 0 ? 200 : 9000
                            try transaction.append(log, key, [UInt8](repeating: 1, count: size))
                        }
                        for key in UInt64.random(in: start + 1...end, using: &random)..<end {
                            _ = try transaction.delete(log, key)
                        }
                    }
                }
                environment.close()
                let size = try lastPageWritten(path)
                let handle = try FileHandle(forUpdating: URL(filePath: dataFile(of: path)))
                if try handle.seekToEnd() > size { shortFiles += 1 }
                try handle.truncate(atOffset: size)
                try handle.close()
                let reader = try openReader(path)
                #expect(try reader.value("log", first + 9000) != nil)
                reader.close()
            }
            #expect(shortFiles > 0)
        }
    }

    /// The size of the file up to its last page with content, as LMDB alone would have left it.
    private func lastPageWritten(_ path: String) throws -> UInt64 {
        let data = try Data(contentsOf: URL(filePath: dataFile(of: path)))
        var pages = data.count / 4096
        while data[(pages - 1) * 4096..<pages * 4096].allSatisfy({ $0 == 0 }) { pages -= 1 }
        return UInt64(pages * 4096)
    }

    /// Calls `body` with the path of a closed store that holds 200 values.
    private func withStoredValue(_ body: (String) throws -> Void) throws {
        try withPath { path in
            let environment = try openWriter(path)
            try environment.write { transaction in
                for key in UInt64(1)...200 {
                    try transaction.append(environment.database("log"), key, [UInt8](repeating: 1, count: 500))
                }
            }
            environment.close()
            try body(path)
        }
    }

    /// A power cut before the names of a rewrite were on disk: its data file may hold anything.
    @Test func aRewriteThatHadNotBegunIsTakenAway() throws {
        try withPath { path in
            try openWriter(path).close()
            try FileManager.default.createDirectory(atPath: path + "/data-2", withIntermediateDirectories: false)
            for name in ["data.mdb", "journal"] {
                try Data(repeating: 0, count: 20_000).write(to: URL(filePath: path + "/data-2/" + name))
            }
            let next = try openWriter(path)
            defer { next.close() }
            #expect(leftovers(in: path) == [])
        }
    }
}
