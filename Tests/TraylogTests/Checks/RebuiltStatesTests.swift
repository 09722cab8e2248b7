import Foundation
import Synchronization
import Testing
import TestSupport
@testable import TraylogLMDB
import TraylogLog
@_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogDomain
@testable import TraylogStates

/// Names, states and due times follow from the log, so damage in them is no reason to refuse a store.
@Suite struct RebuiltStatesTests {
    /// Keeps what a store tells its observer.
    private final class Notes: StoreObserver {
        private let (activities, continuation) = AsyncStream.makeStream(of: StoreActivity.self)
        private let causes = Mutex<[TraylogError]>([])

        /// What came before each rebuild so far.
        var rebuilt: [TraylogError] { causes.withLock(\.self) }

        func observe(_ activity: StoreActivity) {
            if case .rebuilt(let cause) = activity { causes.withLock { $0.append(cause) } }
            continuation.yield(activity)
        }

        /// Waits for a rebuild, or for one that failed.
        func rebuild() async -> Result<TraylogError, TraylogError>? {
            for await activity in activities {
                switch activity {
                case .rebuilt(let cause): return .success(cause)
                case .failed(.rebuild, let error): return .failure(error)
                default: break
                }
            }
            return nil
        }
    }

    /// A place of the derived tables that an opening or the next write comes to.
    enum Place: String {
        case progress, noProgress, due, namesPage, statesPage, duePage
    }

    private static let users = 400

    private func fill(_ path: String) throws {
        try withStore(path) { store in
            for number in 0..<Self.users {
                let user = "user\(number)"
                var content = Content(title: "Title \(number)")
                content.expiresAt = Timestamp(milliseconds: 4_000_000_000_000 + Int64(number))
                try store.perform(Command(user: user, .notify(content), key: "k\(number)"))
            }
            for number in 0..<20 { try store.perform(notify("ann", "Item \(number)")) }
            try store.perform(Command(user: "ann", .seeTray()))
        }
    }

    private func damage(_ place: Place, _ path: String) throws {
        func page(_ table: String) throws {
            let environment = try Environment.open(directory: path, access: .readOnly, databases: Tables.allNames)
            let reading = try environment.beginRead()
            let root = try reading.handle.snapshot.record(environment.database(table)).root
            environment.endRead(reading)
            environment.close()
            let file = try FileHandle(forUpdating: URL(filePath: StoreFiles.data(of: path)))
            try file.seek(toOffset: root * UInt64(getpagesize()) + 8)
            try file.write(contentsOf: Data(repeating: 0xff, count: 32))
            try file.close()
        }
        switch place {
        case .progress:
            try RawStore.change(path) { try $0.change($0.tables.log.meta, Array("states".utf8)) { $0[0] ^= 1 } }
        case .noProgress: try RawStore.change(path) { try $0.delete($0.tables.log.meta, Array("states".utf8)) }
        case .due:
            try RawStore.change(path) { raw in
                let dues = raw.tables.derived.dues.database
                let row = try #require(try raw.rows(dues).first)
                try raw.change(dues, Array(row.dropLast(Checked.checksumBytes))) { $0[0] ^= 1 }
            }
        case .namesPage: try page("names")
        case .statesPage: try page("states")
        case .duePage: try page("due")
        }
    }

    private func expectAllThere(_ store: Store) throws {
        #expect(try store.tray(of: "ann").total == 20 && store.tray(of: "ann").unseen == 0)
        for number in stride(from: 0, to: Self.users, by: 7) {
            #expect(try store.tray(of: "user\(number)").unread == 1)
        }
        // The data that identifies a command was derived again, too.
        var again = Content(title: "Title 3")
        again.expiresAt = Timestamp(milliseconds: 4_000_000_000_003)
        #expect(try store.perform(Command(user: "user3", .notify(again), key: "k3")) == .duplicate(4))
    }

    /// Where the opening comes to the damage.
    @Test(arguments: [Place.progress, .noProgress, .due, .duePage])
    func aDamagedDerivedTableNeverKeepsAStoreFromOpening(place: Place) throws {
        try withStorePath { path in
            try fill(path)
            try damage(place, path)
            let notes = Notes()
            var settings = options()
            settings.observer = notes
            try withStore(path, settings) { store in
                #expect(notes.rebuilt.count == 1, "\(place)")
                guard case .failed(let failure)? = notes.rebuilt.first else { return }
                #expect(failure.code == .damaged && failure.message.contains("The log has all"), "\(failure.message)")
                try expectAllThere(store)
                #expect(try store.perform(notify("ann", "new")) == .appended(Seq(UInt64(Self.users) + 22)))
            }
            #expect(try replay(path).identical)
            #expect(try findings(path).isEmpty)
        }
    }

    /// After a power cut nobody has looked at all pages when the store opens.
    @Test(arguments: [Place.namesPage, .statesPage, .duePage])
    func aStoreThatMeetsDamageWhileItIsOpenDerivesItsStatesAgain(place: Place) async throws {
        try await withStorePath { path in
            try fill(path)
            try withoutNote(path)
            try damage(place, path)
            let notes = Notes()
            var settings = options()
            settings.observer = notes
            let store = try Store.open(path, options: settings)
            // The first commit takes account of all pages, and may be refused until they are derived again.
            do {
                try await store.perform(notify("user5", "Later"))
            } catch {
                let cause = try #require(await notes.rebuild()).get()
                #expect("\(cause)".contains("\"\(place.rawValue.dropLast(4))\""), "\(cause)")
                try await store.perform(notify("user5", "Later"))
            }
            #expect(notes.rebuilt.count == 1)
            #expect(try await store.tray(of: "user5").total == 2)
            #expect(try await store.tray(of: "ann").total == 20)
            await store.close()
            #expect(try replay(path).identical)
            #expect(try findings(path).isEmpty)
        }
    }

    @Test func anOpenStoreIsRebuiltWhileItIsWritten() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        try await withStorePath { path in
            try fill(path)
            let store = try Store.open(path, options: options())
            let digest = try await store.project(Count.self)
            let writing = Task {
                var random = SeededRandom(seed: seed)
                var events = 0
                while !Task.isCancelled {
                    let user = "user\(random.below(Self.users + 50))"
                    try await store.perform(notify(user, "While it is rebuilt"))
                    events += 1
                }
                return events
            }
            let first = try await store.log.head()
            while try await store.log.head() == first { await Task.yield() }
            for _ in 0..<3 {
                let before = try await store.log.head()
                let report = try await store.rebuild()
                #expect(report.identical && report.events >= before.rawValue, "seed \(seed)")
            }
            writing.cancel()
            let result = await writing.result
            if case .failure(let error) = result { #expect("\(error)".contains("cancelled"), "seed \(seed): \(error)") }
            let counted = try await digest.value().events
            #expect(try await store.log.head() == Seq(counted), "seed \(seed)")
            await store.close()
            #expect(try replay(path).identical, "seed \(seed)")
            #expect(try findings(path).isEmpty, "seed \(seed)")
        }
    }

    @Test func aLogThatCannotBeReadIsNamedAndNothingIsReplaced() throws {
        try withStorePath { path in
            try fill(path)
            try RawStore.change(path) { raw in
                try raw.change(raw.log, RawStore.key(7)) { $0[20] ^= 4 }
                try raw.delete(raw.tables.log.meta, Array("states".utf8))
            }
            let file = StoreFiles.data(of: path)
            let bytes = try Data(contentsOf: URL(filePath: file))
            let failed = try #require(try failure { try withStore(path) { _ in } })
            #expect(StoreFiles.data(of: path) == file)
            // But for the header, where a writer says that it was here.
            let after = try Data(contentsOf: URL(filePath: file))
            let pages = 2 * Int(getpagesize())
            #expect(after.dropFirst(pages).prefix(bytes.count - pages) == bytes.dropFirst(pages))
            #expect(failed.code == .damaged && failed.message.contains("event 7 "), "\(failed.message)")
        }
    }

    private func withoutNote(_ path: String) throws {
        let file = try FileHandle(forUpdating: URL(filePath: StoreFiles.data(of: path)))
        for header in 0..<UInt64(2) {
            try file.seek(toOffset: header * UInt64(getpagesize()) + 176)
            try file.write(contentsOf: Data(count: 16))
        }
        try file.close()
    }

    private struct Count: Projection {
        static let name = "count"
        static let version: UInt32 = 1
        var events: UInt64 = 0

        init() {}

        init(decoding bytes: [UInt8]) throws { events = try #require(UInt64(String(decoding: bytes, as: UTF8.self))) }

        func encoded() -> [UInt8] { Array("\(events)".utf8) }
        mutating func apply(_ event: Event) { events += 1 }
    }
}
