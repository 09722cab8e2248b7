import Testing
import TestSupport
import TraylogDomain
@testable import TraylogAudit
@testable import TraylogTree

/// Rows with the hashes of events that left the log.
@Suite struct RemovedLeavesTests {
    private func hash(_ number: UInt64) -> MerkleHash {
        let bytes = RawStore.key(number)
        return .leaf(RawSpan(_elements: bytes.span))
    }

    /// A full row of events at random distances.
    private func row(_ random: inout SeededRandom, distances: Int) -> RemovedLeaves {
        var row = RemovedLeaves()
        var seq = UInt64(random.between(1, 1 << 40))
        while row.append(seq, hash(seq)) { seq += UInt64(random.between(1, distances)) }
        return row
    }

    private func read(_ row: RemovedLeaves) throws -> RemovedLeaves {
        let (_, value) = try #require(row.sealed())
        return try RemovedLeaves(RawSpan(_elements: value.span), key: row.leaves[0].seq)
    }

    private func expectSame(_ one: RemovedLeaves, _ other: RemovedLeaves, _ comment: Comment) {
        #expect(one.leaves.map(\.seq) == other.leaves.map(\.seq), comment)
        #expect(one.leaves.map(\.hash) == other.leaves.map(\.hash), comment)
    }

    @Test(arguments: seeds(5, nightly: 500))
    func aFullRowComesBackAsItWasAndTakesHalfAPage(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        for distances in [1, 100, 1 << 20] {
            let row = row(&random, distances: distances)
            let (_, value) = try #require(row.sealed())
            #expect(value.count <= 2_022 && value.count > 1_980, "seed \(seed)")
            #expect(row.leaves.count >= (distances <= 100 ? 61 : 57), "seed \(seed)")
            expectSame(row, try read(row), "seed \(seed)")
        }
    }

    @Test(arguments: seeds(5, nightly: 500))
    func aRowOfLeavesWithoutSomeEventsHasAllOthers(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        for distances in [1, 130, 1 << 20] {
            let row = row(&random, distances: distances)
            let removed = Set(row.leaves.map(\.seq).filter { _ in random.chance(30) })
            let rest = row.removing(removed)
            #expect(rest.leaves.map(\.seq) == row.leaves.map(\.seq).filter { !removed.contains($0) }, "seed \(seed)")
            guard !rest.leaves.isEmpty else { continue }
            expectSame(rest, try read(rest), "seed \(seed)")
        }
    }

    @Test(arguments: seeds(10, nightly: 5_000))
    func bytesThatAreNoRowOfLeavesAreDamageAndTrapNobody(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let row = row(&random, distances: random.pick([1, 200, 1 << 30]))
        let (_, sealed) = try #require(row.sealed())
        for _ in 0..<50 {
            var content = Array(sealed.dropLast(4))
            switch random.below(4) {
            case 0: content = Array(content.prefix(random.below(content.count)))
            case 1: content = (0..<random.below(200)).map { _ in UInt8(random.below(256)) }
            case 2: content[random.below(70)] = UInt8(random.below(256))
            default: content += [UInt8(random.below(256))]
            }
            let keys: [UInt64] = [row.leaves[0].seq, 1, (1 << 56) - 1]
            let key = random.pick(keys)
            MerkleTable.seal(&content, key: key)
            do {
                let found = try RemovedLeaves(RawSpan(_elements: content.span), key: key)
                let seqs = found.leaves.map(\.seq)
                #expect(!seqs.isEmpty && seqs == seqs.sorted() && Set(seqs).count == seqs.count, "seed \(seed)")
                #expect(seqs.allSatisfy { $0 < 1 << 56 }, "seed \(seed)")
            } catch let failure as StoreFailure {
                #expect(failure.code == .damaged, "seed \(seed)")
            }
        }
    }
}
