import Foundation
import TestSupport
import Testing
@_spi(Operations) import TraylogAudit
import TraylogDomain

@_spi(Replication) @_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogChecks
@_spi(Operations) @testable import TraylogEvidence
@testable import TraylogQueries
@testable import TraylogReplica
@_spi(Operations) @testable import TraylogRewrite
@testable import TraylogStates
@testable import TraylogWriter

/// Reports and other values above the domain: `Codable` is the JSON that the program prints, in both directions, for random
/// values.
@Suite struct ReportCodableTests {
    @Test(arguments: seeds(4, nightly: 200))
    func encodedValuesEqualTheirJSONForm(seed: UInt64) throws {
        var random = RandomValues(seed: seed)
        for _ in 0..<20 {
            try expectForm(random.statistics(), seed)
            try expectForm(random.compaction(), seed)
            try expectForm(random.erasure(), seed)
            try expectForm(TickReport(woken: random.number(), expired: random.number(), head: random.seq()), seed)
            try expectForm(BackupReport(head: random.seq(), bytes: random.number()), seed)
            try expectForm(random.restore(), seed)
            try expectForm(random.verification(), seed)
            try expectForm(random.replay(), seed)
            try expectForm(random.archive(), seed)
            try expectForm(random.change(), seed)
            try expectForm(random.difference(), seed)
            try expectForm(random.entry(), seed)
            try expectForm(random.audit(), seed)
            try expectForm(random.counts(), seed)
            try expectForm(KeptTreeHead(head: random.treeHead(), note: nil), seed)
            let origins: [ProjectionOrigin] = [
                .new, .rebuilt, .resumed(random.seq()), .otherVersion(7), .damaged("cut"),
            ]
            for origin in origins { try expectForm(origin, seed) }
        }
    }

    @Test(arguments: seeds(4, nightly: 200))
    func valuesWithoutAJSONFormRoundTripThroughCodable(seed: UInt64) throws {
        var random = RandomValues(seed: seed)
        try expectSame(random.changes(), seed)
        try expectSame(random.history(), seed)
        try expectSame(random.snapshot(), seed)
        try expectSame(random.filter(), seed)
        try expectSame(TrayVersion(stream: 4, newestChange: random.seq(), random.history()), seed)
        try expectSame(random.step(), seed)
        try expectSame(FetchResult(new: [random.item()], hasGap: true, endReached: false), seed)
        try expectSame(Page([random.event()], next: random.maybe { $0.seq() }, asOf: random.seq()), seed)
        try expectSame(
            ProjectionProgress(
                position: random.seq(), storedPosition: random.seq(), storedBytes: 5, origin: .resumed(random.seq()),
                failure: .failed(StoreFailure(code: .diskFull, message: "full", path: "/s"))), seed)
        var policy = CompactionPolicy(keepDays: 90, archive: "a")
        policy.intervalSeconds = Int(random.number() % 9_999)
        try expectSame(policy, seed)
        try expectSame(StoreOptions.Durability.relaxed, seed)
        try expectSame(StoreOptions.Ticking.manual, seed)
        try expectSame(BackgroundWork.compaction, seed)
        var chain = LineChain()
        chain.add([UInt8(seed)])
        try expectSame(chain, seed)
        #expect(String(decoding: try JSONEncoder().encode(chain), as: UTF8.self) == #"{"chain":"\#(chain.hash.hex)"}"#)
    }

    @Test func proofsNotesAndKeysTravelAsTheirText() throws {
        let key = try NotePrivateKey(name: "auditor")
        var random = RandomValues(seed: 1)
        let checkpoint = Checkpoint(origin: "trays", head: random.treeHead())
        let note = try checkpoint.signed(with: key)
        try expectSame(checkpoint, 1)
        try expectSame(note, 1)
        try expectSame(key.publicKey, 1)
        try expectForm(try KeptTreeHead(note.text), 1)
        let leaf = EventLeaf(
            version: 2, kind: 2, stream: 3, revision: 2, seq: 4, recordedAt: 5, occurredAt: nil,
            digest: random.treeHead().root)
        try expectSame(leaf, 1)
        try expectSame(InclusionProof(leafIndex: 3, treeSize: 5, path: [random.treeHead().root]), 1)
        try expectSame(ConsistencyProof(first: 3, second: 5, path: [random.treeHead().root]), 1)
        for text in [#"["no note"]"#, #"["x+1+y"]"#, #"["AAAA"]"#, "[7]"] {
            let data = Data(text.utf8)
            #expect(throws: DecodingError.self) { try JSONDecoder().decode([SignedNote].self, from: data) }
            #expect(throws: DecodingError.self) { try JSONDecoder().decode([Checkpoint].self, from: data) }
            #expect(throws: DecodingError.self) { try JSONDecoder().decode([NotePublicKey].self, from: data) }
            #expect(throws: DecodingError.self) { try JSONDecoder().decode([EventLeaf].self, from: data) }
            #expect(throws: DecodingError.self) { try JSONDecoder().decode([SnapshotCursor].self, from: data) }
        }
    }

    @Test func aFilterAsksNothingOfWhatIsMissing() throws {
        let filter = try JSONDecoder().decode(EventFilter.self, from: Data(#"{"actor":"eve","kinds":["marked"]}"#.utf8))
        var wanted = EventFilter()
        (wanted.actor, wanted.kinds) = ("eve", [.marked])
        #expect(filter == wanted)
    }

    /// Encoded it is the same JSON as written; decoded from either it is the same value.
    private func expectForm<Value: JSONForm & Decodable & Equatable>(_ value: Value, _ seed: UInt64) throws {
        let written = Data(value.json.utf8)
        let encoded = try JSONEncoder().encode(value)
        let objects = try [written, encoded].map { try JSONSerialization.jsonObject(with: $0) as? NSDictionary }
        #expect(objects[0] == objects[1], "seed \(seed): \(value.json)")
        for data in [written, encoded] {
            #expect(try JSONDecoder().decode(Value.self, from: data) == value, "seed \(seed): \(value.json)")
        }
    }

    private func expectSame<Value: Codable & Equatable>(_ value: Value, _ seed: UInt64) throws {
        let encoded = try JSONEncoder().encode([value])
        let again = try JSONDecoder().decode([Value].self, from: encoded)
        #expect(again == [value], "seed \(seed): \(String(decoding: encoded, as: UTF8.self))")
    }
}

/// Values of the library, the same ones for the same seed.
private struct RandomValues {
    var generator: SeededRandom

    init(seed: UInt64) { generator = SeededRandom(seed: seed) }

    mutating func number() -> UInt64 { generator.next() >> UInt64.random(in: 10..<64, using: &generator) }
    mutating func seq() -> Seq { Seq(number()) }
    mutating func flag() -> Bool { Bool.random(using: &generator) }
    mutating func count() -> Int { Int(number() % 100_000) }
    mutating func time() -> Timestamp { Timestamp(milliseconds: Int64(number() % 4_000_000_000_000)) }
    mutating func text() -> String { ["a", "é\"", "a b", "\u{2028}", "x/y"].randomElement(using: &generator)! }
    mutating func maybe<Value>(_ make: (inout RandomValues) -> Value) -> Value? { flag() ? make(&self) : nil }
    mutating func some<Value>(_ make: (inout RandomValues) -> Value) -> [Value] {
        (0..<Int.random(in: 0...3, using: &generator)).map { _ in make(&self) }
    }

    mutating func statistics() -> StoreStatistics {
        var statistics = StoreStatistics()
        (statistics.head, statistics.floor, statistics.events) = (seq(), seq(), number())
        (statistics.users, statistics.topics, statistics.bytes) = (number(), number(), number())
        (statistics.lastEventAt, statistics.overdueSince) = (maybe { $0.time() }, maybe { $0.time() })
        (statistics.overdue, statistics.dropped, statistics.erased) = (count(), number(), number())
        statistics.writer = maybe { StoreStatistics.Writer(pid: 7, host: $0.text(), since: $0.time()) }
        statistics.readers = some { StoreStatistics.Reader(pid: 9, lag: $0.number()) }
        statistics.tables = some { StoreStatistics.Table(name: $0.text(), entries: $0.number(), bytes: $0.number()) }
        statistics.projections = some { random in
            var projection = StoredProjection(name: random.text())
            (projection.version, projection.position) = (3, random.seq())
            projection.damage = random.maybe { $0.text() }
            return projection
        }
        return statistics
    }

    mutating func compaction() -> CompactionReport {
        var report = CompactionReport(floor: seq())
        (report.dropped, report.archive) = (number(), maybe { $0.text() })
        (report.bytesBefore, report.bytesAfter) = (number(), number())
        (report.freeBytesBefore, report.freeBytesAfter) = (number(), number())
        report.tables = some { random in
            CompactionReport.Table(name: random.text(), bytesBefore: random.number(), bytesAfter: random.number())
        }
        for kind in EventKind.allCases where flag() { report.kinds[kind] = number() }
        (report.isDryRun, report.isGivenUp) = (flag(), flag())
        return report
    }

    mutating func erasure() -> ErasureReport {
        var report = ErasureReport()
        (report.seq, report.pseudonym) = (maybe { $0.seq() }, maybe { $0.text() })
        (report.events, report.archives) = (number(), some { $0.text() })
        return report
    }

    mutating func restore() -> RestoreReport {
        RestoreReport(
            events: number(), head: seq(), lost: flag() ? [3...4, 9...9] : [], erased: flag() ? [5...5] : [],
            compacted: flag() ? [1...2] : [], orphaned: flag() ? [7...8] : [])
    }

    mutating func verification() -> VerificationReport {
        var report = VerificationReport(findings: some { $0.text() }, events: number(), users: number())
        (report.dropped, report.archivedEvents) = (number(), maybe { $0.number() })
        (report.extends, report.firstDifference) = (some { $0.flag() }, maybe { $0.number() })
        return report
    }

    mutating func replay() -> ReplayReport {
        var report = ReplayReport(events: number(), users: number(), seconds: 1.25)
        report.differences = maybe { [$0.text()] } ?? []
        return report
    }

    mutating func archive() -> Archives.File {
        Archives.File(name: text(), through: seq(), events: number(), first: seq(), last: seq(), bytes: number())
    }

    mutating func standing() -> ItemStanding {
        var entry = ItemEntry(
            seq: 5, position: number(), thread: 0, category: 0, argument: 0, summaryCount: 1, flags: [])
        entry.flags = ItemFlags(rawValue: UInt16(truncatingIfNeeded: generator.next()))
        return ItemStanding(entry, isSeen: flag())
    }

    mutating func change() -> ItemChange {
        ItemChange(
            item: seq(), kind: flag() ? .appeared : .changed, before: maybe { $0.standing() }, after: standing(),
            isEdited: flag(), content: Content(title: maybe { $0.text() }), by: some { $0.seq() })
    }

    mutating func counts() -> TrayCounts {
        var counts = TrayCounts()
        (counts.unseen, counts.unread, counts.total) = (count(), count(), count())
        return counts
    }

    mutating func tray() -> Tray {
        Tray(
            user: text(), asOf: seq(), unseen: count(), unread: count(), total: count(), seenUpTo: seq(),
            seenAt: maybe { $0.time() }, newest: maybe { $0.seq() }, newestCounted: maybe { $0.seq() },
            categories: [Tray.CategoryCounts(category: text(), unseen: 1, unread: 2)])
    }

    mutating func step() -> AuditStep {
        var step = AuditStep(seq: seq(), before: counts(), after: counts())
        step.tray = maybe { $0.tray() }
        return step
    }

    mutating func difference() -> TrayDifference {
        let (before, after) = (tray(), tray())
        return TrayDifference(
            user: text(), before: before, after: after, items: some { $0.change() }, steps: some { $0.step() })
    }

    mutating func event() -> Event {
        Event(
            seq: seq(), recordedAt: time(), occurredAt: maybe { $0.time() }, user: text(), key: nil, actor: "bot",
            device: nil, body: flag() ? .notified(Content(title: text())) : .marked(.read, items: [seq()]))
    }

    mutating func item() -> Item {
        Item(
            seq: seq(), position: seq(), content: Content(title: text(), data: "[1]"), isRead: flag(),
            recordedAt: time())
    }

    mutating func treeHead() -> TreeHead {
        TreeHead(
            size: number(), root: MerkleHash(bytes: (0..<32).map { _ in UInt8(truncatingIfNeeded: generator.next()) })!)
    }

    mutating func entry() -> AuditEntry {
        var event = event()
        if event.seq == 0 { event.seq = 1 }
        var step = step()
        step.seq = event.seq
        let size = event.seq.rawValue + 1
        let head = TreeHead(size: size, root: treeHead().root)
        let proof = EventProof(
            leafHash: treeHead().root, head: head,
            inclusion: InclusionProof(leafIndex: event.seq.rawValue - 1, treeSize: size, path: [treeHead().root]))
        return AuditEntry(
            step: step, event: event, proof: maybe { _ in proof },
            disclosure: maybe { EventDisclosure(salt: [UInt8]($0.text().utf8), payload: [1, 2, 3]) })
    }

    /// The first line of a report; its steps have their own lines.
    mutating func audit() -> AuditReport {
        AuditReport(
            user: text(), from: seq(), through: seq(), treeHead: treeHead(), before: counts(), tray: tray(), steps: [])
    }

    mutating func history() -> StoreHistory {
        var history = StoreHistory()
        if flag() { history.fork(after: seq(), id: generator.next()) }
        return history
    }

    mutating func changes() -> Changes {
        Changes(
            user: text(), stream: 4, events: some { $0.event() }, through: seq(), history: history(),
            head: seq())
    }

    mutating func snapshot() -> TraySnapshot {
        TraySnapshot(
            user: text(), asOf: seq(), history: history(), stream: 3, floor: seq(), tray: tray(),
            mutes: some { Mute(scope: .thread($0.text()), since: $0.time(), until: $0.maybe { $0.time() }) },
            topics: some { TraySnapshot.TopicSpan(topic: $0.text(), from: $0.seq(), until: $0.maybe { $0.seq() }) },
            voided: some { $0.seq() }, items: some { TraySnapshot.Part(item: $0.item(), hasContent: $0.flag()) },
            next: maybe { SnapshotCursor(asOf: $0.seq(), stream: 3, after: 0, history: $0.generator.next()) })
    }

    mutating func filter() -> EventFilter {
        var filter = EventFilter()
        (filter.user, filter.actor, filter.text) = (maybe { $0.text() }, maybe { $0.text() }, maybe { $0.text() })
        filter.kinds = Set(some { $0.flag() ? .marked : .erased })
        (filter.since, filter.until) = (maybe { $0.time() }, maybe { $0.time() })
        return filter
    }
}
