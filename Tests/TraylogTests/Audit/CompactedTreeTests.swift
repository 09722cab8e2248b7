import TestSupport
import Testing

@testable import Traylog

/// What leaves the log, or loses what it says, leaves its hash in the tree: proofs from before hold for ever.
@Suite struct CompactedTreeTests {
    private static let sizes: [UInt64] = [1, 62, 63, 255, 256, 257, 350, 511, 512, 600]

    /// What an auditor took along when the log had 600 events.
    private struct Kept {
        var heads: [TreeHead]
        var proofs: [EventProof]
        var growth: [TreeGrowth]

        init(_ store: Store) throws {
            heads = try CompactedTreeTests.sizes.map { try store.treeHead(asOf: .seq(Seq($0))) }
            proofs = try CompactedTreeTests.sizes.map { try store.proof(of: Seq($0)) }
            growth = try CompactedTreeTests.sizes.map { try store.treeGrowth(from: Seq($0)) }
        }
    }

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

    private func expectHold(_ kept: Kept, _ store: some TrayQueries) throws {
        let now = try store.treeHead()
        for (head, (proof, growth)) in zip(kept.heads, zip(kept.proofs, kept.growth)) {
            #expect(try store.treeHead(asOf: .seq(Seq(head.size))) == head)
            #expect(proof.isValid && growth.isValid)
            #expect(try store.treeGrowth(from: Seq(head.size), to: 600) == growth)
            let later = try store.treeGrowth(from: Seq(head.size))
            #expect(later.isValid && later.first == head && later.second == now)
            guard let again = try proofIfThere(of: Seq(proof.leaf.seq), asOf: 600, store) else { continue }
            #expect(again == proof)
            #expect(try store.proof(of: Seq(proof.leaf.seq)).isValid)
        }
    }

    /// Nil for an event that left the log.
    private func proofIfThere(of seq: Seq, asOf head: Seq, _ store: some TrayQueries) throws -> EventProof? {
        do throws(TraylogError) {
            return try store.proof(of: seq, asOf: .seq(head))
        } catch {
            guard case .refused(.compacted) = error else { throw error }
            return nil
        }
    }

    private func expectExtended(_ path: String, _ heads: [TreeHead]) throws {
        let kept = try heads.map { head in
            try KeptTreeHead("{\"treeSize\":\(head.size),\"rootHash\":\"\(head.root.hex)\"}")
        }
        let report = try Verification.run(directory: path, treeHeads: kept) { _, _ in }
        #expect(report.findings == [])
        #expect(report.extends.allSatisfy(\.self) && report.extends.count == heads.count)
    }

    @Test(arguments: [0, 300, 600] as [UInt64])
    func whatWasProvedBeforeCompactionsHoldsAfterThem(stored: UInt64) throws {
        try withStorePath { path in
            let kept = try withStore(path, options(tailEvents: 64, isRelaxed: true)) { store throws in
                try fill(store, through: stored)
                try store.storeTree()
                try fill(store, through: 600)
                let kept = try Kept(store)
                // The second one finds gaps below its floor.
                for floor: Seq in [350, 580] {
                    let report = try store.compact(before: .seq(floor))
                    #expect(report.dropped > 100)
                    let refusal = TraylogError.refused(.compacted(floor: floor, archive: nil))
                    #expect(throws: refusal) { try store.proof(of: 62) }
                    try expectHold(kept, store)
                    try fill(store, through: store.head().rawValue + 40)
                    try expectHold(kept, store)
                }
                try store.storeTree()
                try expectHold(kept, store)
                return kept
            }
            try withReader(path) { reader in try expectHold(kept, reader) }
            try expectExtended(path, kept.heads)
        }
    }

    @Test func whatWasProvedBeforeAnErasureHoldsAfterIt() throws {
        try withStorePath { path in
            let kept = try withStore(path, options(isRelaxed: true)) { store throws in
                try fill(store, through: 600)
                let kept = try Kept(store)
                try store.erase("u3")
                try expectHold(kept, store)
                try store.compact(before: .seq(400))
                try store.erase("u4")
                try expectHold(kept, store)
                return kept
            }
            try withReader(path) { reader in try expectHold(kept, reader) }
            try expectExtended(path, kept.heads)
        }
    }
}
