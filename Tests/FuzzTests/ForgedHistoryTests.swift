import Foundation
import TestSupport
import Testing
@_spi(Operations) @_spi(JSON) import Traylog
@_spi(Wire) import TraylogDomain
@_spi(JSON) import TraylogJSON

@testable import TraylogAudit
@testable import TraylogCodec
@_spi(Operations) @testable import TraylogEvidence

/// Files of somebody who has no log, but a tree of their own: every proof is right, and the numbers are the worst there are.
///
/// `BUDGET` is how many seconds the random ones take, `SEED` repeats a run; a failure names the seed.
@Suite struct ForgedHistoryTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let budget = environment["BUDGET"].flatMap { WireSeconds($0) }?.clamped(
        to: .zero ... .seconds(86_400))

    @Test func aForgedHistoryGetsAVerdict() throws {
        let seed = Self.environment["SEED"].flatMap(UInt64.init) ?? .random(in: 0...(.max))
        print("ForgedHistoryTests: SEED=\(seed)")
        let end = ContinuousClock.now + (Self.budget ?? .seconds(sized(2, nightly: 120)))
        var round: UInt64 = 0
        while ContinuousClock.now < end {
            var history = ForgedHistory(seed: seed &+ round)
            let words = try history.findings()
            #expect(!words.isEmpty && words.count <= 1_001, "SEED=\(seed &+ round)")
            round += 1
        }
    }

    @Test func aTopicsEventWithRevisionZeroIsAFinding() throws {
        let words = try ForgedHistory.findings([
            ForgedHistory.Entry(revision: 0, kind: .broadcast, topic: "news", body: nil)
        ])
        #expect(words.first?.contains("revision 0") == true, "\(words)")
    }

    /// The revisions of two topics whose names look alike, the second of which goes on where the first ended.
    @Test func aGapToTheLastRevisionOfAllIsAFinding() throws {
        let (name, other) = ("e\u{301}", "\u{e9}")
        let words = try ForgedHistory.findings([
            ForgedHistory.Entry(revision: 1, kind: .subscribed, body: .subscribed(topic: name, topicRevision: 0)),
            ForgedHistory.Entry(revision: 2, kind: .subscribed, body: .subscribed(topic: other, topicRevision: 0)),
            ForgedHistory.Entry(
                revision: 3, kind: .audited,
                body: .audited(
                    purpose: nil,
                    topicRevisions: [
                        TopicRevision(topic: name, revision: .max), TopicRevision(topic: other, revision: .max),
                    ])),
        ])
        #expect(words.contains { $0.contains("revisions 1 to 18446744073709551615 of topic") }, "\(words)")
    }
}

/// A complete history of events that nobody stored.
struct ForgedHistory {
    struct Entry {
        var revision: UInt32
        var kind: EventKind
        var stream: UInt32 = 1
        /// Nil for an own event.
        var topic: String?
        /// Nil for one that is shown as its leaf alone.
        var body: Event.Body?
        var recordedAt: Int64 = 1_795_000_000_000
        var occurredAt: Int64?
    }

    private static let user = "ann"
    private var random: SeededRandom

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    mutating func findings() throws -> [String] {
        let firsts: [UInt64] = [0, 0, 0, 2, 1 << 32, 1 << 56 - 2, 1 << 63, .max - 3]
        let first = random.pick(firsts)
        var entries: [Entry] = []
        for _ in 0..<random.between(1, first == 0 ? 5 : 2) { entries.append(entry()) }
        return try Self.findings(entries, first: first)
    }

    private mutating func number() -> UInt64 {
        random.pick([0, 1, 2, 1 << 31, 1 << 32 - 1, 1 << 32, 1 << 56, 1 << 63, .max - 1, .max, random.next()])
    }

    private mutating func entry() -> Entry {
        let topic = random.pick(["news", "e\u{301}", "\u{e9}"])
        let (seq, time) = (Seq(number()), Timestamp(milliseconds: Int64(truncatingIfNeeded: number())))
        let revisions = (0..<random.below(3)).map { _ in
            TopicRevision(topic: random.pick(["news", "e\u{301}", "\u{e9}"]), revision: number())
        }
        let bodies: [Event.Body] = [
            .subscribed(topic: topic, topicRevision: number()), .unsubscribed(topic: topic, topicRevision: number()),
            .audited(purpose: nil, topicRevisions: revisions),
            .broadcast(topic: topic, Content(title: "T", expiresAt: time)),
            .notified(Content(title: "T", summaryCount: UInt32(truncatingIfNeeded: number()), remindAt: time)),
            .marked(.read, items: [seq, 1]), .traySeen(upTo: seq), .allMarked(.read, ItemFilter(), upTo: seq),
            .snoozed(item: seq, until: time), .woken(item: seq), .edited(item: seq, ContentEdit()), .undone(event: seq),
            .retracted(item: seq), .acted(item: seq, action: "a", note: nil, asOf: seq),
            .muted(.all, until: time),
            .expired(item: seq),
        ]
        let body = random.pick(bodies)
        return Entry(
            revision: random.chance(50) ? UInt32(truncatingIfNeeded: number()) : UInt32(random.between(1, 4)),
            kind: body.kind,
            stream: UInt32(random.between(1, 3)), topic: random.chance(50) ? topic : nil,
            body: random.chance(80) ? body : nil,
            recordedAt: random.chance(10) ? time.milliseconds : 1_795_000_000_000,
            occurredAt: random.chance(20) ? time.milliseconds : nil)
    }

    /// What the check says of the entries, one behind the other in a tree that fits.
    ///
    /// - Parameter first: the index of the first leaf, even; above 0 for two entries at most.
    static func findings(_ entries: [Entry], first: UInt64 = 0) throws -> [String] {
        var leaves: [(leaf: EventLeaf, event: Event, payload: [UInt8])] = []
        let salt = [UInt8](repeating: 1, count: 16)
        for (place, entry) in entries.enumerated() {
            let seq = first &+ UInt64(place) &+ 1
            var isBroadcast = false
            if case .broadcast? = entry.body { isBroadcast = true }
            let event = Event(
                seq: Seq(seq), recordedAt: Timestamp(milliseconds: entry.recordedAt),
                occurredAt: entry.occurredAt.map { Timestamp(milliseconds: $0) }, revision: UInt64(entry.revision),
                user: isBroadcast || entry.topic != nil ? nil : user, body: entry.body ?? .held)
            var payload: [UInt8] = []
            PayloadEncoder.append(event, to: &payload)
            let leaf = EventLeaf(
                version: 2, kind: entry.kind.code, stream: entry.stream, revision: entry.revision, seq: seq,
                recordedAt: entry.recordedAt, occurredAt: entry.occurredAt,
                digest: .sha256(RawSpan(_elements: salt.span), RawSpan(_elements: payload.span)))
            leaves.append((leaf, event, payload))
        }
        let proofs = try proofs(of: leaves.map(\.leaf), first: first)
        var writer = JSONWriter()
        writer.write(proofs[0].head)
        let head = String(decoding: writer.bytes, as: UTF8.self)
        var check = try CompleteCheck(treeHeads: [head], publicKey: nil)
        check.add(Array(#"{"user":"\#(user)","complete":true,"treeHead":\#(head),"disclosed":true}"#.utf8))
        for (place, entry) in entries.enumerated() {
            let counts = (before: TrayCounts(), after: TrayCounts())
            let (_, event, payload) = leaves[place]
            let line = CompleteEntry(
                topic: entry.topic, isNaming: false, event: entry.body == nil ? nil : event, counts: counts,
                proof: proofs[place],
                disclosure: entry.body == nil ? nil : EventDisclosure(salt: salt, payload: payload))
            writer.removeAll()
            writer.write(line)
            check.add(writer.bytes)
        }
        check.finish()
        return check.findings
    }

    private static func proofs(of leaves: [EventLeaf], first: UInt64) throws -> [EventProof] {
        if first == 0 {
            let nodes = Nodes(leaves: leaves.map(\.hash))
            let size = UInt64(leaves.count)
            return try leaves.indices.map {
                EventProof(
                    leaf: leaves[$0], head: try nodes.head(of: size),
                    inclusion: try nodes.inclusionProof(ofLeaf: UInt64($0), in: size))
            }
        }
        // Two leaves side by side at the end of a tree whose other nodes are anything: a path of some length fits.
        let hashes = leaves.count == 2 ? leaves.map(\.hash) : [leaves[0].hash, .ofEmptyTree]
        for length in 0..<64 {
            let rest = [MerkleHash](repeating: .ofEmptyTree, count: length)
            let found = leaves.indices.map { place in
                InclusionProof(
                    leafIndex: first + UInt64(place), treeSize: first + 2, path: [hashes[1 - place]] + rest)
            }
            let roots = zip(found, hashes).compactMap { $0.root(from: $1) }
            guard roots.count == leaves.count else { continue }
            return zip(leaves, found).map {
                EventProof(leaf: $0, head: TreeHead(size: first + 2, root: roots[0]), inclusion: $1)
            }
        }
        throw CocoaError(.featureUnsupported)
    }

    private struct Nodes: MerkleNodes {
        let leaves: [MerkleHash]

        func node(level: Int, index: UInt64) throws -> MerkleHash {
            if level == 0 { return leaves[Int(index)] }
            return .node(try node(level: level - 1, index: 2 * index), try node(level: level - 1, index: 2 * index + 1))
        }
    }
}
