import TestSupport
import Testing

@testable import TraylogArchive
@_spi(Replication) @testable import TraylogDomain

/// Which segments a restore reads, compared with a set of events for each history.
@Suite struct SegmentChainTests {
    @Test(arguments: seeds(40, nightly: 4_000))
    func aChainHasEachEventOfItsHistoryOnceUpToTheFirstThatIsMissing(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        // A history with some forks, and segments of it and of others.
        var forks: [StoreHistory.Fork] = []
        for _ in 0..<random.below(4) {
            let after = (forks.last?.after.rawValue ?? 0) + UInt64(random.between(1, 8))
            forks.append(StoreHistory.Fork(id: UInt64(random.between(1, 1_000_000)), after: Seq(after)))
        }
        let history = try #require(StoreHistory(forks))
        let ids: [UInt64] = [0] + forks.map(\.id)
        let names = (0..<random.between(1, 12)).map { _ in
            let id = random.chance(90) ? random.pick(ids) : 77
            let start = forks.first { $0.id == id }?.after.rawValue ?? 0
            let first = start + UInt64(random.between(1, 9))
            return SegmentName(
                first: first, last: first + UInt64(random.below(8)), history: id, rewrites: UInt32(random.below(2)))
        }
        func has(_ seq: UInt64) -> Bool {
            names.contains { $0.history == history.id(at: Seq(seq)) && ($0.first...$0.last).contains(seq) }
        }
        var through: UInt64 = 0
        while has(through + 1) { through += 1 }
        let chain = SegmentChain(names, of: history)
        #expect(chain.through == through, "seed \(seed)")
        var next: UInt64 = 1
        for link in chain.links {
            #expect(link.first == next && link.first >= link.name.first && link.last <= link.name.last, "seed \(seed)")
            #expect(
                (link.first...link.last).allSatisfy { history.id(at: Seq($0)) == link.name.history }, "seed \(seed)")
            next = link.last + 1
        }
        let later = (through + 1...200).first(where: has)
        #expect(chain.gap == later.map { through + 1...($0 - 1) }, "seed \(seed)")
    }

    @Test func namesAreReadAsTheyAreWritten() {
        let names = [
            SegmentName(first: 1, last: 9, history: 0), SegmentName(first: 1, last: 1, history: .max, rewrites: 3),
            SegmentName(first: Seq.highest, last: Seq.highest, history: 36),
        ]
        for name in names { #expect(SegmentName(name.text) == name) }
        #expect(names[0].text == "events-000000000001-000000000009-0.archive")
        for text in [
            "events-1-9-0.archive", "events-000000000009-000000000001-0.archive",
            "events-000000000001-000000000009.archive",
            "events-000000000001-000000000009-0-0.archive", "events-000000000001-000000000009-00.archive",
            "events-000000000001-000000000009-A.archive", "events-+00000000001-000000000009-0.archive",
            "events-000000000000-000000000009-0.archive", "traylog-000000000001-00000000.archive",
            "events-000000000001-000000000009-0.archive.partial", "events-000000000001-99999999999999999999-0.archive",
        ] {
            #expect(SegmentName(text) == nil, "\(text)")
        }
    }
}
