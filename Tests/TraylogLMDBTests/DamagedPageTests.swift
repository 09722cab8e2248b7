import Foundation
import Testing
import TraylogLMDB

/// Damaged pages are found by every reader that would follow them.
@Suite struct DamagedPageTests {
    /// 3,000 rows in "index" with values of all sizes, changed often enough that there are free pages.
    private func withFile(_ body: (String, inout Data) throws -> Void) throws {
        try withPath { path in
            let environment = try openWriter(path)
            let index = environment.database("index")
            for round in 0..<6 {
                try environment.write { transaction in
                    for number in stride(from: round, to: 3_000, by: round + 1) {
                        let size = number % 97 == 0 ? 5_000 : 20 + round
                        try transaction.put(index, Self.key(number), Self.value(number, size))
                    }
                }
            }
            #expect(try environment.checkPages().isEmpty)
            environment.close()
            let file = URL(filePath: dataFile(of: path))
            var bytes = try Data(contentsOf: file)
            try body(path, &bytes)
            try bytes.write(to: file)
        }
    }

    private static func key(_ number: Int) -> [UInt8] { Array("key \(String(number).count) \(number)".utf8) }

    /// Tells which key it belongs to.
    private static func value(_ number: Int, _ size: Int) -> [UInt8] {
        (0..<size).map { UInt8(truncatingIfNeeded: number &* 31 &+ $0) }
    }

    @Test func anUndamagedStoreHasEveryPageInOnePlace() throws {
        try withFile { path, _ in
            let reader = try openReader(path)
            defer { reader.close() }
            #expect(try reader.checkPages().isEmpty)
            #expect(try reader.information().freePages > 0)
        }
    }

    @Test func aFreePageThatIsInUseKeepsWritersOut() throws {
        try withFile { path, bytes in
            // The free list's first record now begins with the number of a page in the tree above it.
            let page = Int(bytes.number(meta(bytes) + 80))
            let node = page * 4096 + Int(bytes.number(page * 4096 + 16) & 0xFFFF)
            let record = node + 8 + 8
            #expect(bytes.number(record) > 0)
            bytes.replaceSubrange(record + 8..<record + 16, with: bytes[meta(bytes) + 128..<meta(bytes) + 136])
            try bytes.write(to: URL(filePath: dataFile(of: path)))
            #expect(try failureCode { try openWriter(path).close() } == .corrupted)
            let reader = try openReader(path)
            defer { reader.close() }
            #expect(try !reader.checkPages().isEmpty)
        }
    }

    @Test func aPageOfATableThatTheListCallsFreeIsNotRead() throws {
        try withFile { path, bytes in
            // A place in the list's first record where the number of a leaf of "index" keeps its order, from high to low.
            let list = Int(bytes.number(meta(bytes) + 80)) * 4096
            let record = list + Int(bytes.number(list + 16) & 0xFFFF) + 16
            let free = (1...Int(bytes.number(record))).map { bytes.number(record + 8 * $0) }
            let leaves = Self.leaves(of: bytes, mainRoot: Int(bytes.number(meta(bytes) + 128)))
            let choice = free.indices.lazy.compactMap { place in
                leaves.first { leaf in
                    (place == 0 || leaf < free[place - 1]) && (place + 1 == free.count || leaf > free[place + 1])
                }.map { (place, $0) }
            }.first
            let (place, leaf) = try #require(choice)
            let number = (0..<8).map { UInt8(truncatingIfNeeded: leaf >> (8 * UInt64($0))) }
            bytes.replaceSubrange(record + 8 * (place + 1)..<record + 8 * (place + 2), with: number)
            try bytes.write(to: URL(filePath: dataFile(of: path)))
            let error = try #require(throws: LMDBError.self) { try readEverything(path) }
            #expect(error.code == .corrupted && error.message.contains("page \(leaf) "), "\(error)")
            #expect(error.message.contains("listed as free"), "\(error)")
        }
    }

    /// The leaves of "index", whose tree has two levels.
    private static func leaves(of bytes: Data, mainRoot: Int) -> [UInt64] {
        /// Where the nodes of a page begin.
        func nodes(_ page: Int) -> [Int] {
            let count = (Int(bytes.number(page * 4096 + 12) & 0xFFFF) - 16) / 2
            return (0..<count).map { page * 4096 + Int(bytes.number(page * 4096 + 16 + 2 * $0) & 0xFFFF) }
        }
        let name = Array("index".utf8)
        let entry = nodes(mainRoot).first { Array(bytes[$0 + 8..<$0 + 8 + name.count]) == name }
        return entry.map { entry in
            nodes(Int(bytes.number(entry + 8 + name.count + 40))).map { bytes.number($0) & 0xFFFF_FFFF_FFFF }
        } ?? []
    }

    @Test func headersOfCommitsThatAreNotInARowAreRefused() throws {
        try withFile { path, bytes in
            // Without a lost bit 1, after which the commit counts all the same (RenumberedCommitTests).
            let newest = bytes.number(4096 + 144)
            for bit in 0..<64 where bit != 1 || newest & 2 == 0 {
                var damaged = bytes
                damaged[4096 + 144 + bit / 8] ^= 1 << UInt8(bit % 8)
                try damaged.write(to: URL(filePath: dataFile(of: path)))
                #expect(try failureCode { try openReader(path).close() } == .corrupted, "bit \(bit)")
                #expect(try failureCode { try openWriter(path).close() } == .corrupted, "bit \(bit)")
            }
        }
    }

    @Test func everyEntryLeftOutOfALeafIsNoticed() throws {
        try withFile { path, bytes in
            for page in stride(from: 8192, to: bytes.count, by: 4096) where bytes.number(page + 10) & 0xFFFF == 2 {
                var damaged = bytes
                // Two entries fewer.
                damaged[page + 12] ^= 4
                try damaged.write(to: URL(filePath: dataFile(of: path)))
                let reader = try? openReader(path)
                let isInUse = try reader.map { try !$0.checkPages().isEmpty } ?? true
                reader?.close()
                if isInUse { #expect(throws: LMDBError.self) { try readEverything(path) } }
            }
        }
    }

    @Test func everyExchangeOfTwoEntriesOfALeafIsNoticed() throws {
        try withFile { path, bytes in
            var noticed = 0
            for page in stride(from: 8192, to: bytes.count, by: 4096)
            where bytes.number(page + 10) & 0xFFFF == 2 && bytes.number(page + 12) & 0xFFFF >= 20 {
                // A page of the store is missed under its number, a free one is not.
                var renumbered = bytes
                renumbered[page] ^= 1
                var exchanged = bytes
                exchanged.replaceSubrange(page + 16..<page + 18, with: bytes[page + 18..<page + 20])
                exchanged.replaceSubrange(page + 18..<page + 20, with: bytes[page + 16..<page + 18])
                let isInUse = try !isSound(path, renumbered)
                #expect(try isSound(path, exchanged) != isInUse, "page \(page / 4096)")
                if isInUse { noticed += 1 }
            }
            #expect(noticed > 20)
        }
    }

    /// Whether a file opens, and its pages are all right.
    private func isSound(_ path: String, _ bytes: Data) throws -> Bool {
        try bytes.write(to: URL(filePath: dataFile(of: path)))
        guard let reader = try? openReader(path) else { return false }
        defer { reader.close() }
        return try reader.checkPages().isEmpty
    }

    private func readEverything(_ path: String) throws {
        let reader = try openReader(path)
        defer { reader.close() }
        _ = try reader.keys("index")
        _ = try reader.information()
    }

    private func meta(_ bytes: Data) -> Int { bytes.number(144) > bytes.number(4096 + 144) ? 0 : 4096 }
}
