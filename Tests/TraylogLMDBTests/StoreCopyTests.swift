import Foundation
import Testing
@testable import TraylogLMDB

@Suite struct StoreCopyTests {
    private func withFilled(_ body: (Environment, String) throws -> Void) throws {
        try withEnvironment { environment in
            let log = environment.database("log")
            try environment.write { transaction in
                for key in UInt64(1)...300 { try transaction.append(log, key, [UInt8](repeating: 1, count: 500)) }
            }
            try body(environment, environment.directory + "-copy")
        }
    }

    private func names(_ directory: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory)
    }

    @Test(arguments: ["", "/", "//"])
    func aCopyIsPrivateCompleteAndKnowsItsLastKey(ending: String) throws {
        try withFilled { environment, target throws in
            let copy = try environment.copyStore(to: target + ending, table: "log")
            #expect(copy.lastKey == [0, 0, 0, 0, 0, 0, 1, 44])
            #expect(try names(target).sorted() == ["CURRENT", "data-1"])
            for (path, mode) in [(target, 0o700), (target + "/data-1", 0o700), (dataFile(of: target), 0o600)] {
                let attributes = try FileManager.default.attributesOfItem(atPath: path)
                #expect(attributes[.posixPermissions] as? Int == mode)
                if mode == 0o600 { #expect(attributes[.size] as? Int == copy.fileBytes) }
            }
            let other = try openReader(target)
            defer { other.close() }
            #expect(try other.keys("log") == environment.keys("log"))
        }
    }

    @Test func leftoversOfAKilledCopyAreRemoved() throws {
        try withFilled { environment, target throws in
            try FileManager.default.createDirectory(atPath: target + "/data-1", withIntermediateDirectories: true)
            try Data("data-1\n".utf8).write(to: URL(filePath: target + "/CURRENT"))
            try Data("half".utf8).write(to: URL(filePath: target + "/data-1/data.mdb.0123.partial"))
            #expect(try failureCode { try openReader(target) } == .notFound)
            _ = try environment.copyStore(to: target, table: "log")
            #expect(try names(target).sorted() == ["CURRENT", "data-1"])
        }
    }

    @Test func anEmptyTableHasNoLastKey() throws {
        try withEnvironment { environment in
            let copy = try environment.copyStore(to: environment.directory + "-copy", table: "log")
            #expect(copy.lastKey == nil)
        }
    }

    @Test func aTargetWithAnythingInItIsRefusedAndStaysAsItIs() throws {
        try withFilled { environment, target throws in
            try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: false)
            try Data().write(to: URL(filePath: target + "/notes"))
            #expect(try failureCode { try environment.copyStore(to: target, table: "log") } == .unusableTarget)
            #expect(try names(target) == ["notes"])
            #expect(
                try failureCode { try environment.copyStore(to: target + "/notes", table: "log") } == .unusableTarget)
            #expect(
                try failureCode { try environment.copyStore(to: target + "/no/x", table: "log") } == .unusableTarget)
        }
    }

    @Test func theStoreItselfIsNoTargetByAnyName() throws {
        try withFilled { environment, target throws in
            let link = target + "-link"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: environment.directory)
            let before = try names(environment.directory).sorted()
            for path in [
                "", "/", "/inner", "/./inner", "/../" + URL(filePath: environment.directory).lastPathComponent,
            ] {
                for start in [environment.directory, link] {
                    #expect(
                        try failureCode { try environment.copyStore(to: start + path, table: "log") } == .unusableTarget
                    )
                }
            }
            #expect(try names(environment.directory).sorted() == before)
        }
    }

    @Test func aFailedCopyTakesItsDirectoryAway() throws {
        try withFilled { environment, target throws in
            #expect(try failureCode { try environment.copyStore(to: target, table: "none") } == .missingDatabase)
            #expect(!FileManager.default.fileExists(atPath: target))
        }
    }

    @Test func progressComesFromTheFile() throws {
        try withFilled { environment, target throws in
            var calls: [(Int, Int)] = []
            let copy = try environment.copyStore(to: target, table: "log") {
                calls.append(($0, $1))
                return true
            }
            #expect(copy.fileBytes > 0)
            #expect(calls.allSatisfy { $0.0 <= copy.fileBytes && $0.1 > 0 })
        }
    }
}
