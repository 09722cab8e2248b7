import Testing
import Traylog
import TraylogDomain
@testable import traylog_cli

struct EventChunksTests {
    private func seqs(_ available: [UInt64], from first: Seq, through last: Seq) throws -> [UInt64] {
        var chunks = EventChunks(from: first, through: last) { (from, limit) in
            available.lazy.filter { $0 >= from.rawValue }.prefix(limit).map {
                Event(seq: Seq($0), recordedAt: Timestamp(milliseconds: 0), user: "ada", body: .erased(spans: []))
            }
        }
        var result: [UInt64] = []
        while let events = try chunks.take() { result += events.map(\.seq.rawValue) }
        return result
    }

    @Test(arguments: [0, 1, 255, 256, 257, 512, 1_000] as [UInt64])
    func eventChunksCoverEveryEventOnce(count: UInt64) throws {
        let all = Array(1..<count + 1)
        #expect(try seqs(all, from: 0, through: Seq(count)) == all)
    }

    @Test func eventChunksIncludeBothEndsOfTheRange() throws {
        #expect(try seqs(Array(1...1_000), from: 300, through: 700) == Array(300...700))
        #expect(try seqs(Array(1...10), from: 10, through: 10) == [10])
        #expect(try seqs(Array(1...10), from: 11, through: 10) == [])
    }

    @Test func aUsersEventsHaveGaps() throws {
        let own = (1...600).map { UInt64($0) * 7 }
        #expect(try seqs(own, from: 8, through: 4_000) == own.filter { (8...4_000).contains($0) })
    }

    @Test func theLastPossibleSeqIsAnEnd() throws {
        #expect(try seqs([.max], from: 1, through: Seq(.max)) == [.max])
    }
}
