import Foundation
import TestSupport
import Testing

@testable import TraylogArchive

/// Writers that come to no end.
@Suite struct InterruptedWriterTests {
    /// A limit on the size of files stands for a full disk.
    @Test func aFullDiskIsNamedAndLeavesNothing() throws {
        try withTemporaryDirectory { directory in
            var random = SeededRandom(seed: 1)
            let events = random.archivedEvents(3_000, largest: 5_000)
            let path = directory + "/" + (try write(events, to: directory).name)
            let size = try bytes(of: path).count
            // At the header, within blocks, and in index and footer.
            for limit in [10, 1_000, size / 2, size - 100, size - 10] {
                let status = ChildProcess.start {
                    limitFileSize(bytes: limit)
                    let written = try? archiveError { try write(events, to: directory) }
                    let rewritten = try? archiveError {
                        try ArchiveRewriter.rewrite(
                            path,
                            replacement: { seq, record, payload in
                                seq % 90 == 0 ? try ArchivedTestEvent(seq: seq, record, payload).erased().record : nil
                            })
                    }
                    let isNamed = written?.code == .diskFull && written?.message.contains("limit") == true
                    return isNamed && (rewritten?.code == .diskFull || limit > size / 2) ? 0 : 1
                }.exitStatus()
                #expect(status == 0, "\(limit) bytes of \(size)")
                #expect(try names(in: directory) == [path.split(separator: "/").last.map(String.init)])
            }
        }
    }

    @Test(arguments: seeds(1, nightly: 20))
    func aKilledWriterOrRewriterLeavesWholeArchivesOnly(seed: UInt64) throws {
        try withTemporaryDirectory { directory in
            var random = SeededRandom(seed: seed)
            let events = random.archivedEvents(300, largest: 5_000)
            for round in 0..<sized(4, nightly: 60) {
                let child = ChildProcess.start {
                    while true {
                        guard let name = try? write(events, to: directory).name else { return 1 }
                        _ = try? ArchiveRewriter.rewrite(
                            directory + "/" + name,
                            replacement: { seq, record, payload in
                                try ArchivedTestEvent(seq: seq, record, payload).erased().record
                            })
                    }
                }
                usleep(UInt32(random.below(60_000)))
                child.kill()
                #expect(child.exitStatus() == nil, "seed \(seed), round \(round)")
            }
            let last = try write(events, to: directory).name
            let names = try names(in: directory)
            #expect(names.allSatisfy { $0.hasSuffix(".archive") }, "seed \(seed): \(names)")
            let erased = try events.map { try $0.erased() }
            for name in names where name != last {
                let reader = try ArchiveReader.open(directory + "/" + name)
                #expect(try reader.findings().isEmpty, "seed \(seed): \(name)")
                let found = try reader.events()
                #expect(found == events || found == erased, "seed \(seed): \(name)")
            }
        }
    }
}
