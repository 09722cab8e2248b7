import Foundation
import Testing

@testable import TraylogLMDB
import TraylogPlatform

/// One data file takes the place of another while it is open.
@Suite struct ReplacementTests {
    @Test func aReplacementHasAllRowsInASmallerFile() throws {
        try withEnvironment { environment in
            try environment.fillAndThin()
            let before = try environment.information().fileBytes
            let rows = try environment.allRows()
            try environment.rewrite()
            #expect(try environment.allRows() == rows)
            #expect(try environment.information().fileBytes * 4 < before)
            #expect(try environment.information().freePages < 10)
            #expect(leftovers(in: environment.directory) == [])
        }
    }

    @Test func writesAfterAReplacementAreInTheNewFileAndSurviveReopening() throws {
        try withPath { path in
            let environment = try openWriter(path)
            try environment.write { try $0.append(environment.database("log"), 1, [1]) }
            try environment.rewrite()
            try environment.write { try $0.append(environment.database("log"), 2, [2]) }
            try environment.rewrite()
            try environment.write { try $0.append(environment.database("log"), 3, [3]) }
            environment.close()
            let again = try openWriter(path)
            defer { again.close() }
            #expect(try (1...3).map { try again.value("log", UInt64($0)) } == [[1], [2], [3]])
        }
    }

    @Test func aFileMayGetTheNumberOfOneThatIsBeingClosed() throws {
        try withEnvironment { environment in
            for round in 1...50 as ClosedRange<UInt64> {
                try environment.write { try $0.append(environment.database("log"), round, [1]) }
                try environment.rewrite()
            }
            #expect(try environment.keys("log").count == 50)
        }
    }

    @Test func aTransactionThatIsUnderWayEndsOnTheOldFile() throws {
        try withEnvironment { environment in
            let log = environment.database("log")
            try environment.write { try $0.append(log, 1, [1]) }
            try environment.read { old in
                onOtherThread {
                    try environment.rewrite()
                    try environment.write { try $0.put(log, [0, 0, 0, 0, 0, 0, 0, 1], [2]) }
                }
                let (seen, new) = (try old.get(log, 1) { $0.copy }, try environment.value("log", 1))
                #expect(seen == [1])
                #expect(new == [2])
            }
        }
    }

    @Test func theOldFileIsGivenBackWhenItsLastTransactionEnds() throws {
        try withEnvironment { environment in
            try environment.read { _ in
                onOtherThread { try environment.rewrite() }
                #expect(deletedFiles(of: environment.directory) > 0)
            }
            environment.waitForRetired()
            #expect(deletedFiles(of: environment.directory) == 0)
        }
    }

    @Test func theLastCommitBeforeTheRenamingIsInTheNewFile() throws {
        try withEnvironment { environment in
            let log = environment.database("log")
            let successor = try environment.openSuccessor()
            try environment.write { try $0.append(log, 1, [1]) }
            try environment.replace(by: successor) { try environment.copyRows(to: successor) }
            #expect(try environment.value("log", 1) == [1])
            #expect(try failureCode { try successor.read { _ in } } == .closed)
        }
    }

    @Test func aSuccessorThatIsGivenUpLeavesNothing() throws {
        struct Refusal: Error {}
        try withEnvironment { environment in
            let log = environment.database("log")
            let successor = try environment.openSuccessor()
            #expect(throws: Refusal.self) { try environment.replace(by: successor) { throw Refusal() } }
            #expect(try failureCode { _ = try environment.openSuccessor() } == .alreadyOpen)
            successor.close()
            #expect(leftovers(in: environment.directory) == [])
            try environment.write { try $0.append(log, 1, [1]) }
            #expect(try environment.value("log", 1) == [1])
        }
    }

    @Test func aFailureBeforeTheRenamingLeavesTheOldFileInUse() throws {
        struct Fault: Error {}
        for step in [Environment.ReplacementStep.synced, .noted] {
            try withEnvironment { environment in
                let log = environment.database("log")
                try environment.write { try $0.append(log, 1, [1]) }
                let successor = try environment.openSuccessor()
                #expect(throws: Fault.self) {
                    try environment.replace(by: successor, onStep: { if $0 == step { throw Fault() } })
                }
                try environment.write { try $0.append(log, 2, [2]) }
                #expect(try environment.value("log", 1) == [1])
                #expect(try !environment.isNoted())
            }
        }
    }

    /// A power cut could bring the old file back before the names are synced.
    @Test func theNewFileIsWrittenOnlyAfterItsNameIsOnDisk() throws {
        let fault = LMDBError(.diskFull, operation: "test", message: "A fault.")
        try withEnvironment { environment in
            let log = environment.database("log")
            try environment.write { try $0.append(log, 1, [1]) }
            try environment.rewrite(finishing: false)
            #expect(leftovers(in: environment.directory) == ["data-1"])
            #expect(throws: fault) {
                try environment.finishReplacement { (step) throws(LMDBError) in if step == .namesSynced { throw fault }
                }
            }
            #expect(leftovers(in: environment.directory) == ["data-1"])
            #expect(try environment.value("log", 1) == [1])
            try environment.write { try $0.append(log, 2, [2]) }
            #expect(leftovers(in: environment.directory) == [])
            #expect(try environment.value("log", 2) == [2])
        }
    }

    @Test func theNextWriterFinishesAReplacementThatWasNotFinished() throws {
        try withPath { path in
            let environment = try openWriter(path)
            try environment.write { try $0.append(environment.database("log"), 1, [1]) }
            try environment.rewrite(finishing: false)
            environment.close()
            let reader = try openReader(path)
            #expect(try reader.value("log", 1) == [1])
            reader.close()
            let again = try openWriter(path)
            defer { again.close() }
            #expect(leftovers(in: path) == [])
            #expect(try again.value("log", 1) == [1])
        }
    }

    @Test func aFullMapCanBeReplaced() throws {
        try withEnvironment(.init(mapSizeBytes: 1 << 20)) { environment in
            let log = environment.database("log")
            var next: UInt64 = 1
            let code = try failureCode {
                while true {
                    try environment.write { try $0.append(log, next, [UInt8](repeating: 1, count: 1_000)) }
                    next += 1
                }
            }
            #expect(code == .mapFull)
            let successor = try environment.openSuccessor()
            try environment.replace(by: successor)
            try environment.write { try $0.append(log, 1, [1]) }
            #expect(try environment.value("log", 1) == [1])
        }
    }

    @Test func modeAndOwnerOfTheFilesStay() throws {
        try withEnvironment { environment in
            let directory = environment.directory
            func files() -> [String] { [dataFile(of: directory), lockFile(of: directory), directory + "/CURRENT"] }
            for file in files() { #expect(unsafe chmod(file, 0o640) == 0) }
            #expect(unsafe chmod(environmentDirectory(of: directory), 0o750) == 0)
            try environment.rewrite()
            for file in files() { #expect(try FileStatus(path: file).mode == 0o640) }
            #expect(try FileStatus(path: environmentDirectory(of: directory)).mode == 0o750)
        }
    }

    @Test func aReaderCannotReplace() throws {
        try withPath { path in
            try openWriter(path).close()
            let reader = try openReader(path)
            defer { reader.close() }
            #expect(try failureCode { _ = try reader.openSuccessor() } == .readOnly)
        }
    }

    @Test func aStoreThatWasReplacedIsStillOpenOnlyOnce() throws {
        try withEnvironment { environment in
            try environment.rewrite()
            #expect(try failureCode { _ = try openReader(environment.directory) } == .alreadyOpen)
            #expect(try failureCode { _ = try openWriter(environment.directory) } == .alreadyOpen)
        }
    }

    @Test func aCopyBegunBeforeAReplacementIsOfTheOldFile() throws {
        try withEnvironment { environment in
            let log = environment.database("log")
            try environment.write { transaction in
                for seq in 1...20_000 { try transaction.append(log, UInt64(seq), [UInt8](repeating: 1, count: 100)) }
            }
            let target = environment.directory + "-copy"
            let hasReplaced = Monitor(false)
            let copying = try environment.copyStore(to: target, table: "log") { written, _ in
                // Before, it may still be looking at the file's pages.
                guard written > 0 else { return true }
                let isFirst = hasReplaced.withLock { done in
                    defer { done = true }
                    return !done
                }
                guard isFirst else { return true }
                do {
                    let successor = try environment.openSuccessor()
                    try environment.replace(by: successor)
                    try environment.write { try $0.append(log, 1, [2]) }
                } catch {
                    Issue.record(error)
                }
                return true
            }
            if hasReplaced.withLock({ $0 }) { #expect(try environment.keys("log").count == 1) }
            #expect(copying.lastKey?.last == UInt8(20_000 & 0xFF))
            let copy = try openWriter(target)
            defer { copy.close() }
            #expect(try copy.keys("log").count == 20_000)
        }
    }
}

extension ReplacementTests {
    @Test func aReplacementWithoutAThreadToCloseTheOldFileLeavesItInPlace() throws {
        try withEnvironment { environment in
            let log = environment.database("log")
            try environment.write { try $0.append(log, 1, [1]) }
            let successor = try environment.openSuccessor()
            #expect(throws: LMDBError.self) {
                try ThreadRefused.$simulated.withValue({ $0 == "traylog-retire" }) {
                    try environment.replace(by: successor)
                }
            }
            successor.close()
            #expect(try environment.keys("log").count == 1)
            try environment.write { try $0.append(log, 2, [2]) }
        }
    }
}
