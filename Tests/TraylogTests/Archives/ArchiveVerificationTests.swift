import Foundation
import TestSupport
import Testing
import TraylogDomain

@_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogChecks

@Suite struct ArchiveVerificationTests {
    private func withArchives(_ body: (_ path: String, _ archives: String, _ name: String) throws -> Void) throws {
        try withStorePath { path throws in
            try withStore(path) { store in _ = try store.perform((1...20).map { notify("user \($0 % 3)") }) }
            let archives = path + "-archives"
            try body(path, archives, try HandMadeArchive.write([1, 2, 5, 9], of: path, to: archives))
        }
    }

    private func verify(_ path: String, _ archives: String) throws -> VerificationReport {
        try Verification.run(directory: path, archives: archives) { _, _ in }
    }

    @Test func soundArchivesAreCounted() throws {
        try withArchives { path, archives, _ throws in
            try HandMadeArchive.write([2, 3], of: path, to: archives)
            let report = try verify(path, archives)
            #expect(report.findings.isEmpty && report.archivedEvents == 6)
            #expect(try Verification.run(directory: path) { _, _ in }.archivedEvents == nil)
        }
    }

    @Test func damageIsAFindingThatNamesFileAndEvent() throws {
        try withArchives { path, archives, name throws in
            let file = URL(filePath: archives + "/" + name)
            var bytes = try Data(contentsOf: file)
            bytes[100] ^= 1
            try bytes.write(to: file)
            let findings = try verify(path, archives).findings
            #expect(findings.contains { $0.contains(name) && $0.contains("event 1: ") }, "\(findings)")
            try bytes.prefix(90).write(to: file)
            #expect(try verify(path, archives).findings.count == 1)
        }
    }

    @Test func anotherStoresArchiveAndOtherEventsAreFindings() throws {
        try withArchives { path, archives, name throws in
            let other = path + "-other"
            try withStore(other) { store in _ = try store.perform((1...5).map { _ in notify("ann") }) }
            let foreign = try HandMadeArchive.write([1], of: other, to: archives)
            var findings = try verify(path, archives).findings
            #expect(findings.count == 1 && findings[0].contains(foreign) && findings[0].contains("another store"))
            try FileManager.default.removeItem(atPath: archives + "/" + foreign)
            let forged = try HandMadeArchive.write(
                [2, 3], of: other, to: archives, identity: HandMadeArchive.identity(of: path))
            findings = try verify(path, archives).findings
            #expect(findings.count == 2)
            #expect(findings.allSatisfy { $0.contains(forged) && $0.contains("another event than the store has") })
            #expect(findings.first?.contains("event 2: ") == true)
        }
    }

    @Test func aMissingDirectoryIsAnErrorAndNoFinding() throws {
        try withArchives { path, archives, _ throws in
            #expect(try failure { try verify(path, archives + "/none") }?.code == .notFound)
        }
    }
}
