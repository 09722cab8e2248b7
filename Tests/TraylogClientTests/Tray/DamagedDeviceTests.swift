import Foundation
import Testing
import Traylog
import TraylogClient

/// Bytes on the device's disk that are not those that were written.
struct DamagedDeviceTests {
    enum Damage: CaseIterable {
        case pages, everything, shortened, oneBytePerPage
    }

    private func fill(_ store: Store) throws {
        for index in 0..<300 {
            _ = try store.perform(
                .notify(
                    "ann",
                    Content(thread: "t\(index % 9)", title: "n\(index)", body: String(repeating: "x", count: 300))))
        }
    }

    /// The data files of one part of a device's storage.
    private func files(_ part: String, of directory: String) throws -> [String] {
        let folder = "\(directory)/data/\(part)"
        let names = FileManager.default.enumerator(atPath: folder)?.allObjects as? [String] ?? []
        let found = names.filter { $0.hasSuffix("data.mdb") }.map { "\(folder)/\($0)" }
        try #require(!found.isEmpty)
        return found
    }

    private func harm(_ path: String, _ damage: Damage) throws {
        var bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
        switch damage {
        case .pages: for index in 8_192..<bytes.count { bytes[index] = 0xa5 }
        case .everything: for index in bytes.indices { bytes[index] = 0x5a }
        case .shortened: bytes.removeLast(bytes.count - 9_000)
        case .oneBytePerPage: for index in stride(from: 8_192 + 11, to: bytes.count, by: 4_096) { bytes[index] ^= 0x10 }
        }
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    @Test(arguments: Damage.allCases)
    func aDamagedReplicaIsFetchedAnewAndPendingMarksStay(damage: Damage) async throws {
        try await withClient(before: fill) { tested in
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            tested.service.weather = .offline
            try await tested.client.mark(.archived, [.seq(295)])
            await tested.client.close()
            for path in try files("replica", of: tested.directory) { try harm(path, damage) }
            tested.service.weather = .fine
            try await tested.restart()
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            try await tested.expectEqual()
            #expect(
                try await tested.service.store.inbox(of: "ann", InboxQuery(view: .archived)).items.map(\.seq) == [295])
        }
    }

    @Test func aDamagedOutboxIsNamedAndKept() async throws {
        try await withClient(before: fill) { tested in
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            tested.service.weather = .offline
            try await tested.client.mark(.archived, [.seq(7)])
            await tested.client.close()
            let paths = try files("outbox", of: tested.directory)
            for path in paths { try harm(path, .everything) }
            do throws(DeviceFailure) {
                _ = try TrayClient(
                    user: "ann", directory: tested.directory, transport: tested.service, tokens: tested.service)
                Issue.record("a damaged outbox is opened")
            } catch {
                #expect(error.code == .damaged)
                #expect(error.message.contains(tested.directory) && error.message.contains("not sent"), "\(error)")
                #expect(!error.message.contains("traylog "), "\(error)")
            }
            #expect(paths.allSatisfy { FileManager.default.fileExists(atPath: $0) })
        }
    }
}
