import Foundation
import TestSupport
import Testing
import TraylogPlatform

@testable import TraylogLMDB

/// Files as a killed process or a power cut leaves them: the journal has what the data file may lack.
@Suite struct JournalReplayTests {
    @Test(arguments: [true, false])
    func aPendingCommitThatTheJournalHasCounts(isWriting: Bool) throws {
        try withLeftFiles { left in
            try left.put(left.markedPending())
            let environment = try isWriting ? openWriter(left.path) : openReader(left.path)
            #expect(try environment.rows() == left.newest)
            environment.close()
            let bytes = try Data(contentsOf: URL(filePath: dataFile(of: left.path)))
            #expect(bytes.number(headerPage(left.newest) + 152) == 0)
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
    @Test(arguments: seeds(2, nightly: 60))
    func theNewestCommitThatTheJournalHasCountsWhateverTheDataFileHas(seed: UInt64) throws {
        try withPath { path in
            var random = SeededRandom(seed: seed)
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
            var random = SeededRandom(seed: 1)
            for _ in 0..<200 {
                var journal = left.journal.bytes
                journal[Int.random(in: 0..<left.journal.end, using: &random)] ^=
                    1 << UInt8.random(in: 0..<8, using: &random)
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
            let end = Int(left.first.number(headerPage(left.base) + 136) + 1) * 4_096
            try #require(end < left.data.count)
            if !hasOpenLock { try FileManager.default.removeItem(atPath: left.path + "/open.lock") }
            try left.put(left.first[..<end])
            let reader = try openReader(left.path)
            #expect(try reader.rows() == left.newest)
            reader.close()
            try expectSound(left.path, left.newest)
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
            if !hasEntry {
                journal.replaceSubrange(left.journal.lastPlace..<left.journal.lastPlace + 8, with: Data(count: 8))
            }
            try journal.write(to: URL(filePath: journalFile(of: path)))
            let file = try FileHandle(forUpdating: URL(filePath: dataFile(of: path)))
            try file.write(~left.newest, at: headerPage(left.newest) + 152)
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
                try file.write(~(taken + 1), at: headerPage(taken + 1) + 152)
                try file.write(0, at: headerPage(taken + 1) + 520)
                try file.close()
                let reader = try openReader(left.path)
                #expect(try reader.rows() == left.newest - 1)
                reader.close()
            }
        }
    }

    /// The page of the journal that the data file lacks.
    enum Missing: Codable, CaseIterable { case nothing, aFreePage, aPageInUse }

    /// A user who cannot write the file may read it if it is whole; if not, the error says which user must open it.
    ///
    /// A page that is free after the newest commit may be missing: a later commit that failed has written over it.
    @Test(
        .enabled(if: getuid() == 0, "Only root can become another user."), arguments: [true, false], Missing.allCases)
    func aReaderWithoutWritePermissionOpensAWholeFileAndRefusesABrokenOne(
        isPending: Bool, missing: Missing
    ) async throws {
        try await withPath { path in
            let left = try LeftFiles(path)
            var data = isPending ? left.markedPending() : left.data
            let free = try left.freePages()
            if missing != .nothing {
                let number = try #require(left.journal.pages.last { free.contains($0) == (missing == .aFreePage) })
                data.replaceSubrange(number * 4_096..<(number + 1) * 4_096, with: Data(count: 4_096))
            }
            try left.put(data)
            let modes = [
                (path, 0o755), (path + "/data-1", 0o755), (dataFile(of: path), 0o644), (journalFile(of: path), 0o644),
            ]
            for (file, mode) in modes {
                try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
            }
            let confirmed: UInt64 = isPending ? left.newest : 0
            await #expect(processExitsWith: .success) {
                [path = path as String, missing = missing as Missing, confirmed = confirmed as UInt64] in
                _ = setuid(65534)
                let code = try failureCode {
                    let found = try JournalReplay.run(
                        dataFile(of: path), journal: journalFile(of: path),
                        readers: ReaderTable(path: lockFile(of: path)),
                        isWriter: false)
                    #expect(found ?? 0 == confirmed)
                }
                #expect(code == (missing == .aPageInUse ? .permissionDenied : nil))
            }
        }
    }

    /// Calls `body` with a closed store, and with its files as they were before it was closed.
    private func withLeftFiles(_ body: (LeftFiles) throws -> Void) throws {
        try withPath { path in try body(LeftFiles(path)) }
    }

    /// Commits of all kinds, with a copy of the files after each.
    private func randomCommits(
        _ path: String, _ count: Int, _ random: inout SeededRandom
    ) throws -> [(commit: UInt64, data: Data, journal: Data, rows: [[UInt8]])] {
        let environment = try openWriter(path, accounts: true)
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
            guard data.number(headerPage(commit) + 144) == commit else { return nil }
            let journal = FileManager.default.contents(atPath: journalFile(of: path)) ?? Data()
            return (commit, data, journal, try environment.everything())
        }
    }
}
