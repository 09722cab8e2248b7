import Testing
import TestSupport
@_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogAudit
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogDomain
@_spi(Operations) @testable import TraylogRewrite
@testable import TraylogStates
@testable import TraylogTree

/// An event that leaves the log or is erased leaves its hash in the tree, so every head and every proof stays valid.
@Suite struct CompactedTreeTests {
    /// An auditor's data from when the log had this size: all heads, all proofs, and growth between some sizes.
    private struct Kept {
        let size: UInt64
        let heads: [TreeHead]
        let proofs: [EventProof]
        let growth: [TreeGrowth]

        init(_ store: Store) throws {
            size = try store.head().rawValue
            heads = try (1...size).map { try store.treeHead(asOf: .seq(Seq($0))) }
            proofs = try (1...size).map { try store.proof(of: Seq($0)) }
            var growth: [TreeGrowth] = []
            for second in stride(from: size, to: 0, by: -37) {
                for first in stride(from: UInt64(1), through: second, by: 61) {
                    growth.append(try store.treeGrowth(from: Seq(first), to: Seq(second)))
                }
            }
            self.growth = growth
        }

        func expectHold(_ store: some BlockingQueries, _ comment: Comment = "") throws {
            let live = Set(try store.events(limit: .max).elements.map(\.seq.rawValue))
            let now = try store.treeHead()
            for (head, proof) in zip(heads, proofs) {
                let seq = Seq(head.size)
                #expect(try store.treeHead(asOf: .seq(seq)) == head, comment)
                let later = try store.treeGrowth(from: seq)
                #expect(later.isValid && later.first == head && later.second == now, comment)
                let again = try store.proof(of: seq, asOf: .seq(Seq(size)))
                #expect(proof.isValid && again.isValid && again.seq == seq.rawValue, comment)
                #expect(again.leafHash == proof.leafHash && again.inclusion == proof.inclusion, comment)
                #expect(
                    again.head == proof.head && again.leaf == (live.contains(seq.rawValue) ? proof.leaf : nil), comment)
                #expect(try store.proof(of: seq).isValid, comment)
            }
            for grown in growth {
                let again = try store.treeGrowth(from: Seq(grown.first.size), to: Seq(grown.second.size))
                #expect(grown.isValid && again == grown, comment)
            }
        }

        func expectExtended(_ path: String, _ comment: Comment = "") throws {
            let kept = try heads.map { head in
                try KeptTreeHead("{\"treeSize\":\(head.size),\"rootHash\":\"\(head.root.hex)\"}")
            }
            let report = try Verification.run(directory: path, treeHeads: kept) { _, _ in }
            #expect(report.findings == [], comment)
            #expect(report.extends.allSatisfy(\.self) && report.extends.count == heads.count, comment)
        }
    }

    private static let events: UInt64 = sized(180, nightly: 600)

    private func fill(_ store: Store, through head: UInt64) throws {
        let start = try store.head().rawValue
        _ = try store.perform(
            (start..<head).map { number in
                // Some in chunks; and two of three are superseded by the user's next one.
                let body = number % 97 == 0 ? String(repeating: "x", count: 5_000) : "b\(number)"
                var content = Content(title: "T\(number)", body: body)
                if number % 3 != 0 { content.collapseKey = "c" }
                return Command(user: "u\(number % 7)", .notify(content))
            })
    }

    @Test(arguments: sized([90], nightly: [0, 300, 600]) as [UInt64])
    func everyHeadAndEveryProofHoldsAfterCompactions(stored: UInt64) throws {
        try withStorePath { path in
            let kept = try withStore(path, options(tailEvents: 64, isRelaxed: true)) { store throws in
                try fill(store, through: stored)
                try store.storeTree()
                try fill(store, through: Self.events)
                let kept = try Kept(store)
                // The second one finds gaps below its floor.
                for percent: UInt64 in [58, 97] {
                    let report = try store.compact(before: .seq(Seq(Self.events * percent / 100)))
                    #expect(report.dropped > Self.events / 6)
                    #expect(try store.proof(of: 62).leaf == nil)
                    try kept.expectHold(store)
                    try fill(store, through: store.head().rawValue + 40)
                }
                try store.storeTree()
                try kept.expectHold(store)
                return kept
            }
            try withReader(path) { reader in try kept.expectHold(reader) }
            try kept.expectExtended(path)
        }
    }

    @Test func proofsFromBeforeAnErasureHoldAfterIt() throws {
        try withStorePath { path in
            let kept = try withStore(path, options(isRelaxed: true)) { store throws in
                try fill(store, through: Self.events)
                let kept = try Kept(store)
                try store.erase("u3")
                try kept.expectHold(store)
                try store.compact(before: .seq(Seq(Self.events * 2 / 3)))
                try store.erase("u4")
                try kept.expectHold(store)
                return kept
            }
            try withReader(path) { reader in try kept.expectHold(reader) }
            try kept.expectExtended(path)
        }
    }

    @Test func anItemRestoredMeanwhileIsProvedLikeAllOthers() throws {
        let restored: UInt64 = sized(130, nightly: 400)
        try withStorePath { path in
            let kept = try withStore(path, options(isRelaxed: true)) { store throws in
                try fill(store, through: restored - 100)
                let item = try #require(try store.perform(notify("ann")).seq)
                _ = try store.perform(Command(user: "ann", .mark(.deleted, [.seq(item)])))
                try fill(store, through: restored)
                let kept = try Kept(store)
                var plan = RewritePlan()
                plan.floor = restored
                _ = try store.rewriter.exclusively {
                    try store.rewriter.compact(plan) { done, total in
                        guard done == total, total > 1 else { return }
                        _ = try store.perform(Command(user: "ann", .mark(.restored, [.seq(item)])))
                    }
                }
                #expect(try store.inbox(of: "ann").elements.map(\.seq) == [item])
                #expect(try store.proof(of: item).leaf?.seq == item.rawValue)
                try kept.expectHold(store, "restored")
                try store.compact(before: .seq(Seq(restored + 1)))
                try kept.expectHold(store, "compacted again")
                return kept
            }
            try kept.expectExtended(path, "restored")
        }
    }

    @Test(arguments: seeds(1, nightly: 40))
    func aChangedHashOfAnEventThatLeftIsNamed(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        try withStorePath { path in
            var live: Set<UInt64> = []
            let last = try withStore(path, options(isRelaxed: true)) { store throws in
                try fill(store, through: 1_200)
                try store.compact(before: .seq(1_100))
                live = Set(try store.events(limit: .max).elements.map(\.seq.rawValue))
                return try store.treeHead(asOf: .seq(1_200))
            }
            let gone = random.pick((1..<1_100).filter { !live.contains($0) })
            let kept = try KeptTreeHead("{\"treeSize\":\(last.size),\"rootHash\":\"\(last.root.hex)\"}")
            try RawStore.change(path) { raw in
                let table = raw.tables.log.merkle
                let row = try #require(try raw.environment.read { try table.row(holding: gone, in: $0) })
                let place = try #require(row.leaves.firstIndex { $0.seq == gone })
                try raw.changeSealed(table.database, RawStore.key(row.leaves[0].seq)) { value in
                    value[value.count - 32 * (row.leaves.count - place)] ^= 1
                }
            }
            let report = try Verification.run(directory: path, treeHeads: [kept]) { _, _ in }
            #expect(report.extends == [false], "seed \(seed)")
            let tile = (gone - 1) / 256 * 256 + 1
            #expect(report.firstDifference == tile, "seed \(seed)")
            #expect(report.findings.contains { $0.contains("events \(tile) to \(tile + 255)") }, "seed \(seed)")
        }
    }

    @Test func aMissingHashOfAnEventThatLeftIsNamed() throws {
        try withStorePath { path in
            let last = try withStore(path, options(isRelaxed: true)) { store throws in
                try fill(store, through: 1_200)
                try store.compact(before: .seq(1_100))
                return try store.treeHead(asOf: .seq(1_200))
            }
            let kept = try KeptTreeHead("{\"treeSize\":\(last.size),\"rootHash\":\"\(last.root.hex)\"}")
            var first: UInt64 = 0
            try RawStore.change(path) { raw in
                let table = raw.tables.log.merkle
                let row = try #require(try raw.environment.read { try table.row(holding: 700, in: $0) })
                first = row.leaves[0].seq
                try raw.delete(table.database, RawStore.key(first))
            }
            let report = try Verification.run(directory: path, treeHeads: [kept]) { _, _ in }
            #expect(report.extends == [false] && report.firstDifference == first)
            #expect(report.findings.contains { $0.contains("event \(first)") && $0.contains("restore a backup") })
            try withStore(path, options(isRelaxed: true)) { store throws in
                #expect(try store.proof(of: Seq(first - 300)).isValid)
                #expect(throws: TraylogError.self) { try store.proof(of: Seq(first)) }
                // A compaction takes nothing away on top of it.
                #expect(throws: TraylogError.self) { try store.compact(before: .seq(1_150)) }
                #expect(try store.statistics().floor == 1_100)
            }
        }
    }

    @Test(arguments: sized([2, 40], nightly: [2, 3, 10, 40]))
    func aRemovedEventTakesFortyBytesInTheTreeAtMost(everyOther: Int) throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store throws in
                let thousand = sized(250, nightly: 1_000)
                // One of so many is superseded by the next one.
                let commands = (0..<40 * thousand).map { number in
                    var content = Content(title: "T\(number)")
                    if number % everyOther == 0 { content.collapseKey = "c" }
                    return Command(user: "u\(number % 211)", .notify(content))
                }
                for start in stride(from: 0, to: commands.count, by: 2_000) {
                    _ = try store.perform(Array(commands[start..<(start + 2_000)]))
                }
                for floor in [20 * thousand, 39 * thousand] {
                    try store.compact(before: .seq(Seq(UInt64(floor))))
                    let statistics = try store.statistics()
                    let tree = try #require(statistics.tables.first { $0.name == "tree" }?.bytes)
                    // The pages of the levels above are there for all events.
                    let nodes = statistics.head.rawValue / 256 * 33 + 4 * 4_096
                    #expect(tree <= statistics.dropped * 34 + nodes, "\(tree) bytes for \(statistics.dropped) events")
                    if everyOther < 10 { #expect(tree <= statistics.dropped * 40) }
                }
            }
        }
    }

    @Test func anErasureStoresNoHashes() throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store throws in
                try fill(store, through: 2_000)
                let head = try store.treeHead(asOf: .seq(2_000))
                try store.erase("u3")
                #expect(try store.statistics().tables.contains { $0.name == "tree" } == false)
                #expect(try store.treeHead(asOf: .seq(2_000)) == head)
            }
        }
    }
}
