import Foundation
import TestSupport
import Testing
@_spi(Replication) import Traylog

/// A store remembers recently erased names.
@Suite struct RecentErasureTests {
    @Test func anErasureIsRememberedAfterTheStoreWasOpenedAgain() async throws {
        try await withStorePath { path in
            let before = Timestamp.now
            var store = try Store.open(path)
            try await store.notify("ann", title: "A")
            #expect(store.lastErasure(of: "ann") == nil)
            #expect(!FileManager.default.fileExists(atPath: path + "/erasures"))
            try await store.erase("ann")
            let erasedAt = try #require(store.lastErasure(of: "ann"))
            #expect(erasedAt >= before && erasedAt <= .now)
            #expect(store.lastErasure(of: "bob") == nil)
            try await store.notify("ann", title: "of a newcomer")
            await store.close()
            store = try Store.open(path)
            #expect(store.lastErasure(of: "ann") == erasedAt)
            let text = try String(contentsOfFile: path + "/erasures", encoding: .utf8)
            #expect(!text.contains("ann"))
            await store.close()
        }
    }

    @Test func anErasureThatHadOnlyBegunCountsFromTheNextOpeningOn() async throws {
        try await withStorePath { path in
            var store = try Store.open(path)
            try await store.notify("ann", title: "A")
            try await store.erase("ann")
            await store.close()
            let file = path + "/erasures"
            let line = try String(contentsOfFile: file, encoding: .utf8)
            try Data("\(line.prefix(16)) running\n".utf8).write(to: URL(filePath: file))
            let before = Timestamp.now
            store = try Store.open(path)
            let erasedAt = try #require(store.lastErasure(of: "ann"))
            #expect(erasedAt >= before)
            await store.close()
        }
    }

    @Test func anErasureIsForgottenAfter24Hours() async throws {
        try await withStorePath { path in
            var store = try Store.open(path)
            try await store.notify("ann", title: "A")
            try await store.erase("ann")
            await store.close()
            let file = path + "/erasures"
            let line = try String(contentsOfFile: file, encoding: .utf8)
            let old = Timestamp.now.milliseconds - 24 * 3_600_000 - 1
            try Data("\(line.prefix(16)) \(old)\n".utf8).write(to: URL(filePath: file))
            store = try Store.open(path)
            #expect(store.lastErasure(of: "ann") == nil)
            #expect(!FileManager.default.fileExists(atPath: file))
            await store.close()
        }
    }

    @Test func aRefusedErasureIsNotRemembered() async throws {
        try await withStorePath { path in
            let store = try Store.open(path)
            try await store.notify("ann", title: "A")
            try await store.hold("ann")
            await #expect(throws: TraylogError.refused(.held(user: "ann"))) { try await store.erase("ann") }
            #expect(store.lastErasure(of: "ann") == nil)
            await store.close()
        }
    }

    @Test func anErasureThatFailsInItsLastStepIsNotRemembered() async throws {
        try await withStorePath { path in
            let store = try Store.open(path)
            try await store.notify("ann", title: "A")
            // The last thing before the renaming is to write this file.
            let obstacle = path + "/CURRENT.new"
            try FileManager.default.createDirectory(atPath: obstacle, withIntermediateDirectories: true)
            await #expect(throws: TraylogError.self) { try await store.erase("ann") }
            #expect(store.lastErasure(of: "ann") == nil)
            #expect(try await store.tray(of: "ann").total == 1)
            #expect(!FileManager.default.fileExists(atPath: path + "/erasures"))
            try FileManager.default.removeItem(atPath: obstacle)
            try await store.erase("ann")
            #expect(store.lastErasure(of: "ann") != nil)
            await store.close()
        }
    }

    @Test(arguments: ["nonsense\n", "0123456789abcdef\n", "0123456789abcdef x\n", "0123456789abcdeg 1\n", "a 1\n"])
    func aDamagedFileRefusesTheStoreAndSaysWhatToDo(text: String) async throws {
        try await withStorePath { path in
            await (try Store.open(path)).close()
            try Data(text.utf8).write(to: URL(filePath: path + "/erasures"))
            do {
                await (try Store.open(path)).close()
                Issue.record("opened")
            } catch TraylogError.failed(let failure) {
                #expect(failure.code == .damaged && failure.message.contains("remove the file"))
            }
            try FileManager.default.removeItem(atPath: path + "/erasures")
            await (try Store.open(path)).close()
        }
    }

    @Test func aStoreThatFollowsAnotherRemembersItsErasures() async throws {
        try await withStorePath { directory in
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            var options = StoreOptions()
            options.ticking = .manual
            let first = try Store.open(directory + "/1")
            let second = try Store.open(directory + "/2", options: options)
            try await first.notify("ann", title: "A")
            let records = try await first.records(after: .zero)
            try await second.apply(records, expecting: 0)
            try await first.erase("ann")
            try await second.apply(try await first.records(after: 1), expecting: 1)
            #expect(second.lastErasure(of: "ann") != nil)
            await first.close()
            await second.close()
        }
    }
}
