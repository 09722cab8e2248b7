import Foundation
import TestSupport
import Testing
import TraylogDomain

@_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogChecks

@Suite struct BackupTests {
    private func expectPrefix(_ copy: String, of path: String, atLeast head: Seq, _ report: BackupReport) throws {
        #expect(report.head >= head)
        try withReader(copy) { reader throws in #expect(try reader.head() == report.head) }
        let rows = try exported(copy)
        #expect(rows.count == Int(report.head.rawValue))
        // The last event of the export is part of a line.
        #expect(try rows == exported(path, through: report.head))
        #expect(try findings(copy).isEmpty)
        #expect(try replay(copy).identical)
    }

    @Test func aBackupBesideARunningWriterIsAPrefixAsNewAsItsStart() async throws {
        try await withStorePath { path async throws in
            let store = try Store.open(path, options: options(tailEvents: 50))
            let writing = Task {
                var number = 0
                while !Task.isCancelled {
                    number += 1
                    _ = try await store.perform((0..<20).map { notify("user \($0 * number % 37)", "\(number)") })
                }
            }
            var reports: [(BackupReport, Seq, String)] = []
            for round in 0..<4 {
                let copy = "\(path)-\(round)"
                let head = try await store.log.head()
                reports.append((try await store.upkeep.backup(to: copy), head, copy))
            }
            writing.cancel()
            do {
                try await writing.value
            } catch let error as TraylogError where error.isCancellation {}
            await store.close()
            for (report, head, copy) in reports { try expectPrefix(copy, of: path, atLeast: head, report) }
        }
    }

    @Test func aReaderMakesABackup() throws {
        try withStorePath { path throws in
            try withStore(path) { store in _ = try store.perform([notify("ann"), notify("bob")]) }
            let report = try withReader(path) { try $0.backup(to: path + "-2") }
            try expectPrefix(path + "-2", of: path, atLeast: 2, report)
            let size =
                try FileManager.default.attributesOfItem(atPath: StoreFiles.data(of: path + "-2"))[.size] as? UInt64
            #expect(size == report.bytes)
            try withStore(path + "-2") { store throws in #expect(try store.perform(notify("cy")) == .appended(3)) }
        }
    }

    @Test func anEmptyStoreHasABackup() throws {
        try withStorePath { path throws in
            try withStore(path) { store throws in #expect(try store.backup(to: path + "-2").head == 0) }
            try withStore(path + "-2") { store throws in #expect(try store.perform(notify("ann")) == .appended(1)) }
        }
    }

    @Test func aBackupOfAClosedStoreOrToATakenPlaceIsRefusedByName() throws {
        try withStorePath { path throws in
            let store = try Store.open(path, options: options())
            #expect(try failure { try store.backup(to: path) }?.code == .unusableTarget)
            #expect(try failure { try store.backup(to: path + "/inside") }?.code == .unusableTarget)
            store.close()
            #expect(try failure { try store.backup(to: path + "-2") }?.code == .closed)
            #expect(!FileManager.default.fileExists(atPath: path + "-2"))
        }
    }
}
