import Foundation
import TestSupport
import Testing
import TraylogPlatform

@testable import TraylogLMDB

/// A store whose newest row is this one goes on, and everything is sound then.
func expectSound(_ path: String, _ rows: UInt64) throws {
    let environment = try openWriter(path, accounts: true)
    defer { environment.close() }
    #expect(try environment.rows() == rows)
    #expect(try environment.checkPages().isEmpty)
    for _ in 0..<3 {
        let added = try environment.addRow()
        #expect(try environment.rows() == added)
        #expect(try environment.checkPages().isEmpty)
    }
}

/// The files of a store while it was open.
struct LeftFiles {
    let path: String
    /// The data file after the first commit, which the journal begins after.
    let first: Data
    let data: Data
    let journal: JournalBytes
    let base: UInt64
    let newest: UInt64

    /// Makes a store, and closes it.
    init(_ path: String) throws {
        self.path = path
        let environment = try openWriter(path, accounts: true)
        base = try environment.addRow()
        first = try Data(contentsOf: URL(filePath: dataFile(of: path)))
        for _ in 0..<20 { try environment.addRow() }
        newest = try environment.rows()
        data = try Data(contentsOf: URL(filePath: dataFile(of: path)))
        journal = JournalBytes(try Data(contentsOf: URL(filePath: journalFile(of: path))))
        environment.close()
        try #require(journal.commits == Array(base + 1...newest))
    }

    /// The data file before the newest commit was known to be on disk.
    func markedPending() -> Data {
        var data = data
        data.put(~newest, at: headerPage(newest) + 152)
        return data
    }

    /// The pages that are free after the newest commit.
    func freePages() throws -> Set<Int> {
        try put(data)
        let file = try FileDescriptor(opening: dataFile(of: path), .reading)
        defer { file.close() }
        let pages = try PageMap(file, path: path, byteCount: data.count, pageSize: 4_096, tableNames: [])
        let snapshot = Snapshot(pages)
        try #require(try snapshot.load(newest) != .gone)
        let free = snapshot.freePages()
        return Set((2..<data.count / 4_096).filter { free.contains(UInt64($0)) })
    }

    func put(_ data: Data, _ journal: Data? = nil) throws {
        try JournalBytes.put(data, journal ?? self.journal.bytes, in: path)
    }
}

/// A journal, taken apart by `Docs/internals/format.md`.
struct JournalBytes {
    let bytes: Data
    private(set) var commits: [UInt64] = []
    private(set) var pages: [Int] = []
    /// Where each entry begins, and where the last one ends.
    private var places: [Int] = [4_096]

    init(_ bytes: Data) {
        self.bytes = bytes
        var all: Set<Int> = []
        var next = bytes.count > 4_096 ? bytes.number(24) + 1 : 0
        while end + 4_096 <= bytes.count, bytes.number(end + 24) == next {
            commits.append(next)
            for index in 0..<Int(bytes.number(end + 32) & 0xFFFF_FFFF) {
                all.insert(Int(bytes.number(end + 176 + 16 * index)))
            }
            places.append(end + (Int(bytes.number(end) >> 32) + 4_095) / 4_096 * 4_096)
            next += 1
        }
        pages = all.sorted()
    }

    var end: Int { places[places.count - 1] }
    var lastPlace: Int { places[places.count - 2] }

    /// So many entries, and any piece of the next one.
    func prefix(_ count: Int, torn random: inout SeededRandom) -> Data {
        guard count < commits.count else { return bytes }
        var rest = bytes
        let place = places[count]
        rest.replaceSubrange(place..<rest.count, with: Data(count: rest.count - place))
        let piece = Int.random(in: 0..<8, using: &random) * 512
        // Not the first one, without which it is none, and not all.
        if piece > 0 { rest.replaceSubrange(place + piece..<place + 4_096, with: bytes[place + piece..<place + 4_096]) }
        return rest
    }

    static func put(_ data: Data, _ journal: Data, in store: String) throws {
        try FileManager.default.createDirectory(atPath: store + "/data-1", withIntermediateDirectories: true)
        try Data("data-1\n".utf8).write(to: URL(filePath: store + "/CURRENT"))
        try data.write(to: URL(filePath: dataFile(of: store)))
        try journal.write(to: URL(filePath: journalFile(of: store)))
    }
}

/// Where the header's page of a commit begins.
func headerPage(_ commit: UInt64) -> Int { Int(commit & 1) * 4_096 }

extension Environment {
    /// Commits a row of 9,000 bytes under its own number.
    @discardableResult
    func addRow() throws -> UInt64 {
        try write { transaction in
            try transaction.append(database("log"), transaction.id, Array(repeating: 5, count: 9_000))
            try transaction.put(database("index"), Array("newest".utf8), Array("\(transaction.id)".utf8))
            return transaction.id
        }
    }

    /// The commit of the newest row, which has to be the last one that wrote.
    func rows() throws -> UInt64 {
        let last = try #require(try keys("log").last)
        let number = last.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        #expect(try value("index", Array("newest".utf8)) == Array("\(number)".utf8))
        #expect(try value("log", number) == Array(repeating: 5, count: 9_000))
        return number
    }

    func everything() throws -> [[UInt8]] {
        try databaseNames.flatMap { name in try keys(name).flatMap { [$0, try value(name, $0) ?? []] } }
    }
}

extension Data {
    mutating func put(_ number: UInt64, at offset: Int) {
        for index in 0..<8 {
            self[startIndex + offset + index] = UInt8(truncatingIfNeeded: number >> UInt64(8 * index))
        }
    }

    /// The pages in a commit's seal; none if there is no such seal.
    func sealed(_ commit: UInt64) -> [Int] {
        let place = headerPage(commit) + 512
        guard number(place + 8) == commit else { return [] }
        return (0..<Int(number(place) >> 32)).map { Int(number(place + 16 + 4 * $0) & 0xFFFF_FFFF) }
    }

    /// A page of the header that is of a later commit shows that it may not be on disk.
    func markedPending(above commit: UInt64) -> Data {
        var data = self
        for page in [0, 4_096] where data.number(page + 144) > commit {
            data.put(~data.number(page + 144), at: page + 152)
        }
        return data
    }
}

extension FileHandle {
    func write(_ number: UInt64, at offset: Int) throws {
        try seek(toOffset: UInt64(offset))
        try write(contentsOf: (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64(8 * $0)) })
    }
}
