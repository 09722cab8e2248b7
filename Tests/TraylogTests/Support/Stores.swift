import Foundation
import Testing
import TestSupport
import TraylogLMDB
import TraylogLog
@_spi(Replication) @_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogDomain
@_spi(Operations) @testable import TraylogRewrite
@testable import TraylogStates
@testable import TraylogTree

/// Lends the path of a store that does not exist yet.
func withStorePath<Result>(_ body: (String) throws -> Result) throws -> Result {
    try withTemporaryDirectory { try body($0 + "/store") }
}

/// The same for a body that waits.
func withStorePath<Result>(_ body: (String) async throws -> Result) async throws -> Result {
    let directory = FileManager.default.temporaryDirectory.appending(path: "traylog-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    return try await body(directory.path + "/store")
}

func options(tailEvents: Int = 200_000, cacheBytes: Int = 128 << 20, isRelaxed: Bool = false) -> StoreOptions {
    var options = StoreOptions()
    options.ticking = .manual
    options.tailEvents = tailEvents
    options.cacheBytes = cacheBytes
    options.durability = isRelaxed ? .relaxed : .durable
    return options
}

func notify(_ user: String, _ title: String = "Hi", key: String? = nil) -> Command {
    Command(user: user, .notify(Content(title: title)), key: key)
}

/// Lends a store for writing, and closes it.
func withStore<Result>(
    _ path: String, _ settings: StoreOptions = options(), _ body: (Store) throws -> Result
) throws -> Result {
    let store = try Store.open(path, options: settings)
    defer { store.close() }
    return try body(store)
}

func withReader<Result>(_ path: String, _ body: (StoreReader) throws -> Result) throws -> Result {
    let reader = try StoreReader.open(path)
    defer { reader.close() }
    return try body(reader)
}

/// The error of a call; nil when it did not fail.
func failure<Result>(_ body: () throws -> Result) throws -> StoreFailure? {
    do throws(any Error) {
        _ = try body()
        return nil
    } catch {
        guard case TraylogError.failed(let failure) = error else { throw error }
        return failure
    }
}

func replay(_ path: String, rebuild: Bool = false) throws -> ReplayReport {
    try rebuild ? Rebuild.run(directory: path) { _, _ in } : Replay.run(directory: path) { _, _ in }
}

func findings(_ path: String) throws -> [String] { try Verification.run(directory: path) { _, _ in }.findings }

/// The tables of a closed store, to be damaged.
struct RawStore {
    let environment: Environment
    let tables: Tables

    static func change(_ path: String, _ body: (RawStore) throws -> Void) throws {
        let environment = try Environment.open(directory: path, access: .readWrite, databases: Tables.allNames)
        defer { environment.close() }
        try body(RawStore(environment: environment, tables: Tables(environment)))
    }

    var record: StoreRecord {
        get throws { try #require(try environment.read { try StoreRecord.read(tables, in: $0) }) }
    }

    var states: Database { tables.derived.states.database }
    var names: Database { tables.derived.names.database }
    var log: Database { environment.database("log") }

    func stream(of user: String) throws -> StreamID {
        let names = tables.derived.names
        return try #require(try environment.read { try names.stream(of: user, in: $0) })
    }

    /// The revision of the newest event of a user, as the log says.
    func revision(of user: String) throws -> UInt32 {
        let stream = try stream(of: user)
        var newest: UInt32 = 0
        try environment.read { transaction in
            _ = try tables.log.events.forEachRecord(from: 1, in: transaction) { seq, record in
                let header = try RecordHeader.read(record, seq: seq)
                if header.stream == stream { newest = header.revision }
                return true
            }
        }
        return newest
    }

    func value(_ table: Database, _ key: [UInt8]) throws -> [UInt8] {
        let value = try environment.read { transaction in
            try transaction.get(table, RawSpan(_elements: key.span)) { value in
                var bytes: [UInt8] = []
                bytes.append(copying: value)
                return bytes
            }
        }
        return try #require(value)
    }

    /// All rows of a table, each as its key and its value.
    func rows(_ table: Database) throws -> [[UInt8]] {
        try environment.read { transaction in
            try transaction.withCursor(table) { cursor in
                var rows: [[UInt8]] = []
                while try cursor.next() {
                    cursor.withEntry { key, value in
                        var row: [UInt8] = []
                        row.append(copying: key)
                        row.append(copying: value)
                        rows.append(row)
                    }
                }
                return rows
            }
        }
    }

    func put(_ table: Database, _ key: [UInt8], _ value: [UInt8]) throws {
        try environment.write { try $0.put(table, RawSpan(_elements: key.span), RawSpan(_elements: value.span)) }
    }

    func delete(_ table: Database, _ key: [UInt8]) throws {
        let wasThere = try environment.write { try $0.delete(table, RawSpan(_elements: key.span)) }
        #expect(wasThere)
    }

    /// Changes the value of a row in place.
    func change(_ table: Database, _ key: [UInt8], _ body: (inout [UInt8]) -> Void) throws {
        var value = try value(table, key)
        body(&value)
        try put(table, key, value)
    }

    /// The same for what its checksum covers; the checksum is made right again.
    func changeSealed(_ table: Database, _ key: [UInt8], _ body: (inout [UInt8]) -> Void) throws {
        try change(table, key) { value in
            value.removeLast(Checked.checksumBytes)
            body(&value)
            Checked.seal(&value, key: RawSpan(_elements: key.span))
        }
    }

    /// Takes events out of the log, and puts the hashes of their leaves into the stored tree, as a compaction does.
    func removeFromLog(_ seqs: [UInt64]) throws {
        var row = RemovedLeaves()
        var rows: [RemovedLeaves] = []
        for seq in seqs {
            let leaf = try #require(try environment.read { try tables.log.events.leaf(seq, in: $0) })
            if !row.append(seq, leaf.hash) {
                rows.append(row)
                row = RemovedLeaves()
                _ = row.append(seq, leaf.hash)
            }
            try delete(log, RawStore.key(seq))
        }
        for row in rows + [row] {
            let (key, value) = try #require(row.sealed())
            try put(tables.log.merkle.database, key, value)
        }
    }

    static func key(_ seq: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: seq >> UInt64(56 - 8 * $0)) }
    }
}
