import Foundation
import Synchronization
import Testing

@testable import TraylogLMDB

/// Readers that may not write the lock files; only root can become another user, so others skip these.
@Suite(.enabled(if: getuid() == 0, "Only root can become another user.")) struct ReadingWithoutLocksTests {
    @Test(arguments: [true, false])
    func aStrangerReadsAndLeavesNothingBehind(hasLockFiles: Bool) async throws {
        try await withPath { path in
            let writer = try openWriter(path)
            for _ in 0..<5 { try writer.addRow() }
            let rows = try writer.rows()
            writer.close()
            if !hasLockFiles {
                for file in [lockFile(of: path), path + "/open.lock", path + "/writer.lock"] {
                    try FileManager.default.removeItem(atPath: file)
                }
            }
            try letOthersRead(path)
            let before = try FileManager.default.subpathsOfDirectory(atPath: path).sorted()
            await #expect(processExitsWith: .success) { [path = path as String, rows = rows as UInt64] in
                _ = setuid(65534)
                let reader = try openReader(path)
                #expect(!reader.usesLocks)
                #expect(try reader.rows() == rows)
                #expect(try reader.checkPages().isEmpty)
                #expect(try failureCode { try reader.write { _ in } } == .readOnly)
                #expect(try failureCode { try reader.compactCopy(toPath: "/tmp/never") } == .permissionDenied)
                reader.close()
                #expect(try failureCode { try openWriter(path) } == .permissionDenied)
            }
            #expect(try FileManager.default.subpathsOfDirectory(atPath: path).sorted() == before)
            try expectSound(path, rows)
        }
    }

    @Test func aStrangerWhoMayWriteTheLockFilesUsesThem() async throws {
        try await withPath { path in
            let writer = try openWriter(path)
            let rows = try writer.addRow()
            try letOthersRead(path)
            for file in [lockFile(of: path), path + "/open.lock"] { try setMode(0o666, file) }
            await #expect(processExitsWith: .success) { [path = path as String, rows = rows as UInt64] in
                _ = setuid(65534)
                let reader = try openReader(path)
                #expect(reader.usesLocks)
                #expect(try reader.rows() == rows)
                reader.close()
            }
            writer.close()
        }
    }

    /// Two commits may take pages of the snapshot away; one never does.
    @Test(arguments: [0, 1, 2])
    func aReadWithoutLocksIsGivenUpOnceItsPagesMayBeTaken(commits: Int) async throws {
        try await withPath { path in
            let writer = try openWriter(path)
            defer { writer.close() }
            let rows = try writer.addRow()
            try letOthersRead(path)
            let parent = URL(filePath: path).deletingLastPathComponent().path
            try setMode(0o777, parent)
            let (reading, written) = (parent + "/reading", parent + "/written")
            let isOver = Atomic(false)
            async let write: Void = {
                try await waitForFile(reading) { isOver.load(ordering: .relaxed) }
                for _ in 0..<commits { try writer.addRow() }
                _ = FileManager.default.createFile(atPath: written, contents: nil)
            }()
            await #expect(processExitsWith: .success) {
                [
                    path = path as String, reading = reading as String, written = written as String,
                    commits = commits as Int, rows = rows as UInt64
                ] in
                _ = setuid(65534)
                let reader = try openReader(path)
                let code = try failureCode {
                    try reader.read { _ in
                        _ = FileManager.default.createFile(atPath: reading, contents: nil)
                        waitForFile(written)
                    }
                }
                #expect(code == (commits < 2 ? nil : .overtaken))
                // The next one sees the newest commit.
                #expect(try reader.rows() == rows + UInt64(commits))
                reader.close()
            }
            isOver.store(true, ordering: .relaxed)
            try await write
        }
    }

    /// Each commit changes every row, so an answer of two commits shows two numbers.
    @Test func noAnswerMixesTwoCommitsBesideAWriterThatDoesNotWait() async throws {
        try await withPath { path in
            let writer = try openWriter(path, Environment.Configuration(durability: .relaxed))
            defer { writer.close() }
            try writer.setAllRows(to: 1)
            try letOthersRead(path)
            let isOver = Atomic(false)
            async let writing: UInt64 = {
                var number: UInt64 = 1
                while !isOver.load(ordering: .relaxed) {
                    number += 1
                    try writer.setAllRows(to: number)
                    if number.isMultiple(of: 16) { try await Task.sleep(for: .milliseconds(4)) }
                }
                return number
            }()
            await #expect(processExitsWith: .success) { [path = path as String] in
                _ = setuid(65534)
                let reader = try openReader(path)
                var (answers, refusals, mixtures) = (0, 0, 0)
                var newest: UInt64 = 0
                for _ in 0..<20_000 where answers < 300 || refusals < 100 || mixtures < 10 {
                    // Every second read dawdles, so that the writer is sure to overtake some.
                    let pause: UInt32 = (answers + refusals).isMultiple(of: 2) ? 0 : 2_000
                    var isMixed = false
                    do {
                        let seen = try reader.read { transaction in
                            let seen = try numbers(in: transaction, reader, pause: pause)
                            isMixed = seen.count != 1
                            return seen
                        }
                        answers += 1
                        #expect(seen.count == 1, "\(seen) in one answer")
                        #expect(seen.allSatisfy { $0 >= newest }, "\(seen) after \(newest)")
                        newest = max(newest, seen.max() ?? 0)
                    } catch let error as LMDBError where error.code == .overtaken {
                        refusals += 1
                        if isMixed { mixtures += 1 }
                    }
                }
                #expect(answers >= 300 && refusals >= 100 && mixtures >= 10, "\(answers), \(refusals), \(mixtures)")
                reader.close()
            }
            isOver.store(true, ordering: .relaxed)
            #expect(try await writing > 100)
        }
    }

    @Test func aReaderWithoutLocksFollowsAReplacement() async throws {
        try await withPath { path in
            let writer = try openWriter(path)
            defer { writer.close() }
            let rows = try writer.addRow()
            try letOthersRead(path)
            let parent = URL(filePath: path).deletingLastPathComponent().path
            try setMode(0o777, parent)
            let (opened, replaced) = (parent + "/opened", parent + "/replaced")
            let isOver = Atomic(false)
            async let replace: Void = {
                try await waitForFile(opened) { isOver.load(ordering: .relaxed) }
                let successor = try writer.openSuccessor()
                try successor.setAllRows(to: 7)
                try writer.replace(by: successor)
                try writer.finishReplacement()
                _ = FileManager.default.createFile(atPath: replaced, contents: nil)
            }()
            await #expect(processExitsWith: .success) {
                [
                    path = path as String, opened = opened as String, replaced = replaced as String,
                    rows = rows as UInt64
                ] in
                _ = setuid(65534)
                let reader = try openReader(path)
                #expect(try reader.rows() == rows)
                _ = FileManager.default.createFile(atPath: opened, contents: nil)
                waitForFile(replaced)
                #expect(try reader.read { try numbers(in: $0, reader, pause: 0) } == [7])
                reader.close()
            }
            isOver.store(true, ordering: .relaxed)
            try await replace
        }
    }

    @Test(arguments: ["journal", "lock.mdb", "data.mdb"])
    func aFileThatCannotBeReadIsNamed(file: String) async throws {
        try await withPath { path in
            let left = try LeftFiles(path)
            try left.put(left.data)
            try letOthersRead(path)
            try setMode(0o600, environmentDirectory(of: path) + "/" + file)
            await #expect(processExitsWith: .success) { [path = path as String, file = file as String] in
                _ = setuid(65534)
                do {
                    _ = try openReader(path)
                    Issue.record("It was opened.")
                } catch let error as LMDBError {
                    #expect(error.code == .permissionDenied)
                    #expect(error.path?.hasSuffix("/" + file) == true, "\(error)")
                    #expect(error.message.contains("to read for reading"))
                }
            }
        }
    }
}

private func setMode(_ mode: Int, _ path: String) throws {
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
}

/// Makes a store readable for everybody, and writable for nobody but root.
private func letOthersRead(_ path: String) throws {
    for file in try FileManager.default.subpathsOfDirectory(atPath: path) {
        var isDirectory: ObjCBool = false
        unsafe _ = FileManager.default.fileExists(atPath: "\(path)/\(file)", isDirectory: &isDirectory)
        try setMode(isDirectory.boolValue ? 0o555 : 0o444, "\(path)/\(file)")
    }
    try setMode(0o555, path)
}

/// The numbers that the rows have, read in one transaction.
private func numbers(
    in transaction: borrowing ReadTransaction, _ environment: Environment, pause: UInt32
) throws -> Set<UInt64> {
    try transaction.withCursor(environment.database("index")) { cursor in
        var found: Set<UInt64> = []
        var count = 0
        while try cursor.next() {
            found.insert(cursor.withEntry { _, value in unsafe value.unsafeLoadUnaligned(as: UInt64.self) })
            count += 1
            if count == 200, pause > 0 { usleep(pause) }
        }
        return found
    }
}

extension Environment {
    /// Gives each of 400 rows in some 12 pages the same number, in one commit.
    fileprivate func setAllRows(to number: UInt64) throws {
        let value = unsafe withUnsafeBytes(of: number) { unsafe Array($0) } + Array(repeating: 0, count: 100)
        try write { transaction in
            for row in 0..<400 { try transaction.put(database("index"), Array("row \(1_000 + row)".utf8), value) }
        }
    }
}
