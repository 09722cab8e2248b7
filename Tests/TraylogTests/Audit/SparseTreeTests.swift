import TestSupport
import Testing
import TraylogLMDB
import TraylogLog

@testable import Traylog

/// Below the floor only pieces of the tree are left: those that a tree head or a proof can need.
@Suite struct SparseTreeTests {
    /// As for a store that is so large that its tree does not stay whole.
    @discardableResult
    private func compact(
        _ store: Store, before floor: UInt64, onCopied: @escaping () throws -> Void = {}
    ) throws -> CompactionReport {
        var goal = RewriteGoal()
        goal.floor = floor
        goal.wholeTreeLeaves = 0
        return try store.rewriter.exclusively {
            try store.rewriter.compact(goal) { done, total in if done == total, total > 1 { try onCopied() } }
        }
    }

    /// - Returns: the tree heads after each transaction.
    private func fill(
        _ store: Store, through head: UInt64, _ random: inout SeededRandom
    ) throws -> [TreeHead] {
        var heads: [TreeHead] = []
        while try store.head().rawValue < head {
            let count = random.pick([1, 1, 2, 7, 64, 90, 300])
            _ = try store.perform(
                (0..<count).map { number in
                    var content = Content(title: "T\(number)")
                    if !random.chance(10) { content.collapseKey = "c" }
                    return Command(user: "u\(random.below(7))", .notify(content))
                })
            heads.append(try store.treeHead())
        }
        return heads
    }

    private func naiveHeads(_ store: Store) throws -> [TreeHead] {
        let source = store.queries.source
        var accumulator = MerkleAccumulator()
        var heads = [accumulator.head]
        for seq in 1...(try store.head().rawValue) {
            let leaf = try #require(try source.environment.read { try source.tables.log.leaf(seq, in: $0) })
            accumulator.append(leafHash: leaf.hash)
            heads.append(accumulator.head)
        }
        return heads
    }

    private func headIfKept(_ store: Store, _ size: UInt64) throws -> TreeHead? {
        do { return try store.treeHead(asOf: .seq(Seq(size))) } catch .refused(.compacted) { return nil }
    }

    private func expectHold(_ heads: [TreeHead], _ store: some TrayQueries, _ comment: Comment) throws {
        let now = try store.treeHead()
        for (index, head) in heads.enumerated() where index % 3 == heads.count % 3 {
            #expect(try store.treeHead(asOf: .seq(Seq(head.size))) == head, comment)
            let growth = try store.treeGrowth(from: Seq(head.size))
            #expect(growth.isValid && growth.first == head && growth.second == now, comment)
            let between = try store.treeGrowth(from: Seq(heads[index / 2].size), to: Seq(head.size))
            #expect(between.isValid && between.first == heads[index / 2] && between.second == head, comment)
        }
        for event in try store.events() where event.seq.rawValue % 13 == now.size % 13 {
            #expect(try store.proof(of: event.seq).isValid, comment)
            guard let head = heads.first(where: { $0.size >= event.seq.rawValue }) else { continue }
            let proof = try store.proof(of: event.seq, asOf: .seq(Seq(head.size)))
            #expect(proof.isValid && proof.head == head, comment)
        }
    }

    private func expectVerified(_ path: String, _ heads: [TreeHead], _ comment: Comment) throws {
        let kept = try heads.map { head in
            try KeptTreeHead("{\"treeSize\":\(head.size),\"rootHash\":\"\(head.root.hex)\"}")
        }
        let report = try Verification.run(directory: path, treeHeads: kept) { _, _ in }
        #expect(report.findings == [], comment)
        #expect(report.extends.allSatisfy(\.self) && report.extends.count == heads.count, comment)
    }

    @Test(arguments: seeds(2, long: 60))
    func headsAtEndsOfTransactionsAndProofsOfWhatIsThereHoldForEver(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let comment: Comment = "seed \(seed)"
        try withStorePath { path in
            var heads: [TreeHead] = []
            try withStore(path, options(tailEvents: 64, isRelaxed: true)) { store throws in
                heads += try fill(store, through: 1_200, &random)
                let naive = try naiveHeads(store)
                for _ in 0..<3 {
                    let head = try store.head().rawValue
                    let floor = head - UInt64(random.below(Int(head) / 3))
                    try compact(store, before: floor)
                    try expectHold(heads, store, comment)
                    for _ in 0..<20 {
                        let size = UInt64(random.below(naive.count))
                        let found = try headIfKept(store, size)
                        #expect(found.map { $0 == naive[Int(size)] } ?? (size < floor), comment)
                    }
                    heads += try fill(store, through: try store.head().rawValue + 400, &random)
                    if random.chance(50) { try store.storeTree() }
                    try expectHold(heads, store, comment)
                    // One that leaves the floor where it is.
                    if random.chance(30) { try store.erase("u6") }
                }
                try expectHold(heads, store, comment)
            }
            try withReader(path) { reader in try expectHold(heads, reader, comment) }
            try expectVerified(path, heads, comment)
        }
    }

    @Test func hashesOfWhatLeftLeaveToo() throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store throws in
                for _ in 0..<20 {
                    _ = try store.perform((0..<1_000).map { notify("u\($0 % 7)") })
                    for user in 0..<7 { _ = try store.perform(Command(user: "u\(user)", .markAll(.deleted))) }
                }
                try compact(store, before: 20_000)
                let rows = try store.queries.source.environment.read { transaction in
                    try transaction.statistics(store.queries.source.tables.merkle.database).entries
                }
                // Of 323 rows of leaves.
                #expect(rows < 40)
                #expect(throws: TraylogError.refused(.compacted(floor: 20_000, archive: nil))) {
                    try store.treeHead(asOf: .seq(500))
                }
                #expect(try store.treeGrowth(from: 1_007).isValid)
            }
            let kept = try KeptTreeHead("{\"treeSize\":500,\"rootHash\":\"\(MerkleHash.ofEmptyTree.hex)\"}")
            let report = try Verification.run(directory: path, treeHeads: [kept]) { _, _ in }
            #expect(report.extends == [false])
            #expect(report.findings.count == 1 && report.findings[0].contains("cannot be checked any more"))
        }
    }

    @Test func anItemRestoredMeanwhileIsProvedLikeAllOthers() throws {
        var random = SeededRandom(seed: 5)
        try withStorePath { path in
            var heads: [TreeHead] = []
            try withStore(path, options(isRelaxed: true)) { store throws in
                heads += try fill(store, through: 1_000, &random)
                let item = try #require(try store.perform(notify("ann")).seq)
                _ = try store.perform(Command(user: "ann", .mark(.deleted, [.seq(item)])))
                heads += try fill(store, through: 1_500, &random)
                try compact(store, before: 1_500) {
                    _ = try store.perform(Command(user: "ann", .mark(.restored, [.seq(item)])))
                }
                #expect(try store.inbox(of: "ann").items.map(\.seq) == [item])
                #expect(try store.proof(of: item).isValid)
                try expectHold(heads, store, "restored")
                heads.append(try store.treeHead())
                try compact(store, before: 1_501)
                try expectHold(heads, store, "compacted again")
            }
            try expectVerified(path, heads, "restored")
        }
    }

    @Test(arguments: seeds(4, long: 40))
    func whatIsChangedBelowTheFloorIsFound(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        try withStorePath { path in
            var heads: [TreeHead] = []
            try withStore(path, options(isRelaxed: true)) { store throws in
                heads += try fill(store, through: 1_200, &random)
                try compact(store, before: 1_100)
            }
            let last = try #require(heads.last)
            let kept = try KeptTreeHead("{\"treeSize\":\(last.size),\"rootHash\":\"\(last.root.hex)\"}")
            try RawStore.change(path) { raw in
                let tree = raw.tables.merkle.database
                switch seed % 3 {
                case 0: try raw.changeSealed(tree, RawStore.key(MerkleTable.hashesKey(row: 0))) { $0[40] ^= 1 }
                case 1: try raw.changeSealed(tree, RawStore.key(MerkleTable.bitsKey(row: 0))) { $0[20] ^= 1 }
                default: try raw.delete(tree, RawStore.key(MerkleTable.hashesKey(row: 1)))
                }
            }
            let report = try Verification.run(directory: path, treeHeads: [kept]) { _, _ in }
            #expect(!report.findings.isEmpty, "seed \(seed)")
            #expect(report.firstDifference != nil, "seed \(seed)")
        }
    }

    @Test func bitsOfATileCountWhatIsInThem() {
        var random = SeededRandom(seed: 3)
        for _ in 0..<200 {
            var (bits, set) = (LeafBits(), Set<Int>())
            for _ in 0..<random.below(6) {
                let leaf = random.below(256)
                bits.insert(leaf)
                set.insert(leaf)
            }
            let start = random.below(256)
            let range = start..<(start + random.below(257 - start))
            #expect(bits.hasAny(in: range) == range.contains { set.contains($0) })
            #expect((0..<256).allSatisfy { bits.contains($0) == set.contains($0) })
        }
    }
}
