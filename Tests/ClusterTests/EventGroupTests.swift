import TestSupport
import Testing
@_spi(JSON) @_spi(Replication) import Traylog
import TraylogAudit
import TraylogCluster
import TraylogDomain
import TraylogLog

@Suite struct EventGroupTests {
    private func group(_ count: Int, seed: UInt64 = 1) -> EventGroup {
        let store = LedgerStore(seed: seed)
        var records: [LogRecord] = []
        let commands = (0..<count).map { Command.notify("u\($0)", title: "Item \($0)") }
        if count > 0, case .group(let made) = store.decide(commands) { records = made }
        return EventGroup(epoch: 7, owner: "näm", root: .ofEmptyTree, first: 1, records: records)
    }

    @Test(arguments: [0, 1, 2, 300]) func aGroupIsReadAsItWasWritten(count: Int) throws {
        let group = group(count)
        #expect(try EventGroup(body: group.body) == group)
        #expect(group.last == Seq(UInt64(count)))
    }

    @Test func everyChangedBitAndEveryEndIsNoticed() {
        let body = group(3).body
        for index in body.indices {
            var damaged = body
            damaged[index] ^= 1 << (index % 8)
            #expect(throws: DamagedGroup.self) { try EventGroup(body: damaged) }
            #expect(throws: DamagedGroup.self) { try EventGroup(body: Array(body.prefix(index))) }
        }
    }

    @Test func aGroupOutsideOfItsBoundsIsRefused() {
        func isRead(_ change: (inout EventGroup) -> Void) -> Bool {
            var group = group(0)
            change(&group)
            return (try? EventGroup(body: group.body)) == group
        }
        #expect(isRead { $0.first = Seq((1 << 56) - 1) } && !isRead { $0.first = Seq(1 << 56) })
        #expect(isRead { $0.first = 1 } && !isRead { $0.first = 0 })
        let name = String(repeating: "n", count: 256)
        #expect(isRead { $0.owner = name } && !isRead { $0.owner = name + "n" })
    }

    /// With a checksum that matches, the fields are looked at.
    @Test(arguments: seeds(1, nightly: 300)) func noBytesTrap(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let body = group(4, seed: seed).body
        for _ in 0..<3_000 {
            var bytes = Array(body.dropLast(4))
            for _ in 0..<random.between(1, 6) { bytes[random.below(bytes.count)] = UInt8(random.below(256)) }
            if random.chance(30) { bytes.removeLast(random.below(bytes.count)) }
            let checksum = crc32c(RawSpan(_elements: bytes.span))
            for shift in [0, 8, 16, 24] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: checksum >> shift)) }
            guard let group = try? EventGroup(body: bytes) else { continue }
            // The body bounds the records, which are checked where they are applied.
            #expect(group.records.reduce(0) { $0 + $1.bytes.count } < bytes.count)
            var node = NodeProtocol(name: "n", position: .start, tree: MerkleAccumulator())
            let place = LogPosition(rawValue: 1)
            _ = node.receive([LogMessage(position: place, id: "x", root: .ofEmptyTree, body: bytes)])
        }
    }

    @Test func theLogKeepsWhatSomebodyNeeds() {
        let places = (1...9).map { LogPosition(rawValue: $0) }
        let bounds = LogBounds(first: places[1], last: places[7])
        var retention = LogRetention(nodes: ["a": places[4], "b": places[5]], backup: nil)
        #expect(retention.firstKept(of: bounds) == places[1])
        retention.backup = places[3]
        #expect(retention.firstKept(of: bounds) == places[3])
        retention.backup = places[7]
        #expect(retention.firstKept(of: bounds) == places[4])
        retention.nodes = ["a": places[8], "b": places[8]]
        #expect(retention.firstKept(of: bounds) == places[7])
        #expect(!retention.isFinished(places[6], bounds))
        #expect(retention.isFinished(places[6], LogBounds(first: places[6], last: places[7])))
        retention.nodes["b"] = places[5]
        #expect(!retention.isFinished(places[6], LogBounds(first: places[6], last: places[7])))
    }
}
