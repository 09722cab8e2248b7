import Foundation
import Testing
import TraylogPlatform

@testable import TraylogLMDB
@testable import TraylogPages

/// Files as a killed process or a power cut leaves them: the journal has what the data file may lack.
@Suite struct JournalTests {
    @Test(arguments: [true, false])
    func aPendingCommitThatTheJournalHasCounts(isWriting: Bool) throws {
        try withLeftFiles { left in
            try left.put(left.markedPending())
            let environment = try isWriting ? openWriter(left.path) : openReader(left.path)
            #expect(try environment.rows() == left.newest)
            environment.close()
            let bytes = try Data(contentsOf: URL(filePath: dataFile(of: left.path)))
            #expect(bytes.number(page(left.newest) + 152) == 0)
            try expectSound(left.path, left.newest)
        }
    }

    @Test(arguments: [true, false])
    func aDataFileThatLacksAnyPageOfTheJournalGetsIt(isWriting: Bool) throws {
        try withLeftFiles { left in
            let pages = left.journal.pages
            #expect(pages.count > 20)
            for number in pages {
                var torn = left.data
                if number * 4_096 < torn.count {
                    torn.replaceSubrange(number * 4_096..<number * 4_096 + 512, with: Data(count: 512))
                }
                try left.put(torn)
                let environment = try isWriting ? openWriter(left.path) : openReader(left.path)
                #expect(try environment.rows() == left.newest, "page \(number)")
                environment.close()
            }
            try expectSound(left.path, left.newest)
        }
    }

    /// Whatever commit each page of the data file is of, and wherever the journal ends.
    @Test(arguments: UInt64(1)...6)
    func theNewestCommitThatTheJournalHasCountsWhateverTheDataFileHas(seed: UInt64) throws {
        try withPath { path in
            var random = SeededGenerator(seed: seed)
            let copies = try randomCommits(path, 40, &random)
            let journal = JournalBytes(try #require(copies.last).journal)
            let first = try #require(copies.firstIndex { $0.commit == journal.commits.first })
            for _ in 0..<40 {
                let kept = Int.random(in: 0...journal.commits.count, using: &random)
                let newest = first - 1 + kept
                // What happened until then, and in the commit under way.
                let versions = copies[first - 1...min(newest + 1, copies.count - 1)]
                var data = Data()
                for number in 0..<(versions.map(\.data.count).max() ?? 0) / 4_096 {
                    let range = number * 4_096..<(number + 1) * 4_096
                    let all = versions.filter { $0.data.count >= range.upperBound }
                    // The data file is on disk through the commit that the journal begins after.
                    guard let version = all.randomElement(using: &random) else { continue }
                    data.append(version.data[range])
                }
                let pending = data.markedPending(above: copies[newest].commit)
                try JournalBytes.put(pending, journal.prefix(kept, torn: &random), in: path)
                let reader = try Bool.random(using: &random) ? openReader(path) : openWriter(path)
                #expect(try reader.everything() == copies[newest].rows, "seed \(seed), entries \(kept)")
                #expect(try reader.checkPages().isEmpty, "seed \(seed), entries \(kept)")
                reader.close()
            }
        }
    }

    @Test func anEntryThatIsTornOrOfAnotherJournalDoesNotCount() throws {
        try withLeftFiles { left in
            let place = left.journal.lastPlace
            var torn = left.journal.bytes
            torn.replaceSubrange(place + 512..<place + 1_024, with: Data(count: 512))
            var empty = left.journal.bytes
            empty.replaceSubrange(place..<place + 512, with: Data(count: 512))
            var length = left.journal.bytes
            length.replaceSubrange(place + 4..<place + 8, with: Data([255, 255, 255, 255]))
            for bytes in [torn, empty, length, left.journal.bytes[..<(place + 600)]] {
                try left.put(left.markedPending(), bytes)
                try expectSound(left.path, left.newest - 1)
            }
            // As a backup of the data file that somebody put into the store of today.
            var other = left.data
            other[160] ^= 1
            try left.put(other)
            try expectSound(left.path, left.newest)
            var pending = left.markedPending()
            pending[160] ^= 1
            try left.put(pending)
            try expectSound(left.path, left.newest - 1)
        }
    }

    @Test func anyBitOfTheJournalMayBeWrong() throws {
        try withLeftFiles { left in
            var random = SeededGenerator(seed: 1)
            for _ in 0..<200 {
                var journal = left.journal.bytes
                journal[Int.random(in: 0..<left.journal.end, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                try left.put(left.data, journal)
                let reader = try openReader(left.path)
                #expect(try reader.rows() == left.newest)
                reader.close()
            }
        }
    }

    @Test(arguments: [true, false])
    func aFileThatDidNotGrowYetIsMadeLonger(hasOpenLock: Bool) throws {
        try withLeftFiles { left in
            let end = Int(left.first.number(page(left.base) + 136) + 1) * 4_096
            try #require(end < left.data.count)
            if !hasOpenLock { try FileManager.default.removeItem(atPath: left.path + "/open.lock") }
            try left.put(left.first[..<end])
            let reader = try openReader(left.path)
            #expect(try reader.rows() == left.newest)
            reader.close()
            try expectSound(left.path, left.newest)
        }
    }

    @Test func aClosedStoreNeedsNoJournal() throws {
        try withPath { path in
            let environment = try openWriter(path)
            for _ in 0..<20 { try environment.addRow() }
            let newest = try environment.rows()
            #expect(try FileStatus(path: journalFile(of: path)).size > 20 * 4_096)
            environment.close()
            #expect(try FileStatus(path: journalFile(of: path)).size == 0)
            try FileManager.default.removeItem(atPath: journalFile(of: path))
            try expectSound(path, newest)
        }
    }

    @Test func theJournalHasTheRightsOfTheDataFile() throws {
        try withPath { path in
            var environment = try openWriter(path)
            environment.close()
            try Files.setMode(0o640, of: dataFile(of: path))
            environment = try openWriter(path)
            for _ in 0..<3 { try environment.addRow() }
            environment.close()
            #expect(try FileStatus(path: journalFile(of: path)).mode == 0o640)
        }
    }

    @Test func aJournalThatCannotBeMadeCostsASecondSync() throws {
        try withPath { path in
            var environment = try openWriter(path)
            environment.close()
            try FileManager.default.createDirectory(atPath: journalFile(of: path), withIntermediateDirectories: false)
            environment = try openWriter(path)
            for _ in 0..<5 { try environment.addRow() }
            let newest = try environment.rows()
            environment.close()
            try expectSound(path, newest)
        }
    }

    @Test func theJournalBeginsAnewWhenItIsFull() throws {
        try withPath { path in
            let environment = try openWriter(path)
            defer { environment.close() }
            var newest: UInt64 = 0
            var sizes: Set<Int64> = []
            for key in UInt64(1)...120 {
                // Some 60 pages each.
                newest = try environment.write { transaction in
                    try transaction.append(environment.database("log"), key, Array(repeating: 7, count: 200_000))
                    return transaction.id
                }
                sizes.insert((try? FileStatus(path: journalFile(of: path)))?.size ?? 0)
            }
            let largest = sizes.max() ?? 0
            #expect(largest <= 8 << 20 && largest > 7 << 20)
            let data = try Data(contentsOf: URL(filePath: dataFile(of: path)))
            let journal = JournalBytes(try Data(contentsOf: URL(filePath: journalFile(of: path))))
            #expect(journal.commits.last == newest && journal.commits.count < 60)
            let copy = path + "-copy"
            defer { try? FileManager.default.removeItem(atPath: copy) }
            var torn = data
            for number in journal.pages { torn.replaceSubrange(number * 4_096..<(number + 1) * 4_096, with: Data(count: 4_096)) }
            try JournalBytes.put(torn, journal.bytes, in: copy)
            let reader = try openReader(copy)
            defer { reader.close() }
            #expect(try reader.keys("log").count == 120)
            #expect(try reader.value("log", 120) == Array(repeating: 7, count: 200_000))
            #expect(try reader.checkPages().isEmpty)
        }
    }

    @Test func aCommitOfManyPagesEndsTheJournal() throws {
        try withPath { path in
            let environment = try openWriter(path)
            defer { environment.close() }
            for _ in 0..<20 { try environment.addRow() }
            let newest = try environment.write { transaction in
                for key in UInt64(100)...400 {
                    try transaction.append(environment.database("log"), key, Array(repeating: 7, count: 3_000))
                }
                return transaction.id
            }
            let data = try Data(contentsOf: URL(filePath: dataFile(of: path)))
            #expect(data.number(page(newest) + 152) == 0)
            let journal = JournalBytes(try Data(contentsOf: URL(filePath: journalFile(of: path))))
            #expect(journal.commits.last == newest - 1)
            let copy = path + "-copy"
            defer { try? FileManager.default.removeItem(atPath: copy) }
            try JournalBytes.put(data, journal.bytes, in: copy)
            let reader = try openReader(copy)
            #expect(try reader.everything() == environment.everything())
            reader.close()
            // Where it is not on disk yet, the commit before counts.
            var pending = data
            pending.put(~newest, at: page(newest) + 152)
            try JournalBytes.put(pending, journal.bytes, in: copy)
            try expectSound(copy, newest - 1)
        }
    }

    /// The next commit takes the same pages and looks the same from the old trees, if those are remembered.
    @Test func theJournalAfterACommitThatWasTakenBackIsAnotherOne() throws {
        try withPath { path in
            let environment = try openWriter(path)
            defer { environment.close() }
            for _ in 0..<20 { try environment.addRow() }
            let failed = try environment.rows()
            let opened = try #require(environment.file)
            let before = JournalBytes(try Data(contentsOf: URL(filePath: journalFile(of: path))))
            opened.doubt()
            try opened.pages.notePending(failed, true)
            try opened.takeBackFailed()
            #expect(try environment.addRow() == failed + 1)
            let newest = try environment.addRow()
            let after = JournalBytes(try Data(contentsOf: URL(filePath: journalFile(of: path))))
            #expect(after.commits == [newest] && after.bytes[8..<24] != before.bytes[8..<24])
            let copy = path + "-copy"
            defer { try? FileManager.default.removeItem(atPath: copy) }
            var data = try Data(contentsOf: URL(filePath: dataFile(of: path)))
            for number in after.pages { data.replaceSubrange(number * 4_096..<(number + 1) * 4_096, with: Data(count: 4_096)) }
            try JournalBytes.put(data, after.bytes, in: copy)
            try expectSound(copy, newest)
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
    func theNextWriterBesideAReaderGoesByTheJournalOfAKilledOne(hasEntry: Bool) throws {
        try withLeftFiles { left in
            let path = left.path
            try left.put(left.data, Data())
            let shown = hasEntry ? left.newest : left.newest - 1
            let files = (0..<4).map { "\(path)-\($0)" }
            let child = forkProcess()
            if child == 0 {
                guard let reader = try? openReader(path), (try? reader.rows()) == left.newest else { _exit(1) }
                _ = FileManager.default.createFile(atPath: files[0], contents: nil)
                waitForFile(files[1])
                guard (try? reader.rows()) == left.newest - 1 else { _exit(2) }
                _ = FileManager.default.createFile(atPath: files[2], contents: nil)
                waitForFile(files[3])
                _exit((try? reader.rows()) == shown ? 0 : 3)
            }
            waitForFile(files[0])
            var journal = left.journal.bytes
            if !hasEntry { journal.replaceSubrange(left.journal.lastPlace..<left.journal.lastPlace + 8, with: Data(count: 8)) }
            try journal.write(to: URL(filePath: journalFile(of: path)))
            let file = try FileHandle(forUpdating: URL(filePath: dataFile(of: path)))
            try file.write(~left.newest, at: page(left.newest) + 152)
            _ = FileManager.default.createFile(atPath: files[1], contents: nil)
            waitForFile(files[2])
            let next = try openWriter(path)
            #expect(try next.rows() == shown)
            _ = FileManager.default.createFile(atPath: files[3], contents: nil)
            #expect(exitStatus(of: child) == 0)
            next.close()
            try expectSound(path, shown)
            for file in files { try? FileManager.default.removeItem(atPath: file) }
        }
    }

    @Test func commitsCanBeTakenBackOneAfterTheOther() throws {
        try withLeftFiles { left in
            try left.put(left.markedPending(), Data())
            for taken in left.newest...(left.newest + 4) {
                let environment = try openWriter(left.path)
                #expect(try environment.rows() == left.newest - 1)
                #expect(try environment.checkPages().isEmpty)
                try environment.addRow()
                environment.close()
                let file = try FileHandle(forUpdating: URL(filePath: dataFile(of: left.path)))
                try file.write(~(taken + 1), at: page(taken + 1) + 152)
                try file.close()
                let reader = try openReader(left.path)
                #expect(try reader.rows() == left.newest - 1)
                reader.close()
            }
        }
    }

    /// Who cannot write the file may read it if it is whole, and is told whom it takes if it is not.
    @Test(.enabled(if: getuid() == 0, "Only root can become another user."), arguments: [true, false], [true, false])
    func whoMayNotWriteReadsAWholeFileAndIsToldOfAnother(isPending: Bool, isWhole: Bool) async throws {
        try await withPath { path in
            let left = try LeftFiles(path)
            var data = isPending ? left.markedPending() : left.data
            let number = left.journal.pages[left.journal.pages.count / 2]
            if !isWhole { data.replaceSubrange(number * 4_096..<(number + 1) * 4_096, with: Data(count: 4_096)) }
            try left.put(data)
            let modes = [(path, 0o755), (path + "/data-1", 0o755), (dataFile(of: path), 0o644), (journalFile(of: path), 0o644)]
            for (file, mode) in modes {
                try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
            }
            let confirmed: UInt64 = isPending ? left.newest : 0
            await #expect(processExitsWith: .success) { [path = path as String, isWhole = isWhole as Bool, confirmed = confirmed as UInt64] in
                _ = setuid(65534)
                let code = try failureCode {
                    let found = try JournalReplay.run(
                        dataFile(of: path), journal: journalFile(of: path), readers: ReaderTable(path: lockFile(of: path)),
                        isWriter: false)
                    #expect(found ?? 0 == confirmed)
                }
                #expect(code == (isWhole ? nil : .permissionDenied))
            }
        }
    }

    /// Calls `body` with a closed store, and with its files as they were before it was closed.
    private func withLeftFiles(_ body: (LeftFiles) throws -> Void) throws {
        try withPath { path in try body(LeftFiles(path)) }
    }

    /// Commits of all kinds, with a copy of the files after each.
    private func randomCommits(
        _ path: String, _ count: Int, _ random: inout SeededGenerator
    ) throws -> [(commit: UInt64, data: Data, journal: Data, rows: [[UInt8]])] {
        let environment = try openWriter(path)
        defer { environment.close() }
        return try (0..<count).compactMap { _ in
            let commit = try environment.write { transaction in
                for _ in 0..<Int.random(in: 1...15, using: &random) {
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
            let data = try Data(contentsOf: URL(filePath: dataFile(of: path)))
            // A transaction that deleted nothing is no commit.
            guard data.number(page(commit) + 144) == commit else { return nil }
            let journal = FileManager.default.contents(atPath: journalFile(of: path)) ?? Data()
            return (commit, data, journal, try environment.everything())
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
}

/// The files of a store while it was open.
private struct LeftFiles {
    let path: String
    /// The data file after the first commit, which the journal begins after.
    let first: Data
    let data: Data
    let journal: JournalBytes
    let base: UInt64
    let newest: UInt64

    /// Makes a store, and closes it.
    init(_ path: String) throws {
        self.path = path
        let environment = try openWriter(path)
        base = try environment.addRow()
        first = try Data(contentsOf: URL(filePath: dataFile(of: path)))
        for _ in 0..<20 { try environment.addRow() }
        newest = try environment.rows()
        data = try Data(contentsOf: URL(filePath: dataFile(of: path)))
        journal = JournalBytes(try Data(contentsOf: URL(filePath: journalFile(of: path))))
        environment.close()
        try #require(journal.commits == Array(base + 1...newest))
    }

    /// The data file before the newest commit was known to be on disk.
    func markedPending() -> Data {
        var data = data
        data.put(~newest, at: page(newest) + 152)
        return data
    }

    func put(_ data: Data, _ journal: Data? = nil) throws {
        try JournalBytes.put(data, journal ?? self.journal.bytes, in: path)
    }
}

/// A journal, taken apart by `Docs/format.md`.
private struct JournalBytes {
    let bytes: Data
    private(set) var commits: [UInt64] = []
    private(set) var pages: [Int] = []
    /// Where each entry begins, and where the last one ends.
    private var places: [Int] = [4_096]

    init(_ bytes: Data) {
        self.bytes = bytes
        var all: Set<Int> = []
        var next = bytes.count > 4_096 ? bytes.number(24) + 1 : 0
        while end + 4_096 <= bytes.count, bytes.number(end + 24) == next {
            commits.append(next)
            for index in 0..<Int(bytes.number(end + 32) & 0xFFFF_FFFF) {
                all.insert(Int(bytes.number(end + 176 + 16 * index)))
            }
            places.append(end + (Int(bytes.number(end) >> 32) + 4_095) / 4_096 * 4_096)
            next += 1
        }
        pages = all.sorted()
    }

    var end: Int { places[places.count - 1] }
    var lastPlace: Int { places[places.count - 2] }

    /// So many entries, and any piece of the next one.
    func prefix(_ count: Int, torn random: inout SeededGenerator) -> Data {
        guard count < commits.count else { return bytes }
        var rest = bytes
        let place = places[count]
        rest.replaceSubrange(place..<rest.count, with: Data(count: rest.count - place))
        let piece = Int.random(in: 0..<8, using: &random) * 512
        // Not the first one, without which it is none, and not all.
        if piece > 0 { rest.replaceSubrange(place + piece..<place + 4_096, with: bytes[place + piece..<place + 4_096]) }
        return rest
    }

    static func put(_ data: Data, _ journal: Data, in store: String) throws {
        try FileManager.default.createDirectory(atPath: store + "/data-1", withIntermediateDirectories: true)
        try Data("data-1\n".utf8).write(to: URL(filePath: store + "/CURRENT"))
        try data.write(to: URL(filePath: dataFile(of: store)))
        try journal.write(to: URL(filePath: journalFile(of: store)))
    }
}

/// Where the header's page of a commit begins.
private func page(_ commit: UInt64) -> Int { Int(commit & 1) * 4_096 }

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

    fileprivate func everything() throws -> [[UInt8]] {
        try databaseNames.flatMap { name in try keys(name).flatMap { [$0, try value(name, $0) ?? []] } }
    }
}

extension Data {
    fileprivate mutating func put(_ number: UInt64, at offset: Int) {
        for index in 0..<8 { self[startIndex + offset + index] = UInt8(truncatingIfNeeded: number >> UInt64(8 * index)) }
    }

    /// A page of the header that is of a later commit shows that it may not be on disk.
    fileprivate func markedPending(above commit: UInt64) -> Data {
        var data = self
        for page in [0, 4_096] where data.number(page + 144) > commit {
            data.put(~data.number(page + 144), at: page + 152)
        }
        return data
    }
}

extension FileHandle {
    fileprivate func write(_ number: UInt64, at offset: Int) throws {
        try seek(toOffset: UInt64(offset))
        try write(contentsOf: (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64(8 * $0)) })
    }
}
