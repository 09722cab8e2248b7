import TestSupport
import Testing
import TraylogLMDB
import TraylogLog

@testable import Traylog

/// The tree is that of the log's leaves, wherever its hashes come from and however it grew.
@Suite struct StoredTreeTests {
    private static let sizes: [UInt64] = [1, 2, 61, 62, 63, 255, 256, 257, 511, 512, 513, 1_000, 1_023, 1_100]

    /// A tree of the log, leaf by leaf.
    private func naiveHeads(_ store: some TrayQueries, through head: UInt64) throws -> [TreeHead] {
        let source = store.queries.source
        var accumulator = MerkleAccumulator()
        var heads = [accumulator.head]
        for seq in 1...head {
            let leaf = try #require(try source.environment.read { try source.tables.log.leaf(seq, in: $0) })
            accumulator.append(leafHash: leaf.hash)
            heads.append(accumulator.head)
        }
        return heads
    }

    private func fill(_ store: Store, _ count: Int) throws {
        let start = try store.head().rawValue
        var commands: [Command] = []
        for number in Int(start)..<(Int(start) + count) {
            // Some in chunks.
            let body = number % 97 == 0 ? String(repeating: "x", count: 5_000) : "b\(number)"
            commands.append(Command(user: "u\(number % 7)", .notify(Content(title: "T\(number)", body: body))))
        }
        _ = try store.perform(commands)
    }

    @Test(arguments: [false, true])
    func headsAndProofsAreThoseOfTheLeaves(isStored: Bool) throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store throws in
                try fill(store, 1_100)
                if isStored { #expect(try store.storeTree().size == 1_100) }
                let heads = try naiveHeads(store, through: 1_100)
                for size in Self.sizes {
                    #expect(try store.treeHead(asOf: .seq(Seq(size))) == heads[Int(size)])
                    for seq in [1, size / 2 + 1, size] {
                        let proof = try store.proof(of: Seq(seq), asOf: .seq(Seq(size)))
                        #expect(proof.isValid && proof.head == heads[Int(size)] && proof.leaf.seq == seq)
                    }
                    for old in Self.sizes where old <= size {
                        let growth = try store.treeGrowth(from: Seq(old), to: Seq(size))
                        #expect(growth.isValid && growth.first == heads[Int(old)] && growth.second == heads[Int(size)])
                    }
                }
            }
            try withReader(path) { reader throws in
                #expect(try reader.treeHead() == naiveHeads(reader, through: 1_100).last)
            }
        }
    }

    @Test func growingInPiecesGivesTheSameRows() throws {
        var random = SeededRandom(seed: 11)
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store throws in
                while try store.head() < 2_000 {
                    try fill(store, Int.random(in: 1...300, using: &random))
                    try store.storeTree()
                }
                let source = store.queries.source
                let head = try store.head().rawValue
                let whole = try TreeExtension(
                    from: 0, leaves: source.treeStorage.hashed(0..<head).leaves[...],
                    tiles: source.treeStorage.hashed(0..<head).tiles, stored: { _, _ in [] })
                for row in whole.rows {
                    let key = RawStore.key(row.key)
                    let stored = try source.environment.read { transaction in
                        try transaction.get(source.tables.merkle.database, RawSpan(_elements: key.span)) { value in
                            var bytes: [UInt8] = []
                            bytes.append(copying: value)
                            return bytes
                        }
                    }
                    #expect(stored == row.value)
                }
                let rows = try source.environment.read { try $0.statistics(source.tables.merkle.database).entries }
                // And the size.
                #expect(rows == whole.rows.count + 1)
            }
        }
    }

    @Test func anEmptyStoreHasTheEmptyTree() throws {
        try withStorePath { path in
            try withStore(path) { store throws in
                #expect(try store.treeHead() == TreeHead(size: 0, root: .ofEmptyTree))
                #expect(try store.storeTree().size == 0)
                #expect(throws: TraylogError.refused(.unknownEvent(0))) { try store.proof(of: 0) }
                #expect(throws: TraylogError.refused(.upToBeyondHead(1, head: 0))) { try store.proof(of: 1) }
                #expect(throws: TraylogError.refused(.upToBeyondHead(1, head: 0))) { try store.treeGrowth(from: 1) }
                #expect(try store.treeGrowth(from: 0).isValid)
            }
        }
    }

    @Test func aReaderFollowsAWriterWithoutStoringAnything() throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store in try fill(store, 300) }
            let before = try withReader(path) { try $0.treeHead() }
            try withStore(path, options(isRelaxed: true)) { store throws in
                #expect(try store.treeGrowth(from: 300).first == before)
                try store.storeTree()
                try fill(store, 700)
                let growth = try store.treeGrowth(from: 300)
                #expect(growth.isValid && growth.first == before && growth.second.size == 1_000)
            }
            try withReader(path) { reader throws in
                #expect(try reader.queries.source.treeStorage.size == 300)
                #expect(try reader.treeGrowth(from: 300).isValid)
                #expect(try reader.queries.source.treeStorage.size == 300)
            }
        }
    }
}
