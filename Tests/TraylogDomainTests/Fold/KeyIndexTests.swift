import TestSupport
import Testing

@testable import TraylogDomain

@Suite struct KeyIndexTests {
    /// Stored pages of one index.
    private struct Pages {
        var stored: [UInt64: KeyIndex.Page] = [:]

        func load(_ key: UInt64) -> KeyIndex.Page? {
            stored.keys.filter { $0 <= key }.max().flatMap { stored[$0] }
        }

        mutating func flush(_ index: inout KeyIndex) {
            for page in index.pages { stored[page.first] = page }
            index.pages = []
        }
    }

    /// Keys that collide, and few enough of them that pages fill with one.
    @Test(arguments: UInt64(0)..<10)
    func aKeyIndexFindsTheSameKeysAsADictionary(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let keys = (0..<random.pick([3, 40, 2_000])).map { _ in random.chance(1) ? .max : random.number() }
        var expected: [UInt64: [UInt64]] = [:]
        var whole = KeyIndex()
        var flushed = KeyIndex()
        var pages = Pages()
        for seq in UInt64(1)...1_500 {
            let key = random.pick(keys)
            if random.chance(20), let old = expected[key], !old.isEmpty {
                let taken = random.pick(old)
                expected[key]?.removeAll { $0 == taken }
                try whole.remove(key, seq: taken, by: seq) { _ in nil }
                try flushed.remove(key, seq: taken, by: seq, load: pages.load)
                try flushed.remove(key, seq: .max, by: seq, load: pages.load)
            } else {
                expected[key, default: []].append(seq)
                try whole.insert(key, seq: seq) { _ in nil }
                try flushed.insert(key, seq: seq, load: pages.load)
            }
            if random.chance(2) { pages.flush(&flushed) }
        }
        for key in keys + [0, 1, .max] {
            #expect(try whole.seqs(of: key) { _ in nil } == expected[key] ?? [], "seed \(seed)")
            #expect(try flushed.seqs(of: key, load: pages.load) == expected[key] ?? [], "seed \(seed)")
        }
        pages.flush(&flushed)
        #expect(pages.stored.values.sorted { $0.first < $1.first }.map(\.entries) == whole.pages.map(\.entries))
        #expect(UInt64(whole.pages.count) == whole.pageCount, "seed \(seed)")
        #expect(flushed.recent == whole.recent, "seed \(seed)")
    }

    @Test func aPageOfOneIdentityIsNotSplit() throws {
        var index = KeyIndex()
        for seq in UInt64(1)...256 { try index.insert(7, seq: seq) { _ in nil } }
        #expect(index.pages.map(\.entries.count) == [256])
        for seq in UInt64(257)...320 { try index.insert(seq, seq: seq) { _ in nil } }
        #expect(index.pages.map(\.entries.count) == [256, 64])
        #expect(try index.seqs(of: 7) { _ in nil } == Array(1...256))
        #expect(try index.seqs(of: 300) { _ in nil } == [300])
    }
}

@Suite struct EventIndexTests {
    @Test(arguments: UInt64(0)..<10)
    func everySeqIsInOnePage(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var index = EventIndex()
        var seqs: [UInt64] = []
        var seq: UInt64 = 0
        for _ in 0..<random.between(1, 2_000) {
            seq += 1 + random.next() >> UInt64(random.between(20, 64))
            seqs.append(seq)
            index.append(seq)
        }
        #expect(try (index.sealed + [index.open]).flatMap { try $0.seqs() } == seqs, "seed \(seed)")
        #expect(index.count == UInt64(seqs.count))
        for page in index.sealed {
            #expect(try page.seqs().last == page.last, "seed \(seed)")
            #expect(try page.seqs().first == page.first, "seed \(seed)")
            #expect(page.packed.count < EventIndex.pageBytes + 10)
        }
    }
}
