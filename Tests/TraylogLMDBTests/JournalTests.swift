import Foundation
import Testing
import TraylogPlatform

@testable import TraylogLMDB

/// The journal as a writer makes it, and the times when it starts again.
@Suite struct JournalTests {
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
                // Some 30 pages each.
                newest = try environment.write { transaction in
                    try transaction.append(environment.database("log"), key, Array(repeating: 7, count: 100_000))
                    return transaction.id
                }
                sizes.insert((try? FileStatus(path: journalFile(of: path)))?.size ?? 0)
            }
            let largest = sizes.max() ?? 0
            #expect(largest <= 2 << 20 && largest > 15 << 17)
            let data = try Data(contentsOf: URL(filePath: dataFile(of: path)))
            let journal = JournalBytes(try Data(contentsOf: URL(filePath: journalFile(of: path))))
            #expect(journal.commits.last == newest && journal.commits.count < 60)
            let copy = path + "-copy"
            defer { try? FileManager.default.removeItem(atPath: copy) }
            var torn = data
            for number in journal.pages {
                torn.replaceSubrange(number * 4_096..<(number + 1) * 4_096, with: Data(count: 4_096))
            }
            try JournalBytes.put(torn, journal.bytes, in: copy)
            let reader = try openReader(copy)
            defer { reader.close() }
            #expect(try reader.keys("log").count == 120)
            #expect(try reader.value("log", 120) == Array(repeating: 7, count: 100_000))
            #expect(try reader.checkPages().isEmpty)
        }
    }

    @Test(arguments: [UInt64(250), 1_000])
    func aCommitOfManyPagesEndsTheJournal(rows: UInt64) throws {
        try withPath { path in
            let environment = try openWriter(path)
            defer { environment.close() }
            for _ in 0..<20 { try environment.addRow() }
            let newest = try environment.write { transaction in
                for key in 100...(99 + rows) {
                    try transaction.append(environment.database("log"), key, Array(repeating: 7, count: 3_000))
                }
                return transaction.id
            }
            let data = try Data(contentsOf: URL(filePath: dataFile(of: path)))
            #expect(data.number(headerPage(newest) + 152) == 0)
            let journal = JournalBytes(try Data(contentsOf: URL(filePath: journalFile(of: path))))
            #expect(journal.commits.last == newest - 1)
            let copy = path + "-copy"
            defer { try? FileManager.default.removeItem(atPath: copy) }
            try JournalBytes.put(data, journal.bytes, in: copy)
            let reader = try openReader(copy)
            #expect(try reader.everything() == environment.everything())
            reader.close()
            // Where it may not be on disk yet, its seal decides, once the journal has made the commit before whole.
            var pending = data
            pending.put(~newest, at: headerPage(newest) + 152)
            let sealed = Set(pending.sealed(newest))
            #expect(sealed.isEmpty == (rows == 1_000))
            let others = journal.pages.filter { !sealed.contains($0) }
            try #require(others.count > 10)
            for number in others {
                pending.replaceSubrange(number * 4_096..<(number + 1) * 4_096, with: Data(count: 4_096))
            }
            if let page = sealed.max() {
                try JournalBytes.put(pending, journal.bytes, in: copy)
                let reader = try openReader(copy)
                #expect(try reader.everything() == environment.everything())
                reader.close()
                pending.replaceSubrange(page * 4_096..<page * 4_096 + 512, with: Data(count: 512))
            }
            try JournalBytes.put(pending, journal.bytes, in: copy)
            try expectSound(copy, newest - 1)
            // The next commit has begun, so this one is on disk, even if its mark and the journal are those of before.
            let rows = try environment.everything()
            try environment.write { try $0.put(environment.database("index"), Array("next".utf8), [1]) }
            var next = try Data(contentsOf: URL(filePath: dataFile(of: path)))
            for commit in [newest, newest + 1] { next.put(~commit, at: headerPage(commit) + 152) }
            next.put(0, at: headerPage(newest + 1) + 520)
            try JournalBytes.put(next, journal.bytes, in: copy)
            let afterwards = try openReader(copy)
            defer { afterwards.close() }
            #expect(try afterwards.everything() == rows)
            #expect(try afterwards.checkPages().isEmpty)
        }
    }

    /// The next commit takes the same pages and looks the same from the old trees, if those are remembered.
    @Test func theJournalAfterACommitThatWasTakenBackIsAnotherOne() throws {
        try withPath { path in
            let environment = try openWriter(path, accounts: true)
            defer { environment.close() }
            for _ in 0..<20 { try environment.addRow() }
            let failed = try environment.rows()
            let opened = try #require(environment.file)
            let before = JournalBytes(try Data(contentsOf: URL(filePath: journalFile(of: path))))
            opened.noteInDoubt()
            try opened.pages.mark(failed, asPending: true)
            try opened.takeBackFailed()
            let left = try Data(contentsOf: URL(filePath: dataFile(of: path)))
            #expect(left.number(headerPage(failed) + 184) == failed)
            #expect(try environment.addRow() == failed + 1)
            let newest = try environment.addRow()
            let after = JournalBytes(try Data(contentsOf: URL(filePath: journalFile(of: path))))
            #expect(after.commits == [newest] && after.bytes[8..<24] != before.bytes[8..<24])
            let copy = path + "-copy"
            defer { try? FileManager.default.removeItem(atPath: copy) }
            var data = try Data(contentsOf: URL(filePath: dataFile(of: path)))
            for number in after.pages {
                data.replaceSubrange(number * 4_096..<(number + 1) * 4_096, with: Data(count: 4_096))
            }
            try JournalBytes.put(data, after.bytes, in: copy)
            try expectSound(copy, newest)
        }
    }

    @Test func aReaderShowsAPendingCommitOnlyWhenItIsSafe() throws {
        try withEnvironment { environment in
            for _ in 0..<5 { try environment.addRow() }
            let newest = try environment.rows()
            let file = try FileHandle(forUpdating: URL(filePath: dataFile(of: environment.directory)))
            try file.write(~newest, at: headerPage(newest) + 152)
            #expect(try environment.rows() == newest - 1)
            try file.write(0, at: headerPage(newest) + 152)
            #expect(try environment.rows() == newest)
        }
    }
}
