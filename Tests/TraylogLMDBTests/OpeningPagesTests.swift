import Foundation
import TestSupport
import Testing
import TraylogPlatform

@testable import TraylogLMDB

/// The pages that an opening and the first commit read, and a writer's knowledge of the file before it reuses pages.
@Suite struct OpeningPagesTests {
    /// More than the pages of the header, of the list of free pages, and the way through some tables.
    private static let few = 30
    /// Of a large file.
    private static let many = sized(15_000, nightly: 60_000)

    /// A store with a number of rows of 500 bytes, and some free pages.
    ///
    /// - Returns: the bytes of the data file as a process leaves them that is killed.
    private func fill(_ path: String, rows: Int) throws -> Data {
        let environment = try openWriter(path, .init(durability: .relaxed))
        defer { environment.close() }
        let log = environment.database("log")
        for start in stride(from: 0, to: rows, by: 1_000) {
            try environment.write { transaction in
                for row in start..<start + 1_000 {
                    try transaction.append(log, UInt64(row), [UInt8](repeating: UInt8(row & 0xFF), count: 500))
                }
            }
        }
        for row in 0..<4 { try environment.write { try $0.put(log, Self.key(row), [1]) } }
        return try Data(contentsOf: URL(filePath: dataFile(of: path)))
    }

    private static func key(_ row: Int) -> [UInt8] {
        unsafe withUnsafeBytes(of: UInt64(row).bigEndian) { unsafe Array($0) }
    }

    private func pagesRead(_ environment: Environment) throws -> Int {
        defer { environment.close() }
        return try environment.countExaminedPages()
    }

    @Test func anOpeningReadsAsFewPagesOfALargeFileAsOfASmallOne() throws {
        for rows in [1_000, Self.many] {
            try withPath { path in
                let killed = try fill(path, rows: rows)
                #expect(try pagesRead(openReader(path)) < Self.few)
                #expect(try pagesRead(openWriter(path)) < Self.few)
                let writer = try openWriter(path)
                try writer.write { try $0.put(writer.database("log"), Self.key(rows / 2), [2]) }
                #expect(try pagesRead(writer) < Self.few)
                try killed.write(to: URL(filePath: dataFile(of: path)))
                #expect(try pagesRead(openReader(path)) < Self.few)
                #expect(try pagesRead(openWriter(path)) < Self.few)
            }
        }
    }

    /// After a commit, in the middle of one that the journal has, of one with a seal, and of one that nothing proves.
    @Test func theFirstCommitAfterAKillReadsAsFewPagesOfALargeFileAsOfASmallOne() throws {
        for rows in [1_000, Self.many] {
            try withPath { path in
                let relaxed = try fill(path, rows: rows)
                let writer = try openWriter(path)
                var files: [Data] = []
                for row in 0..<4 {
                    try writer.write { try $0.put(writer.database("log"), Self.key(row), [2]) }
                    files.append(try Data(contentsOf: URL(filePath: dataFile(of: path))))
                }
                let (sealed, data) = (underWay(files[0]), files[3])
                try #require(!sealed.sealed(newestCommit(sealed)).isEmpty)
                let journal = try Data(contentsOf: URL(filePath: journalFile(of: path)))
                writer.close()
                let newest = newestCommit(data)
                try #require(JournalBytes(journal).commits.last == newest)
                let cases = [
                    (relaxed, Data()), (data, journal), (underWay(data), journal), (sealed, Data()),
                    (underWay(data), Data()),
                ]
                for (data, journal) in cases {
                    try JournalBytes.put(data, journal, in: path)
                    let next = try openWriter(path)
                    try next.write { try $0.put(next.database("log"), Self.key(rows / 2), [3]) }
                    #expect(try pagesRead(next) < Self.few)
                }
            }
        }
    }

    /// The data file before its newest commit was on disk, which gets its note then.
    private func underWay(_ data: Data) -> Data {
        let newest = newestCommit(data)
        var data = data
        data.put(~newest, at: headerPage(newest) + 152)
        data.put(newest - 2, at: headerPage(newest) + 184)
        return data
    }

    @Test func theFirstCommitAfterAKillOfAProcessReadsFewPages() async throws {
        try await withPath { path in
            _ = try fill(path, rows: Self.many)
            await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
                let writer = try openWriter(path)
                for row in 0..<20 {
                    try writer.write { transaction in
                        try transaction.put(writer.database("index"), [UInt8(row)], [1])
                        if row == 19 { kill(getpid(), SIGKILL) }
                    }
                }
            }
            let next = try openWriter(path)
            #expect(try next.value("index", [18]) == [1])
            try next.write { try $0.put(next.database("index"), [1], [2]) }
            #expect(try pagesRead(next) < Self.few)
        }
    }

    @Test func aFirstCommitWithoutANoteTakesAccountOfAllBranches() throws {
        try withPath { path in
            var cut = try fill(path, rows: Self.many)
            for page in [0, 4_096] { cut.put(0, at: page + 184) }
            try cut.write(to: URL(filePath: dataFile(of: path)))
            let writer = try openWriter(path)
            let opened = try writer.countExaminedPages()
            try writer.write { try $0.put(writer.database("index"), [1], [2]) }
            // Of 60,000 rows there are more than 8,000 leaves, and a branch for some 225 of them.
            #expect(try pagesRead(writer) > opened + Self.many * 8 / 60 / 250)
            // From then on commits leave the result of the account.
            let next = try openWriter(path)
            try next.write { try $0.put(next.database("index"), [1], [3]) }
            #expect(try pagesRead(next) < Self.few)
        }
    }

    @Test func aFileThatTookAnothersPlaceHasANote() throws {
        try withPath { path in
            let environment = try openWriter(path, accounts: true)
            defer { environment.close() }
            let successor = try environment.openSuccessor()
            for row in UInt64(0)..<50 {
                try successor.write { try $0.append(successor.database("log"), row, [1, 2, 3]) }
            }
            try environment.replace(by: successor)
            let data = try Data(contentsOf: URL(filePath: dataFile(of: path)))
            #expect(data.number(headerPage(newestCommit(data)) + 184) == newestCommit(data))
            for row in UInt64(50)..<53 {
                try environment.write { try $0.append(environment.database("log"), row, [1, 2, 3]) }
            }
        }
    }

    /// Commits free and take pages while a reader keeps old ones, and after it: the note is summed as they go, and every commit
    /// is compared with a sum from the beginning.
    @Test(arguments: [Environment.Durability.durable, .relaxed])
    func theNoteOfALongListIsTheSameSummedCommitByCommit(durability: Environment.Durability) throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededRandom(seed: seed)
        try withEnvironment(.init(durability: durability)) { environment in
            let index = environment.database("index")
            func change(_ rows: Int) throws {
                try environment.write { transaction in
                    for _ in 0..<rows {
                        let key = Self.key(Int.random(in: 0..<3_000, using: &random))
                        let size = Int.random(in: 1...2_000, using: &random)
                        if size % 3 == 0 {
                            _ = try transaction.delete(index, key)
                        } else {
                            try transaction.put(index, key, [UInt8](repeating: 3, count: size))
                        }
                    }
                }
            }
            try change(3_000)
            var longest = 0
            try environment.read { _ in
                for _ in 0..<sized(60, nightly: 400) { try change(Int.random(in: 1...40, using: &random)) }
                // The reader keeps every page that is freed from being taken again.
                for _ in 0..<20 where longest <= 2_000 {
                    try change(1_000)
                    longest = try environment.information().freePages
                }
            }
            for round in 0..<sized(60, nightly: 400) {
                try change(round % 20 == 0 ? 500 : Int.random(in: 1...40, using: &random))
            }
            #expect(longest > 2_000, "seed \(seed)")
        }
    }

    /// Of the header, of the list of free pages, and of the table of tables; what is not in use there may change.
    @Test func everyChangedBitThatANoteCoversIsNoticed() throws {
        try withPath { path in
            let sound = try fill(path, rows: 1_000)
            let meta = headerPage(newestCommit(sound))
            let roots = [Int(sound.number(meta + 80)), Int(sound.number(meta + 128))]
            var covered = Array(meta + 40..<meta + 144)
            for page in roots.map({ $0 * 4_096 }) {
                let bounds = sound.number(page + 12)
                let (lower, upper) = (Int(bounds & 0xFFFF), Int(bounds >> 16 & 0xFFFF))
                covered += Array(page..<page + lower) + Array(page + upper..<page + 4_096)
            }
            #expect(try noteState(path, sound) == .intact)
            for offset in stride(from: 0, to: covered.count, by: sized(3, nightly: 1)) {
                var changed = sound
                changed[covered[offset]] ^= 1 << UInt8(offset % 8)
                let state = try noteState(path, changed)
                #expect(state == .changed || state == nil, "offset \(covered[offset])")
            }
        }
    }

    /// What the note says of the newest commit; nil where the header makes no sense.
    private func noteState(_ path: String, _ bytes: Data) throws -> CommitNote.State? {
        try bytes.write(to: URL(filePath: dataFile(of: path)))
        let file = try FileDescriptor(opening: dataFile(of: path), .reading)
        defer { file.close() }
        let pages = try PageMap(
            file, path: dataFile(of: path), byteCount: bytes.count, pageSize: 4_096, tableNames: databaseNames)
        let snapshot = Snapshot(pages)
        guard let loading = try? snapshot.load(newestCommit(bytes)), loading != .gone else { return nil }
        var note = CommitNote()
        return note.state(of: snapshot)
    }

    private func newestCommit(_ bytes: Data) -> UInt64 { max(bytes.number(144), bytes.number(4_096 + 144)) }

    /// The list of a killed process's file names a page in use: it can be read, and nothing is written over.
    @Test func afterAKillNoPageInUseIsWrittenOver() throws {
        try withPath { path in
            var killed = try fill(path, rows: 10_000)
            let meta = killed.number(144) > killed.number(4_096 + 144) ? 0 : 4_096
            let list = Int(killed.number(meta + 80)) * 4_096
            let record = list + Int(killed.number(list + 16) & 0xFFFF) + 8 + 8
            #expect(killed.number(record) > 0)
            // The greatest number of a record comes first, so a leaf of the log may take its place.
            let free = Set((1...Int(killed.number(record))).map { killed.number(record + 8 * $0) })
            let used = (killed.number(record + 16) + 1..<killed.number(meta + 136)).first { page in
                !free.contains(page) && killed.number(Int(page) * 4_096 + 10) & 0xFFFF == 2
            }
            let page = try #require(used)
            unsafe withUnsafeBytes(of: page) { unsafe killed.replaceSubrange(record + 8..<record + 16, with: $0) }
            try killed.write(to: URL(filePath: dataFile(of: path)))
            let writer = try openWriter(path)
            for row in 0..<3 {
                #expect(
                    try failureCode { try writer.write { try $0.put(writer.database("log"), Self.key(row), [3]) } }
                        == .corrupted)
            }
            #expect(try writer.value("log", 9_999)?.count == 500)
            writer.close()
            let after = try Data(contentsOf: URL(filePath: dataFile(of: path)))
            let place = Int(page) * 4_096
            #expect(after[place..<place + 4_096] == killed[place..<place + 4_096])
        }
    }

    /// A changed bit of the note makes the opening take account, and one of the list of free pages does no harm.
    @Test func aNoteIsTrustedOnlyWhereNothingHasChanged() throws {
        try withPath { path in
            _ = try fill(path, rows: 1_000)
            let url = URL(filePath: dataFile(of: path))
            let sound = try Data(contentsOf: url)
            let meta = sound.number(144) > sound.number(4_096 + 144) ? 0 : 4_096
            #expect(sound.number(meta + 184) == sound.number(meta + 144))
            for bit in stride(from: 0, to: 128, by: 5) {
                var changed = sound
                changed[meta + 176 + bit / 8] ^= 1 << UInt8(bit % 8)
                try changed.write(to: url)
                try openWriter(path).close()
            }
            let list = Int(sound.number(meta + 80)) * 4_096
            for offset in stride(from: 0, to: 4_096, by: sized(183, nightly: 7)) {
                var changed = sound
                changed[list + offset] ^= 4
                try changed.write(to: url)
                guard let writer = try? openWriter(path) else { continue }
                defer { writer.close() }
                // Pages that are left out of the list are lost, which harms nobody.
                #expect(try writer.checkPages().allSatisfy { $0.contains("belongs to no table") }, "offset \(offset)")
            }
        }
    }

    /// A store with two tables, whose keys sort before and after each other's, and with old pages.
    ///
    /// - Returns: its rows.
    private func fillTwo(_ path: String) throws -> [Row: [UInt8]?] {
        let made = try openWriter(path, .init(durability: .relaxed))
        defer { made.close() }
        let (log, index) = (made.database("log"), made.database("index"))
        for round in 0..<5 {
            try made.write { transaction in
                for number in stride(from: round, to: 2_000, by: round + 1) {
                    try transaction.put(index, Self.name(number), Self.text(number, round))
                    if number < 300 { try transaction.put(log, Self.key(number), Self.text(number, round)) }
                }
            }
        }
        var rows: [Row: [UInt8]?] = [:]
        for table in ["log", "index"] {
            for key in try made.keys(table) { rows[Row(table: table, key: key)] = try made.value(table, key) }
        }
        return rows
    }

    /// A branch's number that leads to another page of the same file, in use or old, never gives a wrong answer, whatever is
    /// written then.
    @Test func aWrongNumberInABranchNeverGivesAWrongAnswer() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededRandom(seed: seed)
        var failures = 0
        try withPath { path in
            let right = try fillTwo(path)
            let url = URL(filePath: dataFile(of: path))
            let sound = try Data(contentsOf: url)
            let pages = (2..<sound.count / 4_096).filter { [1, 2].contains(sound.number($0 * 4_096 + 10) & 0xFFFF) }
            let entries = pages.filter { sound.number($0 * 4_096 + 10) & 0xFFFF == 1 }.flatMap { page in
                (0..<(Int(sound.number(page * 4_096 + 12) & 0xFFFF) - 16) / 2).map { entry in
                    page * 4_096 + Int(sound.number(page * 4_096 + 16 + 2 * entry) & 0xFFFF)
                }
            }
            let firsts = entries.filter { sound.number($0 + 4) >> 16 & 0xFFFF == 0 }
            #expect(entries.count > 20 && firsts.count > 1)
            for round in 0..<sized(40, nightly: 2_000) {
                var changed = sound
                // At the beginning of a table, only a look at the other tables shows it.
                let entry =
                    round % 4 == 0 ? firsts.randomElement(using: &random)! : entries.randomElement(using: &random)!
                let page = UInt32(pages.randomElement(using: &random)!)
                unsafe withUnsafeBytes(of: page) { unsafe changed.replaceSubrange(entry..<entry + 4, with: $0) }
                try changed.write(to: url)
                failures += try wrongAnswers(path, right)
                let written = (0..<12).map { _ in Int.random(in: 0..<2_000, using: &random) }
                if let writer = try? openWriter(path, .init(durability: .relaxed)) {
                    for number in written {
                        _ = try? writer.write { transaction in
                            let index = writer.database("index")
                            if number % 2 == 0 { return try transaction.delete(index, Self.name(number)) }
                            try transaction.put(index, Self.name(number), Self.text(number, 9))
                            return true
                        }
                    }
                    writer.close()
                }
                failures += try wrongAnswers(
                    path, right.filter { row, _ in !written.contains { Self.name($0) == row.key } })
            }
        }
        #expect(failures == 0, "seed \(seed)")
    }

    /// How many of some rows are not as they should be, without an error.
    private func wrongAnswers(_ path: String, _ right: [Row: [UInt8]?]) throws -> Int {
        guard let reader = try? openReader(path) else { return 0 }
        defer { reader.close() }
        var count = 0
        for (row, value) in right {
            let found = Result { try reader.value(row.table, row.key) }
            if case .success(let answer) = found, answer != value { count += 1 }
        }
        return count
    }

    private struct Row: Hashable {
        var table: String
        var key: [UInt8]
    }

    private static func name(_ number: Int) -> [UInt8] { Array("name \(number &* 7_919 % 2_003) \(number)".utf8) }

    private static func text(_ number: Int, _ round: Int) -> [UInt8] {
        Array("\(number) in round \(round)".utf8) + [UInt8](repeating: 7, count: number % 150)
    }
}
