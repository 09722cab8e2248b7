import Foundation
import Testing
import TestSupport
@_spi(Replication) import TraylogDomain
@testable import TraylogLMDB
@_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogCodec
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

    /// Numbers that somebody may write into the store's record.
    private static let numbers: [UInt64] = [5, 1 << 31, .max >> 1, .max]

    @Test(arguments: numbers)
    func noNumberInTheStoresRecordEndsTheProcess(number: UInt64) throws {
        let fields: [(inout StoreRecord) -> Void] = [
            { $0.erased = number }, { $0.dropped = number }, { $0.floor.seq = Seq(number) },
            { $0.floorStreams = StreamID(rawValue: UInt32(truncatingIfNeeded: number)) },
            { $0.landmarkDistance = number }, { $0.place = number },
            { record in
                record.history = StoreHistory([StoreHistory.Fork(id: 7, after: Seq(number))]) ?? record.history
            },
            { $0.states.through = number }, { $0.states.topics = number },
            { $0.states.nextStream = StreamID(rawValue: UInt32(truncatingIfNeeded: number)) },
        ]
        try withTemporaryDirectory { directory in
            _ = try SeedStore(directory: directory + "/store", seed: 4, steps: sized(60, nightly: 150))
            let data = try Data(contentsOf: URL(filePath: StoreFiles.data(of: directory + "/store")))
            for (field, change) in fields.enumerated() {
                let path = "\(directory)/\(field)"
                try StoreFiles.make(path, of: data)
                try self.change(path) { environment in
                    let tables = Tables(environment)
                    var record = try #require(try environment.read { try StoreRecord.read(tables, in: $0) })
                    change(&record)
                    let forged = record
                    try environment.write { try forged.write(tables, to: &$0) }
                }
                askAll(path)
            }
        }
    }

    /// Each byte of the record is whole only in some numbers; a changed one must not end the process either.
    @Test(arguments: seeds(2, nightly: 100))
    func noBytesInTheStoresRecordEndTheProcess(seed: UInt64) throws {
        try withTemporaryDirectory { directory in
            var random = SeededRandom(seed: seed)
            _ = try SeedStore(directory: directory + "/store", seed: seed, steps: sized(50, nightly: 100))
            let data = try Data(contentsOf: URL(filePath: StoreFiles.data(of: directory + "/store")))
            for round in 0..<sized(10, nightly: 40) {
                let path = "\(directory)/\(round)"
                try StoreFiles.make(path, of: data)
                try change(path) { environment in
                    var row = random.pick(try rows(environment, "meta"))
                    for _ in 0..<random.between(1, 2) {
                        row.value[random.below(row.value.count)] = random.pick([0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff])
                    }
                    try put(environment, "meta", row.key, row.value)
                }
                askAll(path)
            }
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

    private var broadcasts: EventFilter {
        var filter = EventFilter()
        filter.kinds = [.broadcast]
        return filter
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
        for seq in ((try? store.events(matching: broadcasts, limit: 3).elements) ?? []).map(\.seq) {
            _ = try? store.audience(of: seq)
        }
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
