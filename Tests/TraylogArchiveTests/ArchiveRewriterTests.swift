import Foundation
import TestSupport
import Testing
import TraylogLog

@testable import TraylogArchive

@Suite struct ArchiveRewriterTests {
    private func erase(_ path: String, where isWanted: (UInt64) -> Bool) throws -> UInt64 {
        try ArchiveRewriter.rewrite(
            path,
            replacement: { seq, record, payload in
                isWanted(seq) ? try ArchivedTestEvent(seq: seq, record, payload).erased().record : nil
            })
    }

    @Test(arguments: seeds(1, nightly: 60))
    func replacedEventsAreGoneAndAllOthersTheSame(seed: UInt64) throws {
        try withTemporaryDirectory { directory in
            var random = SeededRandom(seed: seed)
            let events = random.archivedEvents(800)
            let path = directory + "/" + (try write(events, to: directory).name)
            let old = try ArchiveReader.open(path)
            let divisor = UInt64(random.between(2, 50))
            let count = try erase(path) { $0 % divisor == 0 }
            let expected = try events.map { $0.seq % divisor == 0 ? try $0.erased() : $0 }
            #expect(count == UInt64(events.filter { $0.seq % divisor == 0 }.count))
            let new = try ArchiveReader.open(path)
            #expect(try new.events() == expected, "seed \(seed)")
            #expect(try new.findings().isEmpty)
            #expect(new.summary.header == old.summary.header && new.summary.name == old.summary.name)
            #expect(try names(in: directory) == [old.summary.name])
            #expect(try old.events() == events, "who had it open reads on")
        }
    }

    @Test func anErasedPayloadIsLeftNowhereInTheArchive() throws {
        try withTemporaryDirectory { directory in
            var random = SeededRandom(seed: 1)
            let secret = Array("a secret that compresses badly \(random.next())".utf8)
            let events = [1, 2].map { ArchivedTestEvent(seq: $0, payload: secret, random: &random) }
            let path = directory + "/" + (try write(events, to: directory).name)
            _ = try erase(path) { _ in true }
            #expect(try ArchiveReader.open(path).events().allSatisfy { $0.record.count == 80 && $0.payload.isEmpty })
            #expect(try bytes(of: path).firstRange(of: secret) == nil)
        }
    }

    @Test func aRewriteWithoutReplacementsKeepsTheFile() throws {
        try withTemporaryDirectory { directory in
            var random = SeededRandom(seed: 2)
            let path = directory + "/" + (try write(random.archivedEvents(20), to: directory).name)
            let inode = { try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int }
            let before = try inode()
            #expect(try erase(path) { _ in false } == 0)
            #expect(try inode() == before)
            #expect(try names(in: directory).count == 1)
        }
    }

    @Test func aDamagedArchiveIsNamedAndStaysAsItIs() throws {
        try withTemporaryDirectory { directory in
            var random = SeededRandom(seed: 3)
            let path = directory + "/" + (try write(random.archivedEvents(20), to: directory).name)
            var damaged = try bytes(of: path)
            damaged[100] ^= 4
            try store(damaged, as: path)
            #expect(try archiveError { try erase(path) { _ in true } }?.code == .damaged)
            #expect(try bytes(of: path) == damaged)
            #expect(try names(in: directory).count == 1)
        }
    }

    @Test func aReplacementMustBeARecordOfItsEvent() throws {
        try withTemporaryDirectory { directory in
            var random = SeededRandom(seed: 4)
            let path = directory + "/" + (try write(random.archivedEvents(20), to: directory).name)
            let before = try bytes(of: path)
            #expect(throws: CodecError.self) {
                try ArchiveRewriter.rewrite(path, replacement: { _, _, _ in [1, 2, 3] })
            }
            #expect(try bytes(of: path) == before)
            #expect(try names(in: directory).count == 1)
        }
    }
}
