import Foundation
import Testing

@testable import Traylog

@Suite struct TemporaryStoreTests {
    @Test func aClosedTemporaryStoreRemovesItsDirectory() throws {
        let store = try Store.temporary()
        try store.perform(.notify("ann", title: "Hi"))
        #expect(FileManager.default.fileExists(atPath: store.directory))
        store.close()
        store.close()
        #expect(!FileManager.default.fileExists(atPath: store.directory))
    }

    @Test func aReleasedTemporaryStoreRemovesItsDirectory() throws {
        var path = ""
        do {
            let store = try Store.temporary()
            path = store.directory
            #expect(FileManager.default.fileExists(atPath: path))
        }
        Shutdown.finish(path)
        #expect(!FileManager.default.fileExists(atPath: path))
    }
}

/// Temporary stores leave nothing behind.
@Suite struct TemporaryLeftoverTests {
    @Test func aProcessThatExitsLeavesNoTemporaryStoreBehind() async throws {
        try await withStorePath { place in
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
            let output = try await #require(
                processExitsWith: .success,
                observing: [\.standardOutputContent]
            ) {
                let stores = [try Store.temporary(), try Store.temporary()]
                for store in stores { try await store.notify("ann", title: "x") }
                // Released, and nobody waits for the thread that closes it.
                _ = try Store.temporary()
                print("directories: " + stores.map(\.directory).joined(separator: ":"))
                exit(0)
            }
            let text = String(decoding: output.standardOutputContent, as: UTF8.self)
            let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("directories: ") })
            for directory in line.dropFirst("directories: ".count).split(separator: ":") {
                #expect(!FileManager.default.fileExists(atPath: String(directory)))
            }
        }
    }

    @Test func aStoreLentToAClosureIsGoneAfterwardsAlsoWhenItThrows() async throws {
        struct Oops: Error {}
        var directories: [String] = []
        let unread = try await Store.withTemporary { store in
            try await store.notify("ann", title: "x")
            directories.append(store.directory)
            return try await store.tray(of: "ann").unread
        }
        #expect(unread == 1)
        await #expect(throws: Oops.self) {
            try await Store.withTemporary { store in
                directories.append(store.directory)
                throw Oops()
            }
        }
        #expect(directories.count == 2 && !directories.contains { FileManager.default.fileExists(atPath: $0) })
    }
}
