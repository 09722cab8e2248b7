import Foundation
import TestSupport
import Testing
import TraylogLMDB

/// A bad lock file gives an error by name or a store that opens, never a signal.
@Suite struct LockFileTests {
    private enum Damage: CaseIterable {
        case empty, cutInHeader, cutInSlots, longer, zeros, garbage, manySlots

        func apply(to bytes: inout Data) {
            switch self {
            case .empty: bytes = Data()
            case .cutInHeader: bytes = bytes.prefix(100)
            case .cutInSlots: bytes = bytes.prefix(192)
            case .longer: bytes += Data(repeating: 0xA5, count: 100_000)
            case .zeros: bytes = Data(count: bytes.count)
            case .garbage: bytes = Data((0..<bytes.count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 11) })
            case .manySlots: bytes.replaceSubrange(16..<20, with: [0xFF, 0xFF, 0xFF, 0x7F])
            }
        }
    }

    @Test(arguments: 0..<7)
    func aBadLockFileIsRemadeWhileTheStoreIsClosed(damage: Int) async throws {
        try await withPath { path in
            await #expect(processExitsWith: .success) { [path = path as String, damage] in
                try Self.makeStore(path)
                try Self.change(path, Damage.allCases[damage])
                for open in [openReader, { try openWriter($0) }] {
                    let environment = try open(path)
                    try #require(try environment.value("log", 1) == [7])
                    environment.close()
                }
            }
        }
    }

    @Test(arguments: 0..<7)
    func besideOtherProcessesADamagedLockFileIsAnErrorOrHarmless(damage: Int) async throws {
        try await withPath { path in
            await #expect(processExitsWith: .success) { [path = path as String, damage] in
                try Self.makeStore(path)
                let child = forkProcess()
                if child == 0 {
                    // It has the file open, and touches nothing of it any more.
                    guard (try? openReader(path)) != nil else { _exit(1) }
                    _ = FileManager.default.createFile(atPath: path + "/ready", contents: nil)
                    waitForFile(path + "/done")
                    _exit(0)
                }
                waitForFile(path + "/ready")
                try Self.change(path, Damage.allCases[damage])
                for open in [openReader, { try openWriter($0) }] {
                    do {
                        let environment = try open(path)
                        try #require(try environment.value("log", 1) == [7])
                        environment.close()
                    } catch let error as LMDBError {
                        try #require(error.message.contains("lock"), "\(error)")
                    }
                }
                _ = FileManager.default.createFile(atPath: path + "/done", contents: nil)
                try #require(exitStatus(of: child) == 0)
            }
        }
    }

    private static func makeStore(_ path: String) throws {
        let environment = try openWriter(path)
        try environment.write { try $0.append(environment.database("log"), 1, [7]) }
        environment.close()
    }

    /// In place, as damage is: a file with that name and other bytes would be another file.
    private static func change(_ path: String, _ damage: Damage) throws {
        let file = lockFile(of: path)
        var bytes = try Data(contentsOf: URL(filePath: file))
        damage.apply(to: &bytes)
        let handle = try FileHandle(forWritingTo: URL(filePath: file))
        try handle.write(contentsOf: bytes)
        try handle.truncate(atOffset: UInt64(bytes.count))
        try handle.close()
    }
}
