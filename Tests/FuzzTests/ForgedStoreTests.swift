import Foundation
import Testing
import TestSupport
import TraylogDomain
import TraylogLMDB
@_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogLog
@testable import TraylogPages
@_spi(Operations) @testable import TraylogRewrite
@testable import TraylogStates

/// Rows of a store that somebody forged, with checksums that are right: every call ends, with an answer or an error.
@Suite struct ForgedStoreTests {
    @Test(arguments: seeds(1, nightly: 400))
    func aForgedStoreNeverEndsTheProcess(seed: UInt64) throws {
        try withTemporaryDirectory { directory in
            var random = SeededRandom(seed: seed)
            _ = try SeedStore(directory: directory + "/store", seed: seed, steps: sized(75, nightly: 150))
            for round in 0..<6 {
                let path = "\(directory)/\(round)"
                let data = try Data(contentsOf: URL(filePath: StoreFiles.data(of: directory + "/store")))
                try StoreFiles.make(path, of: data)
                for _ in 0..<random.between(1, 3) { try forge(path, &random) }
                askAll(path)
            }
        }
    }

    /// Numbers at their ends, where one more would be too many.
    private static let lastRows: [(String, [UInt8])] = [
        ("log", [UInt8](repeating: 0xff, count: 8)), ("log", [0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]),
        ("states", [0, 0, 0, 1, 1] + [UInt8](repeating: 0xff, count: 8)), ("names", Array("uzoe".utf8)),
        ("due", [UInt8](repeating: 0, count: 16) + [1, 0xff, 0xff, 0xff, 0xff]), ("projections", [0]),
    ]

    @Test(arguments: lastRows)
    func aRowAtTheEndOfAllNumbersNeverEndsTheProcess(table: String, key: [UInt8]) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/store"
            _ = try SeedStore(directory: path, seed: 3, steps: sized(60, nightly: 120))
            try change(path) { environment in
                let values = try rows(environment, table).map(\.value)
                let value = values.last ?? [0xff, 0xff, 0xff, 0x7f]
                try put(environment, table, key, value)
            }
            askAll(path)
        }
    }

    private func forge(_ path: String, _ random: inout SeededRandom) throws {
        try change(path) { environment in
            let table = random.pick(["log", "meta", "states", "states", "states", "names", "due"])
            let rows = try rows(environment, table)
            guard !rows.isEmpty else { return }
            let row = random.pick(rows)
            var mutator = Mutator(seed: random.next(), others: rows.map(\.value))
            let isKeptInPlace = random.chance(70)
            let value = isKeptInPlace ? mutator.changed(row.value, .itemPage) : random.pick(rows).value
            try put(environment, table, row.key, value)
        }
    }

    private func askAll(_ path: String) {
        if let reader = try? StoreReader.open(path) {
            ask(reader)
            reader.close()
        }
        _ = try? Verification.run(directory: path) { _, _ in }
        _ = try? Replay.run(directory: path) { _, _ in }
        var options = StoreOptions()
        options.ticking = .manual
        if let store = try? Store.open(path, options: options) {
            ask(store)
            for user in ["user1", "user2", "zoe"] {
                for _ in 0..<3 { _ = try? store.perform(Command(user: user, .notify(Content(title: "T")), key: "k1")) }
                _ = try? store.perform(Command(user: user, .markAll(.read)))
                _ = try? store.perform(Command(user: user, .undo(event: 40)))
            }
            _ = try? store.tick(now: Timestamp(milliseconds: 9_000_000_000_000))
            ask(store)
            store.close()
        }
        _ = try? Rebuild.run(directory: path) { _, _ in }
    }

    private func ask(_ store: some BlockingQueries) {
        for user in ((try? store.users(limit: .max).elements) ?? []) + ["zoe"] {
            _ = try? store.tray(of: user)
            _ = try? store.inbox(of: user, InboxQuery(ItemFilter(includeSilent: true), limit: 100))
            _ = try? store.threads(of: user)
            _ = try? store.tray(of: user, asOf: .seq(70))
            _ = try? store.history(of: user, limit: .max).elements
        }
        _ = try? store.events(from: 1, limit: .max).elements
        _ = try? store.statistics()
    }

    private func change(_ path: String, _ body: (Environment) throws -> Void) throws {
        let environment = try Environment.open(directory: path, access: .readWrite, databases: Tables.allNames)
        defer { environment.close() }
        try body(environment)
    }

    /// Keys, and values without their checksums.
    private func rows(_ environment: Environment, _ table: String) throws -> [(key: [UInt8], value: [UInt8])] {
        try environment.read { transaction in
            try transaction.withCursor(environment.database(table)) { cursor in
                var rows: [(key: [UInt8], value: [UInt8])] = []
                while try cursor.next() {
                    cursor.withEntry { key, value in
                        var row: (key: [UInt8], value: [UInt8]) = ([], [])
                        row.key.append(copying: key)
                        row.value.append(copying: value)
                        let isChecked = table != "log" && !table.hasPrefix("names")
                        if isChecked { row.value.removeLast(min(Checked.checksumBytes, row.value.count)) }
                        rows.append(row)
                    }
                }
                return rows
            }
        }
    }

    /// Stores the row with the checksum that it needs.
    private func put(_ environment: Environment, _ table: String, _ key: [UInt8], _ value: [UInt8]) throws {
        var value = value
        if table == "log", value.count > 4 {
            let seq = key.reduce(0) { $0 << 8 | UInt64($1) }
            let crc = RecordCodec.checksum(seq: seq, record: RawSpan(_elements: value.span))
            for index in 0..<4 { value[index] = UInt8(truncatingIfNeeded: crc >> UInt32(8 * index)) }
        } else if table != "log", !table.hasPrefix("names") {
            Checked.seal(&value, key: RawSpan(_elements: key.span))
        }
        try environment.write { transaction in
            try transaction.put(
                environment.database(table), RawSpan(_elements: key.span), RawSpan(_elements: value.span))
        }
    }
}
