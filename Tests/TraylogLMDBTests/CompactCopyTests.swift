import Foundation
import Testing
import TraylogPlatform
@testable import TraylogLMDB

@Suite struct CompactCopyTests {
    @Test func aCopyIsSmallCompleteAndPrivate() throws {
        try withEnvironment { environment in
            let log = environment.database("log")
            try environment.write { transaction in
                for key in UInt64(1)...5000 { try transaction.append(log, key, [UInt8](repeating: 1, count: 500)) }
            }
            try environment.write { transaction in
                for key in UInt64(1)...4000 { _ = try transaction.delete(log, key) }
            }
            let copy = environment.directory + "-copy"
            try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: false)
            try FileManager.default.createDirectory(atPath: copy + "-store", withIntermediateDirectories: false)
            try environment.compactCopy(toPath: copy + "/data.mdb")
            let attributes = try FileManager.default.attributesOfItem(atPath: copy + "/data.mdb")
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            #expect((attributes[.size] as? Int ?? 0) * 3 < (try environment.information().fileBytes))
            #expect(try FileManager.default.contentsOfDirectory(atPath: copy) == ["data.mdb"])

            #expect(try failureCode { try environment.compactCopy(toPath: copy + "/data.mdb") } == .system(EEXIST))
            try environment.compactCopy(toPath: copy + "/data.mdb", replacing: true)
            #expect(try FileManager.default.contentsOfDirectory(atPath: copy) == ["data.mdb"])

            try FileManager.default.moveItem(atPath: copy, toPath: copy + "-store/data-1")
            try Data("data-1\n".utf8).write(to: URL(filePath: copy + "-store/CURRENT"))
            let other = try openReader(copy + "-store")
            defer { other.close() }
            #expect(try other.keys("log") == environment.keys("log"))
        }
    }

    @Test func aFailedCopyLeavesNothing() throws {
        try withEnvironment { environment in
            #expect(
                try failureCode { try environment.compactCopy(toPath: environment.directory + "/no/copy") } == .notFound
            )
            let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
            #expect(
                try failureCode { try environment.compactCopy(to: FileDescriptor(number: full.fileDescriptor)) }
                    == .diskFull)
            let null = try #require(FileHandle(forWritingAtPath: "/dev/null"))
            try environment.compactCopy(to: FileDescriptor(number: null.fileDescriptor))
        }
    }
}
