import Foundation
import Testing
import Traylog
import TraylogClient

/// Bytes on the device's disk that are not those that were written.
struct DamagedDeviceTests {
    enum Damage: CaseIterable {
        case pages, everything, shortened, oneBytePerPage, header
    }

    private func fill(_ store: Store) throws {
        for index in 0..<300 {
            _ = try store.blocking.perform(
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
        case .header: for index in 0..<8_192 { bytes[index] = 0xa5 }
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
                try await tested.service.store.inbox(of: "ann", InboxQuery(view: .archived)).elements.map(\.seq) == [
                    295
                ])
        }
    }

    /// Where a damaged outbox is kept.
    private func kept(_ directory: String) -> String { "\(directory)/data/outbox.damaged-1" }

    @Test(arguments: Damage.allCases)
    func aDamagedOutboxListsReadableEntriesAndKeepsTheFile(damage: Damage) async throws {
        try await withClient(before: fill) { tested in
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            tested.service.weather = .offline
            let mark = try await tested.client.mark(.archived, [.seq(297)])
            let message = try await tested.client.send(
                to: "bob", Content(title: "Hi", body: String(repeating: "long ", count: 2_000)))
            await tested.client.close()
            for path in try files("outbox", of: tested.directory) { try harm(path, damage) }
            tested.service.weather = .fine
            try await tested.restart()
            let told = await tested.client.outbox.damage
            #expect(told.count == 1 && told[0].contains(kept(tested.directory)), "\(told)")
            #expect(FileManager.default.fileExists(atPath: kept(tested.directory)))
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            try await tested.expectEqual()
            let entries = await tested.client.outbox.entries
            #expect(
                entries.allSatisfy { $0.state == .failed && $0.problem?.code == "damaged" }, "nothing goes by itself")
            if damage == .header { #expect(entries.map(\.id) == [mark.id, message.id]) }
            for entry in entries { try await tested.client.outbox.resend(entry.id) }
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            try await tested.expectEqual()
            let sent = try await tested.service.store.inbox(of: "bob").elements
            #expect(sent.map(\.key) == (entries.contains { $0.id == message.id } ? [message.id] : []))
            // It is reported until somebody removes the file.
            try await tested.restart()
            #expect(await tested.client.outbox.damage == told)
            try FileManager.default.removeItem(atPath: kept(tested.directory))
            try await tested.restart()
            #expect(await tested.client.outbox.damage.isEmpty)
        }
    }

    @Test func aKillWhileADamagedOutboxIsReplacedLosesNothing() async throws {
        try await withOutbox { tested in
            await tested.outbox.setOffline(true)
            let id = try await tested.enqueue("T1")
            await tested.outbox.close()
            // The damaged file has its new name; the rebuilt one does not have its name yet.
            try FileManager.default.moveItem(
                atPath: "\(tested.directory)/data/outbox", toPath: "\(tested.directory)/data/outbox.new")
            try FileManager.default.createDirectory(
                atPath: kept(tested.directory), withIntermediateDirectories: false)
            try await tested.restart(isStarted: false)
            #expect(await tested.outbox.entries.map(\.id) == [id])
            #expect(await tested.outbox.damage.count == 1)
        }
    }
}
