import Foundation
import Synchronization
import Testing
import TraylogClient
import TraylogClientHTTP

/// The code of the guide for devices.
@Suite struct DeviceExamples {
    /// A bell of an app's own.
    private actor Bell {
        var badge = -1

        func show(_ count: Int) { badge = count }
    }

    private func withDirectory(_ body: (String) async throws -> Void) async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("device-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try await body(path)
    }

    @Test func aBellShowsWhatTheDeviceHasWithoutAServer() async throws {
        try await withDirectory { directory in
            let (path, bell) = (directory + "/ann", Bell())
            let file = URL(fileURLWithPath: directory + "/token")
            try Data("token".utf8).write(to: file)
            // Nobody listens there: what is shown comes from the device.
            let url = try #require(URL(string: "http://127.0.0.1:9"))
            let showing = Task {
                // example: a bell
                let client = try TrayClient(
                    user: "ann", directory: path, transport: HTTPTransport(server: url), tokens: TokenFile(file))
                await client.start()
                for await view in await client.trays { await bell.show(view.tray.unread) }
                // end
                await client.close()
            }
            while await bell.badge < 0 { try await Task.sleep(for: .milliseconds(5)) }
            #expect(await bell.badge == 0)
            showing.cancel()
            try await showing.value
            try await expectList(path, url, file)
        }
    }

    private func expectList(_ path: String, _ url: URL, _ file: URL) async throws {
        let client = try TrayClient(
            user: "ann", directory: path, transport: HTTPTransport(server: url), tokens: TokenFile(file))
        // example: a list
        let list = try client.fetcher(query: InboxQuery(ItemFilter(thread: "ci")))
        try await list.fetchNew()
        for item in list.items where !item.isRead { try await list.mark(.read, item) }
        // end
        #expect(list.items.isEmpty)
        await client.close()
    }

    @Test func aDirectoryThatWasNeverConnectedDoesNotFollowAServer() async throws {
        try await withDirectory { directory in
            let file = URL(fileURLWithPath: directory + "/token")
            func client(at address: String, _ options: TrayClientOptions = TrayClientOptions()) throws -> TrayClient {
                let url = try #require(URL(string: address))
                return try TrayClient(
                    user: "ann", directory: directory + "/ann", transport: HTTPTransport(server: url),
                    tokens: TokenFile(file), options: options)
            }
            await (try client(at: "https://tray.example.org")).close()
            // example: a server that moved
            var options = TrayClientOptions()
            options.movedFrom = "https://tray.example.org"
            // end
            let moved = options
            #expect(throws: DeviceFailure.self) { try client(at: "https://bell.example.org", moved) }
            await (try client(at: "https://tray.example.org", moved)).close()
        }
    }

    @Test func aChatSendsPhotosBeforeTheirMessages() async throws {
        try await withDirectory { directory in
            let (path, photo, server) = (directory + "/outbox", directory + "/photo.jpg", ChatServer())
            try Data([0xff, 0xd8]).write(to: URL(fileURLWithPath: photo))
            // example: a chat's outbox
            let outbox = try Outbox(directory: path, transport: Chat(server: server))
            await outbox.start()
            let entry = try await outbox.enqueue(Array("Look at this".utf8), lane: "media", attachment: photo)
            let outcome = await outbox.outcome(of: entry.id)
            // end
            #expect(outcome == .synced(receipt: [1]))
            #expect(server.log.withLock { $0 } == ["put \(entry.id)", "post \(entry.id) with /\(entry.id)"])
            await outbox.close()
        }
    }
}

/// An app's own server.
private final class ChatServer: Sendable {
    let log = Mutex<[String]>([])

    func put(_ path: String, as name: String) async throws(OutboxFailure) -> String {
        log.withLock { $0.append("put \(name)") }
        return "/\(name)"
    }

    func post(_ text: [UInt8], photo: String?, key: String) async throws(OutboxFailure) -> [UInt8] {
        log.withLock { $0.append("post \(key) with \(photo ?? "nothing")") }
        return [1]
    }
}

// example: a chat's transport
private struct Chat: OutboxTransport {
    let server: ChatServer

    func upload(
        _ entry: OutboxEntry, file path: String, progress: @escaping @Sendable (Double) -> Void
    ) async throws(OutboxFailure) -> String {
        try await server.put(path, as: entry.id)
    }

    func send(_ entry: OutboxEntry) async throws(OutboxFailure) -> [UInt8] {
        try await server.post(entry.payload, photo: entry.attachment?.location, key: entry.id)
    }
}
// end
