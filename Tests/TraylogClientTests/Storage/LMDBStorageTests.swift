import Foundation
import Testing
import TraylogPlatform

@testable import TraylogClient

/// The storage of a device in LMDB.
@Suite struct LMDBStorageTests {
    /// A task that goes on after the app closed its client may still find damage.
    @Test(arguments: [true, false])
    func aStorageThatWasClosedBeginsNoReplica(isDestroyed: Bool) throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("storage-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let first = try LMDBStorage(directory: directory)
        if isDestroyed { try first.destroy() } else { first.close() }
        let failures = [
            #expect(throws: DeviceFailure.self) { try first.discardReplica() },
            #expect(throws: DeviceFailure.self) { _ = try first.value(1, in: .state) },
            #expect(throws: DeviceFailure.self) { try first.write([.put(.state, key: 1, value: [1])]) },
        ]
        #expect(failures.map { $0?.code } == [.closed, .closed, .closed])
        #expect(Files.exists(directory) != isDestroyed)
        let second = try LMDBStorage(directory: directory)
        #expect(throws: DeviceFailure.self) { try first.discardReplica() }
        try second.write([.put(.state, key: 1, value: [2])])
        #expect(try second.value(1, in: .state) == [2])
        second.close()
    }
}
