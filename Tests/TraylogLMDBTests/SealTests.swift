import Foundation
import Testing
@testable import TraylogLMDB
@testable import TraylogPages

/// Files as a power cut during a commit leaves them: the newest commit is pending, and its seal decides.
@Suite struct SealTests {
    @Test(arguments: [true, false])
    func aCommitWhoseSealFitsCounts(isWriting: Bool) throws {
        try withPendingCommit { path, bytes, newest in
            try bytes.write(to: URL(filePath: dataFile(of: path)))
            let environment = try isWriting ? openWriter(path) : openReader(path)
            #expect(try environment.rows() == newest)
            environment.close()
            #expect(try Data(contentsOf: URL(filePath: dataFile(of: path))).number(page(newest) + 152) == 0)
            try expectSound(path, newest)
        }
    }

    @Test(arguments: [true, false])
    func aCommitThatLacksAnyOfItsPagesIsTakenBack(isWriting: Bool) throws {
        try withPendingCommit { path, bytes, newest in
            let pages = sealed(bytes, newest)
            #expect(pages.count > 4)
            for number in pages {
                var torn = bytes
                torn.replaceSubrange(number * 4_096..<number * 4_096 + 512, with: Data(count: 512))
                try torn.write(to: URL(filePath: dataFile(of: path)))
                let environment = try isWriting ? openWriter(path) : openReader(path)
                #expect(try environment.rows() == newest - 1, "page \(number)")
                environment.close()
                try expectSound(path, newest - 1)
            }
        }
    }

    @Test func aSealThatIsTornOrThatOfAnotherCommitTakesTheCommitBack() throws {
        try withPendingCommit { path, bytes, newest in
            let (place, other) = (page(newest) + 512, page(newest - 1) + 512)
            var torn = bytes
            torn.replaceSubrange(place..<place + 512, with: Data(count: 512))
            var older = bytes
            older.replaceSubrange(place..<place + 1_024, with: bytes[other..<other + 1_024])
            var renamed = older
            renamed.replaceSubrange(place + 8..<place + 16, with: bytes[place + 8..<place + 16])
            var header = bytes
            header[page(newest) + 120] ^= 1
            for bytes in [torn, older, renamed, header] {
                try bytes.write(to: URL(filePath: dataFile(of: path)))
                try expectSound(path, newest - 1)
            }
        }
    }

    @Test(arguments: [true, false])
    func aFileThatDidNotGrowYetIsThatOfTheCommitBefore(hasOpenLock: Bool) throws {
        try withPendingCommit { path, bytes, newest in
            let end = Int(bytes.number(page(newest - 1) + 136) + 1) * 4_096
            try #require(end < bytes.count)
            if !hasOpenLock { try FileManager.default.removeItem(atPath: path + "/open.lock") }
            try bytes[..<end].write(to: URL(filePath: dataFile(of: path)))
            let reader = try openReader(path)
            #expect(try reader.rows() == newest - 1)
            reader.close()
            try expectSound(path, newest - 1)
        }
    }

    /// The pages that a seal lists, put over the file of before, are all of the commit.
    @Test(arguments: [UInt64(1), 2, 3])
    func aSealListsEveryPageOfItsCommit(seed: UInt64) throws {
        try withPath { path in
            var random = SeededGenerator(seed: seed)
            let environment = try openWriter(path)
            defer { environment.close() }
            let file = URL(filePath: dataFile(of: path))
            for _ in 0..<60 {
                let before = try Data(contentsOf: file)
                let newest = try environment.write { transaction in
                    for _ in 0..<Int.random(in: 1...30, using: &random) {
                        let database = environment.database(Bool.random(using: &random) ? "log" : "index")
                        let key = Array("\(UInt64.random(in: 0..<400, using: &random))".utf8)
                        let size = Int.random(in: 0..<5, using: &random) == 0 ? 9_000 : 300
                        if Int.random(in: 0..<3, using: &random) == 0 {
                            _ = try transaction.delete(database, key)
                        } else {
                            let byte = UInt8.random(in: 0...255, using: &random)
                            let count = Int.random(in: 1...size, using: &random)
                            try transaction.put(database, key, Array(repeating: byte, count: count))
                        }
                    }
                    return transaction.id
                }
                let after = try Data(contentsOf: file)
                let copy = path + "-copy"
                defer { try? FileManager.default.removeItem(atPath: copy) }
                try expectWhole(before, after, newest, in: copy) { (reader) throws in
                    for name in databaseNames {
                        #expect(try reader.all(name) == environment.all(name), "commit \(newest), seed \(seed)")
                    }
                }
            }
        }
    }

    /// The next commit takes the same pages and looks the same from the old trees, if those are remembered.
    @Test func theSealAfterACommitThatWasTakenBackListsEveryPage() throws {
        try withPath { path in
            let environment = try openWriter(path)
            defer { environment.close() }
            for _ in 0..<20 { try environment.addRow() }
            let failed = try environment.rows()
            let opened = try #require(environment.file)
            opened.doubt()
            try opened.pages.notePending(failed, true)
            try opened.takeBackFailed()
            let file = URL(filePath: dataFile(of: path))
            let before = try Data(contentsOf: file)
            let newest = try environment.addRow()
            #expect(newest == failed + 1)
            let after = try Data(contentsOf: file)
            let copy = path + "-copy"
            defer { try? FileManager.default.removeItem(atPath: copy) }
            try expectWhole(before, after, newest, in: copy) { (reader) throws in
                #expect(try reader.rows() == newest)
            }
        }
    }

    @Test func aCommitOfManyPagesHasNoSealAndNeedsNone() throws {
        try withPath { path in
            var environment = try openWriter(path)
            let newest = try environment.write { transaction in
                for key in UInt64(1)...400 {
                    try transaction.append(environment.database("log"), key, Array(repeating: 7, count: 3_000))
                }
                return transaction.id
            }
            environment.close()
            let bytes = try Data(contentsOf: URL(filePath: dataFile(of: path)))
            #expect(bytes.number(page(newest) + 152) == 0)
            #expect(bytes.number(page(newest) + 520) != newest)
            environment = try openWriter(path)
            #expect(try environment.keys("log").count == 400)
            environment.close()
        }
    }

    @Test func aReaderShowsAPendingCommitOnlyWhenItIsSafe() throws {
        try withEnvironment { environment in
            for _ in 0..<5 { try environment.addRow() }
            let newest = try environment.rows()
            let file = try FileHandle(forUpdating: URL(filePath: dataFile(of: environment.directory)))
            try file.write(~newest, at: page(newest) + 152)
            #expect(try environment.rows() == newest - 1)
            try file.write(0, at: page(newest) + 152)
            #expect(try environment.rows() == newest)
        }
    }

    @Test(arguments: [true, false])
    func theNextWriterBesideAReaderGoesByTheSealOfWhatAKilledOneLeft(fits: Bool) throws {
        try withPath { path in
            let writer = try openWriter(path)
            for _ in 0..<5 { try writer.addRow() }
            let newest = try writer.rows()
            writer.close()
            let left = fits ? newest : newest - 1
            let files = (0..<4).map { "\(path)-\($0)" }
            let child = forkProcess()
            if child == 0 {
                guard let reader = try? openReader(path), (try? reader.rows()) == newest else { _exit(1) }
                _ = FileManager.default.createFile(atPath: files[0], contents: nil)
                waitForFile(files[1])
                guard (try? reader.rows()) == newest - 1 else { _exit(2) }
                _ = FileManager.default.createFile(atPath: files[2], contents: nil)
                waitForFile(files[3])
                _exit((try? reader.rows()) == left ? 0 : 3)
            }
            waitForFile(files[0])
            let file = try FileHandle(forUpdating: URL(filePath: dataFile(of: path)))
            if !fits { try file.write(0, at: page(newest) + 520) }
            try file.write(~newest, at: page(newest) + 152)
            _ = FileManager.default.createFile(atPath: files[1], contents: nil)
            waitForFile(files[2])
            let next = try openWriter(path)
            #expect(try next.rows() == left)
            _ = FileManager.default.createFile(atPath: files[3], contents: nil)
            #expect(exitStatus(of: child) == 0)
            next.close()
            try expectSound(path, left)
            for file in files { try? FileManager.default.removeItem(atPath: file) }
        }
    }

    @Test func commitsCanBeTakenBackOneAfterTheOther() throws {
        try withPendingCommit { path, bytes, newest in
            var bytes = bytes
            bytes[page(newest) + 512] ^= 1
            try bytes.write(to: URL(filePath: dataFile(of: path)))
            for taken in newest...(newest + 4) {
                let environment = try openWriter(path)
                #expect(try environment.rows() == newest - 1)
                #expect(try environment.checkPages().isEmpty)
                try environment.addRow()
                environment.close()
                let file = try FileHandle(forUpdating: URL(filePath: dataFile(of: path)))
                try file.write(~(taken + 1), at: page(taken + 1) + 152)
                try file.write(0, at: page(taken + 1) + 520)
                try file.close()
                let reader = try openReader(path)
                #expect(try reader.rows() == newest - 1)
                reader.close()
            }
        }
    }

    /// Calls `body` with a closed store, and with its file as it was when the newest commit was written and still pending.
    private func withPendingCommit(
        _ body: (_ path: String, _ bytes: Data, _ newest: UInt64) throws -> Void
    ) throws {
        try withPath { path in
            let environment = try openWriter(path)
            for _ in 0..<20 { try environment.addRow() }
            let newest = try environment.rows()
            environment.close()
            var bytes = try Data(contentsOf: URL(filePath: dataFile(of: path)))
            try #require(bytes.number(page(newest) + 144) == newest && bytes.number(page(newest) + 520) == newest)
            let note = page(newest) + 152
            for index in 0..<8 { bytes[note + index] = UInt8(truncatingIfNeeded: ~newest >> UInt64(8 * index)) }
            try body(path, bytes, newest)
        }
    }

    /// A store whose newest row is this one goes on, and everything is sound then.
    private func expectSound(_ path: String, _ rows: UInt64) throws {
        let environment = try openWriter(path)
        defer { environment.close() }
        #expect(try environment.rows() == rows)
        #expect(try environment.checkPages().isEmpty)
        for _ in 0..<3 {
            let added = try environment.addRow()
            #expect(try environment.rows() == added)
            #expect(try environment.checkPages().isEmpty)
        }
    }

    /// Opens the file of before a commit with the pages that its seal lists.
    private func expectWhole(
        _ before: Data, _ after: Data, _ commit: UInt64, in copy: String, _ body: (Environment) throws -> Void
    ) throws {
        var whole = before + Data(count: max(0, after.count - before.count))
        for number in sealed(after, commit) + [Int(commit & 1)] {
            let range = number * 4_096..<(number + 1) * 4_096
            whole.replaceSubrange(range, with: after[range])
        }
        try FileManager.default.createDirectory(atPath: copy + "/data-1", withIntermediateDirectories: true)
        try Data("data-1\n".utf8).write(to: URL(filePath: copy + "/CURRENT"))
        try whole.write(to: URL(filePath: dataFile(of: copy)))
        let reader = try openReader(copy)
        defer { reader.close() }
        try body(reader)
        #expect(try reader.checkPages().isEmpty, "commit \(commit)")
    }

    /// The pages in a commit's seal.
    private func sealed(_ bytes: Data, _ commit: UInt64) -> [Int] {
        let place = page(commit) + 512
        precondition(bytes.number(place + 8) == commit, "The commit has no seal.")
        return (0..<Int(bytes.number(place) >> 32)).map { Int(bytes.number(place + 16 + 4 * $0) & 0xFFFF_FFFF) }
    }

    /// Where the header's page of a commit begins.
    private func page(_ commit: UInt64) -> Int { Int(commit & 1) * 4_096 }
}

extension Environment {
    /// Commits a row of 9,000 bytes under its own number.
    @discardableResult
    fileprivate func addRow() throws -> UInt64 {
        try write { transaction in
            try transaction.append(database("log"), transaction.id, Array(repeating: 5, count: 9_000))
            try transaction.put(database("index"), Array("newest".utf8), Array("\(transaction.id)".utf8))
            return transaction.id
        }
    }

    /// The commit of the newest row, which has to be the last one that wrote.
    fileprivate func rows() throws -> UInt64 {
        let last = try #require(try keys("log").last)
        let number = last.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        #expect(try value("index", Array("newest".utf8)) == Array("\(number)".utf8))
        #expect(try value("log", number) == Array(repeating: 5, count: 9_000))
        return number
    }

    fileprivate func all(_ name: String) throws -> [[UInt8]] {
        try keys(name).flatMap { [$0, try value(name, $0) ?? []] }
    }
}

extension FileHandle {
    fileprivate func write(_ number: UInt64, at offset: Int) throws {
        try seek(toOffset: UInt64(offset))
        try write(contentsOf: (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64(8 * $0)) })
    }
}
