import Foundation
import TestSupport
import Testing
import TraylogLog

@testable import TraylogArchive

@Suite struct ArchiveWriterTests {
    @Test(arguments: seeds(1, nightly: 200))
    func anArchiveReadsBackFromEveryEvent(seed: UInt64) throws {
        try withTemporaryDirectory { directory in
            var random = SeededRandom(seed: seed)
            let events = random.archivedEvents(random.between(1, 1_500))
            let summary = try write(events, to: directory)
            #expect(summary.events == UInt64(events.count))
            #expect(summary.first == events.first?.seq && summary.last == events.last?.seq)
            let reader = try ArchiveReader.open(directory + "/" + summary.name)
            #expect(reader.summary == summary)
            #expect(try reader.events() == events, "seed \(seed)")
            #expect(try reader.findings().isEmpty)
            for _ in 0..<10 {
                let seq = UInt64(random.below(Int(summary.last) + 2))
                let rest = events.filter { $0.seq >= seq }
                #expect(try reader.cursor(from: seq).seq == rest.first?.seq, "seed \(seed), event \(seq)")
                let found = try reader.event(seq) { ArchivedTestEvent(seq: seq, $0, $1) }
                #expect(found == events.first { $0.seq == seq }, "seed \(seed), event \(seq)")
            }
        }
    }

    @Test func aCursorSeeksForwardsAndBack() throws {
        try withTemporaryDirectory { directory in
            var random = SeededRandom(seed: 1)
            let events = random.archivedEvents(1_500)
            let reader = try ArchiveReader.open(directory + "/" + write(events, to: directory).name)
            #expect(reader.blocks.count > 2)
            var cursor = try reader.cursor()
            for _ in 0..<40 {
                let seq = UInt64(random.below(Int(reader.summary.last) + 2))
                try cursor.seek(seq)
                #expect(cursor.seq == events.first { $0.seq >= seq }?.seq)
                try cursor.advance()
            }
        }
    }

    @Test func anArchiveMayHaveNoEvents() throws {
        try withTemporaryDirectory { directory in
            let summary = try write([], to: directory)
            #expect(summary.events == 0 && summary.first == 0 && summary.last == 0)
            let reader = try ArchiveReader.open(directory + "/" + summary.name)
            #expect(try reader.events().isEmpty)
            #expect(try reader.event(1) { _, _ in 1 } == nil)
            #expect(try reader.findings().isEmpty)
        }
    }

    @Test func aVeryLargePayloadAndAnErasedOneAreKept() throws {
        try withTemporaryDirectory { directory in
            var random = SeededRandom(seed: 2)
            let large = ArchivedTestEvent(
                seq: 5_000, payload: [UInt8](repeating: 7, count: 600_000), random: &random)
            var events = random.archivedEvents(3)
            events[1] = try ArchivedTestEvent(seq: events[1].seq, payload: [1, 2, 3], random: &random).erased()
            let all = events + [large]
            let summary = try write(all, to: directory)
            #expect(try ArchiveReader.open(directory + "/" + summary.name).events() == all)
        }
    }

    @Test func onlyTheOwnerCanReadAnArchive() throws {
        try withTemporaryDirectory { directory in
            let archives = directory + "/archives"
            let name = try write([], to: archives + "/").name
            func mode(_ path: String) throws -> Int? {
                try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            }
            #expect(try mode(archives) == 0o700)
            #expect(try mode(archives + "/" + name) == 0o600)
        }
    }

    @Test func namesSayTheFloorAndDiffer() throws {
        try withTemporaryDirectory { directory in
            let header = ArchiveHeader(store: .none, through: 42)
            let names = try (0..<3).map { _ in try write([], to: directory, header: header).name }
            #expect(Set(names).count == 3)
            #expect(names.allSatisfy { $0.hasPrefix("traylog-000000000042-") && $0.hasSuffix(".archive") })
        }
    }

    @Test func anAbandonedWriterLeavesNoFile() throws {
        try withTemporaryDirectory { directory in
            var random = SeededRandom(seed: 3)
            let events = random.archivedEvents(500)
            do {
                let writer = try ArchiveWriter(directory: directory, header: testHeader)
                for event in events { try writer.append(event) }
                #expect(try names(in: directory) == [writer.name + ".partial"])
            }
            #expect(try names(in: directory).isEmpty)
            let writer = try ArchiveWriter(directory: directory, header: testHeader)
            writer.cancel()
            #expect(try names(in: directory).isEmpty)
        }
    }

    @Test func aWriterTakesAwayWhatAKilledOneLeftAndNothingElse() throws {
        try withTemporaryDirectory { directory in
            let running = try ArchiveWriter(directory: directory, header: testHeader)
            try store([1], as: directory + "/traylog-000000000001-00000000.archive.partial")
            try store([1], as: directory + "/mine.partial")
            let name = try write([], to: directory).name
            #expect(Set(try names(in: directory)) == [running.name + ".partial", "mine.partial", name])
            let other = try running.finish().name
            #expect(Set(try names(in: directory)) == [other, "mine.partial", name])
        }
    }

    @Test func aDamagedEventIsNotArchived() throws {
        try withTemporaryDirectory { directory in
            var random = SeededRandom(seed: 4)
            var event = random.archivedEvents(1)[0]
            event.record[20] ^= 1
            let writer = try ArchiveWriter(directory: directory, header: testHeader)
            let error = #expect(throws: CodecError.self) { try writer.append(event) }
            #expect(error?.code == .damaged && error?.seq == event.seq)
        }
    }

    @Test func directoriesThatCannotBeUsedAreNamed() throws {
        try withTemporaryDirectory { directory in
            let missing = try archiveError { try write([], to: directory + "/a/b") }
            #expect(missing?.code == .unusableDirectory && missing?.message.contains("/a/b: ") == true)
            try store([], as: directory + "/file")
            #expect(try archiveError { try write([], to: directory + "/file") }?.code == .unusableDirectory)
            #expect(try archiveError { try ArchiveSet.open(directory + "/none", store: .none) }?.code == .notFound)
            #expect(try archiveError { try ArchiveSet.open(directory + "/file", store: .none) }?.code == .notFound)
            #expect(try archiveError { try ArchiveSet.open(directory, store: .none) }?.code == .noArchives)
        }
    }
}
