import ArgumentParser
import Foundation
@_spi(Replication) import Traylog
import TraylogClient

/// A device's replica: opening, showing, taking changes, with and without pending marks.
///
/// A disk in memory leaves the syncs out.
struct DeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device", abstract: "Measures a device's replica of a large tray.")

    @Option(help: "Items in the tray.")
    var items = 100_000

    @Option(help: "Changes that the replica takes, one at a time.")
    var changes = 500

    @Option(help: "Where the store and the replica are made and removed; /dev/shm leaves the syncs out.")
    var directory = "/dev/shm"

    func run() async throws {
        let directory = try RunDirectory(under: directory)
        defer { directory.remove() }
        var options = StoreOptions()
        options.durability = .relaxed
        let store = try Store.open(try directory.fresh(), options: options)
        for start in stride(from: 0, to: items, by: 1_000) {
            _ = try await store.perform(
                (start..<min(start + 1_000, items)).map {
                    .notify(
                        "ann", title: "Item \($0)", body: "What it says", thread: "t\($0 % 500)",
                        category: "c\($0 % 20)")
                }, mode: .each)
        }
        let server = LocalServer(store)
        let place = directory.kept("device")
        var client = try open(place, server)
        print(
            "snapshot of \(items) items: \(milliseconds(try await time { await client.start(); try await sync(client) }))"
        )
        await client.close()
        var opened: [Double] = []
        for _ in 0..<5 {
            opened.append(
                try await time {
                    client = try open(place, server); _ = await client.tray
                })
            await client.close()
        }
        print("open, with its first tray: \(milliseconds(opened.sorted()[2])) (median of 5)")
        client = try open(place, server)
        await client.start()
        try await sync(client)
        let shown = client
        print("tray: \(milliseconds(await time { for _ in 0..<1_000 { _ = await shown.tray } } / 1_000))")
        print("page of 20: \(milliseconds(try await time { for _ in 0..<100 { _ = try await shown.inbox() } } / 100))")
        let plain = try await take(store, server, client)
        print("a change: \(milliseconds(plain))")
        for item in 0..<100 { try await client.mark(.read, [.seq(Seq(UInt64(items - item)))]) }
        let behind = try await take(store, server, client)
        print("a change with 100 pending marks: \(milliseconds(behind)), so the marks: \(milliseconds(behind - plain))")
        await client.close()
        await store.close()
    }

    private func open(_ place: String, _ server: LocalServer) throws -> TrayClient {
        var options = TrayClientOptions()
        options.live = false
        return try TrayClient(user: "ann", directory: place, transport: server, tokens: server, options: options)
    }

    private func sync(_ client: TrayClient) async throws {
        guard await client.wait(for: .synced, seconds: 600) else { throw BenchError("the client does not get there") }
    }

    /// Seconds for each of some changes that the server hands out one by one.
    private func take(_ store: Store, _ server: LocalServer, _ client: TrayClient) async throws -> Double {
        for index in 0..<changes { try await store.notify("ann", title: "New \(index)", thread: "t1") }
        let head = try await store.log.head()
        let seconds = await time {
            await client.refresh(.pull)
            while await client.tray.tray.asOf < head { await Task.yield() }
        }
        return seconds / Double(changes)
    }

    private func time(_ body: () async throws -> Void) async rethrows -> Double {
        let watch = Stopwatch()
        try await body()
        return watch.seconds
    }

    private func milliseconds(_ seconds: Double) -> String { String(format: "%.3f ms", seconds * 1_000) }
}

/// The routes that a client needs, over a store in this process.
private final class LocalServer: ServiceTransport, TokenSource {
    private let store: Store
    init(_ store: Store) { self.store = store }

    func token() async throws -> String { "token" }
    func isReachable() async -> Bool { true }

    func upload(
        file path: String, as name: String, progress: @escaping @Sendable (Double) -> Void
    ) async throws(ServiceFailure) -> (response: ServiceResponse, address: String) {
        throw .interrupted("there are no uploads")
    }

    func open(_ request: ServiceRequest) async throws(ServiceFailure) -> ServiceStream {
        throw .interrupted("there are no streams")
    }

    func perform(_ request: ServiceRequest) async throws(ServiceFailure) -> ServiceResponse {
        guard request.method == "GET" else { throw .interrupted("busy") }
        do {
            return try await request.path.contains("/changes") ? changes(request) : snapshot(request)
        } catch {
            throw .interrupted("\(error)")
        }
    }

    private func offset(_ stream: UInt32, _ seq: Seq) async throws -> String {
        let digits = seq.description
        return "\(try await store.storeIdentity())_\(stream)_" + String(repeating: "0", count: 20 - digits.count)
            + digits
    }

    private func changes(_ request: ServiceRequest) async throws -> ServiceResponse {
        let after = Seq(UInt64(request.path.suffix(20)) ?? 0)
        let changes = try await store.changes(of: "ann", after: after, limit: 1)
        var headers = ["content-type": "application/json"]
        headers["stream-next-offset"] = try await offset(changes.stream, changes.through)
        if changes.isComplete { headers["stream-up-to-date"] = "true" }
        return ServiceResponse(
            status: 200, headers: headers,
            body: Array("[\(changes.events.map(\.json).joined(separator: ","))]".utf8))
    }

    private func snapshot(_ request: ServiceRequest) async throws -> ServiceResponse {
        var lines: [UInt8] = []
        var cursor: SnapshotCursor?
        var first = true
        repeat {
            let page = try await store.snapshot(of: "ann", cursor: cursor)
            if first {
                lines += Array(try await head(page).utf8)
                first = false
            }
            for part in page.items {
                lines += Array(part.item.json.utf8).dropLast() + Array(",\"hasContent\":\(part.hasContent)}\n".utf8)
            }
            cursor = page.next
        } while cursor != nil
        return ServiceResponse(
            status: 200, headers: ["content-type": "application/x-ndjson"],
            body: lines + Array("{\"next\":null}\n".utf8))
    }

    private func head(_ page: TraySnapshot) async throws -> String {
        """
        {"store":"\(try await store.storeIdentity())","stream":\(page.stream),"asOf":\(page.asOf),\
        "offset":"\(try await offset(page.stream, page.asOf))","floor":\(page.floor),"tray":\(page.tray.json),\
        "mutedThreads":[],"mutedCategories":[],"mutes":[],"topics":[],"voided":[]}

        """
    }
}
