import Foundation
import Synchronization
import Testing
import TestSupport
import TraylogLMDB
@_spi(Operations) @testable import Traylog
@testable import TraylogChecks
@testable import TraylogDomain
@testable import TraylogStates

/// While a state cannot be stored, events are still appended, and the observer gets the error.
///
/// Once it can be, nothing is missing.
@Suite struct FailedFlushTests {
    private final class Notes: StoreObserver {
        private struct Counts {
            var flushes = 0
            var failures: [BackgroundWork] = []
        }

        private let counts = Mutex(Counts())

        var flushes: Int { counts.withLock(\.flushes) }
        var failures: [BackgroundWork] { counts.withLock(\.failures) }

        func observe(_ activity: StoreActivity) {
            counts.withLock { counts in
                switch activity {
                case .flushed: counts.flushes += 1
                case .failed(let work, _): counts.failures.append(work)
                default: break
                }
            }
        }
    }

    /// A text of an event, wherever it stands in the data file of an open store.
    private struct StoredText {
        let path: String
        let places: [Int]

        init(_ text: String, store: String) throws {
            path = StoreFiles.data(of: store)
            let file = try Data(contentsOf: URL(filePath: path))
            var places: [Int] = []
            var start = file.startIndex
            while let found = file.range(of: Data(text.utf8), in: start..<file.endIndex) {
                places.append(found.lowerBound)
                start = found.upperBound
            }
            try #require(!places.isEmpty)
            self.places = places
        }

        func flip() throws {
            let file = try FileHandle(forUpdating: URL(filePath: path))
            defer { try? file.close() }
            for place in places {
                try file.seek(toOffset: UInt64(place))
                let byte = try #require(try file.read(upToCount: 1)).first
                try file.seek(toOffset: UInt64(place))
                try file.write(contentsOf: [try #require(byte) ^ 1])
            }
        }
    }

    /// A store in which the state of "ann" has to be folded from event 1, which is on a page that no new event changes.
    private func withUnstoredState(_ body: (String) throws -> Void) throws {
        try withStorePath { path in
            try withStore(path) { store throws in
                _ = try store.perform(notify("ann", "the first of all"))
                for index in 0..<300 { _ = try store.perform(notify("bob", "Title \(index)")) }
            }
            try RawStore.change(path) { raw in
                let root = StateTable.key(try raw.stream(of: "ann"), .root, 0)
                try raw.change(raw.states, root) { $0[$0.count / 2] ^= 1 }
            }
            try body(path)
        }
    }

    @Test func nothingIsAppendedWhileTooManyEventsWaitForAStateThatCannotBeStored() throws {
        try withUnstoredState { path in
            try withStore(path, options(tailEvents: 16, cacheBytes: 0)) { store throws in
                _ = try store.perform(notify("ann"))
                let text = try StoredText("the first of all", store: path)
                try text.flip()
                var appended = 0
                var refused: TraylogError?
                while refused == nil, appended < 1_000 {
                    do {
                        _ = try store.perform(notify("new\(appended)"))
                        appended += 1
                    } catch {
                        refused = error as? TraylogError
                    }
                }
                #expect(refused?.failure?.code == .damaged)
                #expect(try #require(refused).description.contains("events wait for states that cannot be stored"))
                // Eight times as many as the tail should have, and the one of before.
                #expect((120...140).contains(appended))
                #expect(try store.tray(of: "new0").total == 1)
                try text.flip()
                // Storing is tried again after a while, and appends with it.
                while (try? store.perform(notify("later"))) == nil { usleep(10_000) }
                #expect(try store.tray(of: "later").total == 1)
                #expect(try store.tray(of: "ann").total == 2)
            }
            #expect(try replay(path).identical)
        }
    }

    @Test func aFailedRoundOfStatesIsRepeated() throws {
        try withUnstoredState { path in
            let notes = Notes()
            var settings = options(tailEvents: 64, cacheBytes: 0)
            settings.observer = notes
            var users: Set<String> = ["ann", "bob"]
            try withStore(path, settings) { store throws in
                // Her events are counted while they can be read.
                _ = try store.perform(notify("ann"))
                let text = try StoredText("the first of all", store: path)
                try text.flip()
                for index in 0..<400 {
                    users.insert("new\(index)")
                    _ = try store.perform(notify("new\(index)"))
                }
                #expect(Set(notes.failures) == [.flush])
                // Not with each of them, for it may take long.
                #expect(notes.failures.count < 100)
                #expect(notes.flushes == 0)
                try text.flip()
                // The store rests a while after a failure.
                var later = 0
                while try store.statistics().unflushed > 100 {
                    // Refused for as long as too many events wait.
                    if (try? store.perform(notify("later\(later)"))) != nil {
                        users.insert("later\(later)")
                        later += 1
                    }
                    usleep(1_000)
                }
                // As a kill would leave it.
                try FileManager.default.copyItem(atPath: path, toPath: path + "-killed")
            }
            for path in [path, path + "-killed"] {
                #expect(try replay(path).identical)
                #expect(try findings(path).isEmpty)
                try withStore(path) { store throws in
                    #expect(Set(try store.users(limit: .max).elements) == users)
                    #expect(try store.tray(of: "ann").total == 2)
                    for user in users where user.hasPrefix("new") { #expect(try store.tray(of: user).total == 1) }
                }
            }
        }
    }
}
