import Foundation
import Testing
import Traylog
import TraylogDomain

/// The Swift blocks of the documents, compiled and run; DocumentationTests compares the texts.
struct ReadmeExamples {
    @Test func embedding() async throws {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("traylog-example-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        let path = directory.path

        // example: embedding
        let store = try Store.open(path)
        let receipt = try await store.perform(.notify("ann", title: "Hi"))
        let tray = try await store.tray(of: "ann")
        print("\(tray.unread) unread, all seen: \(tray.isSeen)")  // 1 unread, all seen: false
        await store.close()
        // end

        #expect(receipt == .appended(1))
        #expect(tray.unread == 1)
        #expect(!tray.isSeen)
    }
}
