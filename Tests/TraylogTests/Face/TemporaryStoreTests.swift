import Foundation
import Testing

@testable import Traylog

@Suite struct TemporaryStoreTests {
    @Test func itIsGoneWhenItIsClosed() throws {
        let store = try Store.temporary()
        try store.perform(.notify("ann", title: "Hi"))
        #expect(FileManager.default.fileExists(atPath: store.directory))
        store.close()
        store.close()
        #expect(!FileManager.default.fileExists(atPath: store.directory))
    }

    @Test func itIsGoneWhenItIsReleased() throws {
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
