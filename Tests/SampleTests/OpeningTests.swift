import Foundation
import Testing
@_spi(Operations) import Traylog
import TraylogFoundation

/// A task can open, ask and close a store without blocking a thread of the pool.
@Suite struct OpeningTests {
    private struct Count: Projection {
        static let name = "count"
        static let version: UInt32 = 1
        var events = 0

        init() {}
        init(decoding bytes: [UInt8]) throws { events = bytes.first.map(Int.init) ?? 0 }
        func encoded() -> [UInt8] { [UInt8(clamping: events)] }
        mutating func apply(_ event: Event) { events += 1 }
    }

    private func withDirectory(_ body: (URL) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("traylog-\(UUID())")
        defer { try? FileManager.default.removeItem(at: directory) }
        try await body(directory)
    }

    @Test func aStoreSaysWhereItIsAndWhetherItIsClosed() async throws {
        try await withDirectory { directory in
            let store = try await Store.opened(directory)
            #expect(URL(filePath: store.path).lastPathComponent == directory.lastPathComponent)
            #expect(store.path.hasPrefix("/") && !store.isClosed)
            try await store.notify("ann", title: "1")
            await store.close()
            #expect(store.isClosed)
            let reader = try await StoreReader.opened(directory.path)
            #expect(reader.path == store.path && !reader.isClosed)
            #expect(try await reader.tray(of: "ann").total == 1)
            await reader.close()
            await reader.close()
            #expect(reader.isClosed)
            do throws(TraylogError) {
                _ = try await reader.tray(of: "ann")
                Issue.record("a closed reader answered")
            } catch { #expect(error.failure?.code == .closed) }
        }
    }

    @Test func openingWithoutBlockingFailsAsOpeningDoes() async throws {
        for path in ["", "/nowhere/at/all/store"] {
            await #expect(throws: TraylogError.self) { try await Store.opened(path) }
            await #expect(throws: TraylogError.self) { try await StoreReader.opened(path) }
        }
        let remote = try #require(URL(string: "https://example.com/store"))
        await #expect(throws: TraylogError.self) { try await Store.opened(remote) }
    }

    @Test func aProjectionIsAskedForWithoutBlocking() async throws {
        try await Store.withTemporary { store in
            try await store.notify("ann", title: "1")
            var count = try await store.projected(Count.self)
            #expect(count.value.events == 1 && count.position == 1)
            try await store.notify("ann", title: "2")
            count = try await store.advanced(count)
            #expect(count.value.events == 2 && count.position == 2)
            let running = try await store.project(Count.self)
            #expect(try await running.value().events == 2)
            await running.stop()
            #expect(try await store.storedProjections().map(\.name) == ["count"])
            #expect(try await store.upkeep.forgetProjection(named: "count"))
            #expect(try await store.storedProjections().isEmpty)
        }
    }
}
