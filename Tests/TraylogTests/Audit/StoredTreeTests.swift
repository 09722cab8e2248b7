import Testing
import TestSupport
@testable import TraylogLMDB
import TraylogLog
import TraylogPlatform
@_spi(Internals) @_spi(Operations) @testable import Traylog
@testable import TraylogAudit
@testable import TraylogDomain
@testable import TraylogQueries
@testable import TraylogStates
@testable import TraylogTree

/// The tree matches the log's leaves, wherever its hashes come from and however it grew.
@Suite struct StoredTreeTests {
    private static let sizes: [UInt64] = [1, 2, 61, 62, 63, 255, 256, 257, 511, 512, 513, 1_000, 1_023, 1_100]

    /// A tree of the log, leaf by leaf.
    private func naiveHeads(_ store: some BlockingQueries, through head: UInt64) throws -> [TreeHead] {
        let source = store.queries.source
        var accumulator = MerkleAccumulator()
        var heads = [accumulator.head]
        for seq in 1...head {
            let leaf = try #require(try source.environment.read { try source.tables.log.events.leaf(seq, in: $0) })
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
    func storedHeadsAndProofsMatchTheLeaves(isStored: Bool) throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store throws in
                try fill(store, 1_100)
                if isStored { #expect(try store.storeTree().size == 1_100) }
                let heads = try naiveHeads(store, through: 1_100)
                for size in Self.sizes {
                    #expect(try store.treeHead(asOf: .seq(Seq(size))) == heads[Int(size)])
                    for seq in [1, size / 2 + 1, size] {
                        let proof = try store.proof(of: Seq(seq), asOf: .seq(Seq(size)))
                        #expect(proof.isValid && proof.head == heads[Int(size)] && proof.leaf?.seq == seq)
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

    @Test func aTreeGrownInPiecesHasTheSameRows() throws {
        var random = SeededRandom(seed: 11)
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store throws in
                while try store.head() < 2_000 {
                    try fill(store, Int.random(in: 1...300, using: &random))
                    try store.storeTree()
                }
                let source = store.queries.source
                let head = try store.head().rawValue
                let covered = head / MerkleTable.tileWidth * MerkleTable.tileWidth
                let whole = try TreeExtension(from: 0, tiles: source.treeStorage.tiles(over: 0..<covered))
                for row in whole.rows {
                    let key = RawStore.key(row.key)
                    let stored = try source.environment.read { transaction in
                        try transaction.get(source.tables.log.merkle.database, RawSpan(_elements: key.span)) { value in
                            var bytes: [UInt8] = []
                            bytes.append(copying: value)
                            return bytes
                        }
                    }
                    #expect(stored == row.value)
                }
                let rows = try source.environment.read { try $0.statistics(source.tables.log.merkle.database).entries }
                // And the size. The log has all leaves, so none is stored.
                #expect(rows == whole.rows.count + 1)
            }
        }
    }

    @Test func aCancelledStoringOfTheTreeResumesLater() throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store throws in
                try fill(store, 1_100)
                let cancellation = Cancellation()
                cancellation.cancel()
                #expect(throws: TraylogError.self) { try Cancellation.bind(cancellation) { try store.storeTree() } }
                #expect(try store.queries.storedTreeSize() == 0)
                #expect(try store.storeTree().size == 1_100)
                #expect(try store.queries.storedTreeSize() == 1_024)
            }
        }
    }

    @Test func anEmptyStoreHasTheEmptyTree() throws {
        try withStorePath { path in
            try withStore(path) { store throws in
                #expect(try store.treeHead() == TreeHead(size: 0, root: .ofEmptyTree))
                #expect(try store.storeTree().size == 0)
                #expect(throws: TraylogError.refused(.unknownEvent(0))) { try store.proof(of: 0) }
                #expect(throws: TraylogError.refused(.upToBeyondHead(1, head: 0, field: "seq"))) {
                    try store.proof(of: 1)
                }
                #expect(throws: TraylogError.refused(.upToBeyondHead(1, head: 0, field: "first"))) {
                    try store.treeGrowth(from: 1)
                }
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
                #expect(try reader.queries.source.treeStorage.size == 256)
                #expect(try reader.treeGrowth(from: 300).isValid)
                #expect(try reader.queries.source.treeStorage.size == 256)
            }
        }
    }

    /// The bytes of a row of the log.
    private func record(_ seq: UInt64, _ raw: RawStore) throws -> [UInt8] { try raw.value(raw.log, RawStore.key(seq)) }

    @Test func anErasedEventHasTheSameLeaf() throws {
        try withStorePath { path in
            let before = try withStore(path, options(isRelaxed: true)) { store throws in
                try fill(store, 300)
                return try store.treeHead()
            }
            try RawStore.change(path) { raw in
                // One of them in chunks.
                for seq in [UInt64(1), 5, 97, 98, 300] {
                    let leaf = try #require(try raw.environment.read { try raw.tables.log.events.leaf(seq, in: $0) })
                    let old = try record(seq, raw)
                    let digest = leaf.digest.bytes
                    var erased: [UInt8] = []
                    RecordCodec.appendErased(
                        seq: seq, header: try RecordHeader.read(RawSpan(_elements: old.span)),
                        digest: RawSpan(_elements: digest.span), to: &erased)
                    try raw.put(raw.log, RawStore.key(seq), erased)
                    #expect(try raw.environment.read { try raw.tables.log.events.leaf(seq, in: $0) } == leaf)
                }
            }
            try withReader(path) { reader throws in
                #expect(try reader.treeHead() == before)
                #expect(try reader.proof(of: 5).isValid)
            }
        }
    }

    @Test(arguments: [UInt64(300), 600, 900])
    func eventsThatLeftTheLogStayInTheTree(stored: UInt64) throws {
        try withStorePath { path in
            var heads: [TreeHead] = []
            var growth: TreeGrowth?
            try withStore(path, options(isRelaxed: true)) { store throws in
                try fill(store, Int(stored))
                heads.append(try store.storeTree())
                try fill(store, 900 - Int(stored))
                heads.append(try store.treeHead())
                growth = try store.treeGrowth(from: 200)
            }
            let floor: UInt64 = 290
            try RawStore.change(path) { try $0.removeFromLog((1...floor).filter { $0 % 3 != 0 }) }
            try withReader(path) { reader throws in
                #expect(try reader.treeHead() == heads[1])
                #expect(try reader.treeGrowth(from: 200) == growth)
                #expect(try reader.proof(of: 3).isValid)
                let gone = try reader.proof(of: 4)
                #expect(gone.isValid && gone.leaf == nil && gone.head == heads[1])
                var check = TreeCheck(storage: reader.queries.source.treeStorage, floor: floor, kept: heads)
                try check.run(through: 900, stored: stored) { _ in }
                #expect(check.findings.isEmpty && check.extends == [true, true])
                var unaware = TreeCheck(storage: reader.queries.source.treeStorage, floor: 99, kept: heads)
                try unaware.run(through: 900, stored: stored) { _ in }
                #expect(unaware.findings.first?.seq == 100 && unaware.extends == [false, false])
            }
        }
    }

    @Test func aStoreThatWasReadInAgainHasTheSameRoot() throws {
        try withStorePath { path in
            let head = try withStore(path, options(isRelaxed: true)) { store throws in
                try fill(store, 700)
                return try store.storeTree()
            }
            let lines = try exported(path)
            try withStorePath { copy in
                try restore(lines, to: copy)
                #expect(try withReader(copy) { try $0.treeHead() } == head)
            }
        }
    }

    @Test func tasksGetTheSameHeadsAndProofs() async throws {
        try await withStorePath { path in
            let store = try Store.open(path, options: options(isRelaxed: true))
            defer { store.close() }
            _ = try await store.perform((0..<300).map { _ in notify("ann") })
            let head = try await store.storeTree()
            #expect(try await store.proofs.treeHead() == head)
            let proof = try await store.proofs.proof(of: 7)
            #expect(proof.isValid && proof.head == head)
            #expect(try await store.proofs.treeGrowth(from: 7).isValid)
            let report = try await store.proofs.auditReport(of: "ann")
            #expect(report.steps.count == 300 && report.treeHead == head)
            #expect(
                try await store.proofs.entries(of: report, 0..<2, withProofs: true).allSatisfy {
                    $0.proof?.isValid == true
                })
            #expect(try await store.proofs.difference(of: "ann", from: .seq(299)).items.count == 1)
        }
    }

    @Test(arguments: [UInt64.max - 255, UInt64(1) << 63, UInt64(1) << 32, 512, UInt64.max, 301] as [UInt64])
    func aWrongTreeSizeIsNamedAndTrapsNobody(size: UInt64) throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store throws in
                try fill(store, 300)
                try store.storeTree()
            }
            try RawStore.change(path) { raw in
                try raw.put(raw.tables.log.merkle.database, RawStore.key(0), MerkleTable.sizeRow(size))
            }
            let isMultiple = size.isMultiple(of: MerkleTable.tileWidth)
            try withReader(path) { reader throws in
                // The stored data is enough for this head, or the missing part is named.
                do {
                    _ = try reader.treeHead()
                    #expect(isMultiple)
                } catch TraylogError.failed(let failure) {
                    #expect(failure.code == .damaged)
                }
            }
            let expected = isMultiple ? "more events than the log has" : "its size"
            #expect(try findings(path).contains { $0.contains(expected) })
            try withStore(path, options(isRelaxed: true)) { store throws in
                _ = try failure { try store.storeTree() }
                try fill(store, 10)
                _ = try failure { try store.storeTree() }
                _ = try failure { try store.treeHead() }
            }
        }
    }

    @Test func aTreeOfANewerFormatIsRefused() throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store throws in
                try fill(store, 300)
                try store.storeTree()
            }
            try RawStore.change(path) { raw in
                try raw.changeSealed(raw.tables.log.merkle.database, RawStore.key(0)) { $0[0] += 1 }
            }
            try withReader(path) { reader throws in
                #expect(try failure { try reader.treeHead() }?.code == .newerFormat)
            }
        }
    }

    @Test func damagedRowsAreNamed() throws {
        var random = SeededRandom(seed: 5)
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store throws in
                try fill(store, 600)
                _ = try store.perform(
                    (1...40).map { Command(user: "u\(($0 - 1) % 7)", .mark(.deleted, [.seq(Seq(UInt64($0)))])) })
                try store.compact(before: .seq(640))
            }
            // The size, the hashes of removed events, and the nodes over 256.
            let keys = [0, 1, MerkleTable.key(level: 8, row: 0)]
            for key in keys.map(RawStore.key) {
                var old: [UInt8] = []
                try RawStore.change(path) { raw in
                    let table = raw.tables.log.merkle.database
                    old = try raw.value(table, key)
                    try raw.change(table, key) { $0[random.below($0.count)] ^= 4 }
                }
                #expect(try !findings(path).isEmpty)
                try withReader(path) { reader throws in
                    #expect(try failure { try reader.proof(of: 3) }?.code == .damaged)
                }
                if key == RawStore.key(1) {
                    try RawStore.change(path) { try $0.put($0.tables.log.merkle.database, key, old) }
                } else {
                    // The levels follow from the log.
                    #expect(try replay(path, rebuild: true).identical)
                }
                #expect(try findings(path).isEmpty)
                #expect(try withReader(path) { try $0.proof(of: 3).isValid })
                try withStore(path) { _ = try $0.storeTree() }
            }
        }
    }
}
