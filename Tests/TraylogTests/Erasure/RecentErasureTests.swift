import Foundation
import TestSupport
import Testing
import TraylogPlatform
@_spi(Operations) @_spi(Replication) @testable import Traylog
@testable import TraylogDomain
@testable import TraylogQueries
@_spi(Operations) @testable import TraylogRewrite

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
            try await store.upkeep.hold("ann")
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

    @Test(arguments: [
        "nonsense\n", "0123456789abcdef\n", "0123456789abcdef x\n", "0123456789abcdeg 1\n", "a 1\n",
        "0123456789abcdef -9223372036854775808\n", "0123456789abcdef 9223372036854775807\n",
    ])
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

    // MARK: While the store is open

    private func file(_ directory: String) -> String? {
        try? String(contentsOfFile: directory + "/erasures", encoding: .utf8)
    }

    /// Lends the erasures of a store that remembers them for a short time.
    private func withErasures(
        milliseconds: Int, _ body: (String, RecentErasures) async throws -> Void
    ) async throws {
        try await withStorePath { path in
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            let pool = WorkPool(directory: path)
            let erasures = try RecentErasures(
                directory: path, hasher: IdentityHasher(key0: 1, key1: 2), memory: .milliseconds(milliseconds))
            erasures.forgetOnTime(pool)
            try await body(path, erasures)
            erasures.close()
            pool.close()
        }
    }

    private func erase(_ user: String, _ erasures: RecentErasures) throws {
        try erasures.begin(user)
        erasures.end(user)
        erasures.keep()
    }

    @Test func anOpenStoreTakesEachNameOutOfTheFileOnTime() async throws {
        try await withErasures(milliseconds: 400) { path, erasures in
            for user in ["ann", "bob"] {
                try erase(user, erasures)
                #expect(file(path)?.split(separator: "\n").count == 1)
                #expect(erasures.last(of: user) != nil)
                let end = SystemClock.monotonicNanoseconds() + 20_000_000_000
                while file(path) != nil, SystemClock.monotonicNanoseconds() < end {
                    try await Task.sleep(for: .milliseconds(20))
                }
                #expect(file(path) == nil && erasures.last(of: user) == nil)
            }
        }
    }

    @Test func aClosedStoreLeavesTheFileToTheNextWriter() async throws {
        try await withErasures(milliseconds: 300) { path, erasures in
            try erase("ann", erasures)
            erasures.close()
            let others = "0123456789abcdef \(Timestamp.now.milliseconds)\n"
            try Data(others.utf8).write(to: URL(filePath: path + "/erasures"))
            try await Task.sleep(for: .milliseconds(900))
            #expect(file(path) == others)
            #expect(throws: TraylogError.self) { try erasures.begin("bob") }
            erasures.end("bob")
            erasures.keep()
            erasures.cancel("ann")
            #expect(file(path) == others)
        }
    }

    @Test func aStoreThatIsHeldAfterItWasClosedTouchesNothingOfTheNextOne() async throws {
        try await withStorePath { path in
            let former = try Store.open(path)
            try await former.notify("ann", title: "A")
            try await former.erase("ann")
            await former.close()
            let next = try Store.open(path)
            try await next.notify("bob", title: "B")
            try await next.erase("bob")
            let lines = file(path)
            #expect(lines?.split(separator: "\n").count == 2)
            await #expect(throws: TraylogError.self) { try await former.erase("cy") }
            former.rewriter.erasures.keep()
            #expect(file(path) == lines)
            #expect(next.lastErasure(of: "bob") != nil)
            await next.close()
        }
    }
}
