import Foundation
import Testing
import Traylog
import TraylogClient
import TraylogClientHTTP

/// A device directory belongs to one account, a user of a server, from the start.
struct AccountTests {
    private func open(_ user: String, at origin: String = "", _ tested: TestedClient) throws -> TrayClient {
        try TrayClient(
            user: user, directory: tested.directory, transport: NamedService(service: tested.service, origin: origin),
            tokens: tested.service, options: TestedClient.quick)
    }

    private func expectForeign(_ user: String, at origin: String = "", _ tested: TestedClient) {
        do {
            _ = try open(user, at: origin, tested)
            Issue.record("\(user) at \(origin) has the directory")
        } catch let failure as DeviceFailure {
            #expect(failure.code == .foreign, "\(failure)")
        } catch {
            Issue.record(error)
        }
    }

    /// Ann writes without a connection.
    private func withEntry(_ body: (TestedClient, String) async throws -> Void) async throws {
        try await withClient(weather: .offline) { tested in
            let entry = try await tested.client.send(to: "bob", Content(title: "ann's"))
            await tested.client.close()
            try await body(tested, entry.id)
        }
    }

    @Test func aDirectoryBelongsToItsAccountBeforeTheFirstConnection() async throws {
        try await withEntry { tested, id in
            expectForeign("zoe", tested)
            expectForeign("ann", at: "https://elsewhere.example", tested)
            let client = try open("ann", tested)
            #expect(await client.outbox.entries.map(\.id) == [id])
            await client.close()
        }
    }

    @Test func aLostReplicaDoesNotLoseTheOwner() async throws {
        try await withClient(before: { _ = try $0.blocking.perform(.notify("ann", title: "n")) }) { tested in
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            await tested.client.close()
            try FileManager.default.removeItem(atPath: tested.directory + "/data/replica")
            expectForeign("zoe", tested)
            expectForeign("ann", at: "https://elsewhere.example", tested)
            let client = try open("ann", tested)
            await client.close()
        }
    }

    @Test func entriesOfADirectoryWithoutARecordBelongToNoAccount() async throws {
        try await withEntry { tested, _ in
            try FileManager.default.removeItem(atPath: tested.directory + "/owner")
            expectForeign("ann", tested)
            expectForeign("zoe", tested)
        }
    }

    /// A version before the record left none, or it is damaged.
    @Test(arguments: [false, true])
    func aReplicaNamesTheAccountWhereTheRecordIsMissing(isDamaged: Bool) async throws {
        try await withClient(before: { _ = try $0.blocking.perform(.notify("ann", title: "n")) }) { tested in
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            try await tested.client.mark(.read, [.seq(1)])
            await tested.client.close()
            let record = URL(fileURLWithPath: tested.directory + "/owner")
            if isDamaged {
                var bytes = try Data(contentsOf: record)
                bytes[12] ^= 1
                try bytes.write(to: record)
            } else {
                try FileManager.default.removeItem(at: record)
            }
            expectForeign("zoe", tested)
            try await tested.restart()
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            try await tested.expectEqual()
            await tested.client.close()
            expectForeign("ann", at: "https://elsewhere.example", tested)
        }
    }

    @Test func afterALogOutTheDirectoryIsFree() async throws {
        try await withClient { tested in
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            try await tested.client.logOut()
            let other = try open("zoe", at: "https://elsewhere.example", tested)
            await other.close()
            expectForeign("ann", tested)
        }
    }

    @Test func anOutboxOfItsOwnBelongsToItsAccount() async throws {
        try await withOutbox { tested in
            let directory = tested.directory + "-owned"
            defer { try? FileManager.default.removeItem(atPath: directory) }
            let ann = DeviceAccount(server: "chat", user: "ann")
            try await Outbox(directory: directory, account: ann, transport: tested.transport).close()
            for other in [DeviceAccount(server: "chat", user: "zoe"), DeviceAccount(server: "other", user: "ann"), nil]
            {
                do {
                    _ = try Outbox(directory: directory, account: other, transport: tested.transport)
                    Issue.record("\(String(describing: other)) has the directory")
                } catch let failure as DeviceFailure {
                    #expect(failure.code == .foreign)
                }
            }
            try await Outbox(directory: directory, account: ann, transport: tested.transport).close()
        }
    }

    @Test(arguments: [
        ("http://Tray.Example.org", "http://tray.example.org"),
        ("HTTP://tray.example.org:80/", "http://tray.example.org"),
        ("https://tray.example.org:443", "https://tray.example.org"),
        ("https://tray.example.org:8443//", "https://tray.example.org:8443"),
        ("http://tray.example.org:443", "http://tray.example.org:443"),
        ("https://tray.example.org/Base/", "https://tray.example.org/Base"),
        ("https://me:secret@tray.example.org?x=1", "https://tray.example.org"),
    ])
    func aServerHasOneOrigin(address: String, origin: String) throws {
        #expect(HTTPTransport(server: try #require(URL(string: address))).origin == origin)
    }
}
