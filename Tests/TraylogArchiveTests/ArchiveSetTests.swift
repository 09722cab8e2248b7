import TestSupport
import Testing
import TraylogLog

@testable import TraylogArchive

@Suite struct ArchiveSetTests {
    @Test(arguments: seeds(1, nightly: 200))
    func archivesThatOverlapAreOneRunOfEvents(seed: UInt64) throws {
        try withTemporaryDirectory { directory in
            var random = SeededRandom(seed: seed)
            let events = random.archivedEvents(random.between(1, 1_500), largest: 4_000)
            let runs = random.between(1, 6)
            var kept: Set<ArchivedTestEvent> = []
            for run in 1...runs {
                // Each run takes some of what lies below its floor; some events are taken twice.
                let some = events.filter { _ in random.chance(run == runs ? 60 : 40) }
                kept.formUnion(some)
                try write(some, to: directory, header: ArchiveHeader(store: .none, through: UInt64(run)))
            }
            let expected = kept.sorted { $0.seq < $1.seq }
            let set = try ArchiveSet.open(directory, store: StoreIdentity(1, 2))
            #expect(set.summaries.count == runs)
            #expect(try set.events() == expected, "seed \(seed)")
            for _ in 0..<4 {
                let seq = UInt64(random.below(Int(events.last?.seq ?? 0) + 2))
                #expect(try set.events(from: seq) == expected.filter { $0.seq >= seq }, "seed \(seed), from \(seq)")
            }
        }
    }

    @Test func ofAnEventInSeveralArchivesTheFirstCounts() throws {
        try withTemporaryDirectory { directory in
            var random = SeededRandom(seed: 1)
            let one = ArchivedTestEvent(seq: 5, payload: [1], random: &random)
            let two = ArchivedTestEvent(seq: 5, payload: [2], random: &random)
            try write([two], to: directory, header: ArchiveHeader(store: .none, through: 20))
            try write([one], to: directory, header: ArchiveHeader(store: .none, through: 10))
            #expect(try ArchiveSet.open(directory, store: .none).events() == [one])
        }
    }

    @Test func archivesOfAnotherStoreAreNamed() throws {
        try withTemporaryDirectory { directory in
            try write([], to: directory, header: ArchiveHeader(store: .none, through: 1))
            let foreign = try write([], to: directory, header: ArchiveHeader(store: StoreIdentity(3, 4), through: 1))
            let error = try archiveError { try ArchiveSet.open(directory, store: StoreIdentity(1, 2)) }
            #expect(error?.code == .otherStore && error?.path.hasSuffix(foreign.name) == true)
            #expect(try ArchiveSet.open(directory, store: StoreIdentity(3, 4)).summaries.count == 2)
            #expect(try ArchiveSet.open(directory, store: .none).summaries.count == 2)
        }
    }
}
