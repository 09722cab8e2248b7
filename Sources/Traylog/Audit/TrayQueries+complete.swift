import TraylogAudit
import TraylogChecks
import TraylogDomain
@_spi(Operations) import TraylogEvidence
import TraylogLog
import TraylogPlatform
import TraylogQueries
import TraylogStates
import TraylogTree

extension BlockingQueries {
    /// A user's history with nothing left out.
    ///
    /// - Parameters:
    ///   - user: the user; for an erased person, the pseudonym.
    ///   - last: where it ends: the event that ``BlockingStore/recordAccess(of:actor:device:purpose:)`` appended; for an erased
    ///     person, any event from the `erased` on.
    ///   - archives: all archives of the store's compactions; nil for the log alone.
    /// - Throws: ``TraylogError``: refused `upToBeyondHead`; refused `invalid` for somebody without events, and for another `last`;
    ///   failed.
    /// - Complexity: O(events of the user and of the user's topics), with archives O(log); 16 bytes of memory for each.
    @available(
        *, noasync, message: "use `await store.proofs.completeHistory`; this call blocks a thread that tasks share"
    )
    @_spi(Operations) public func completeHistory(
        of user: String, through last: Seq, including archives: Archives? = nil
    ) throws(TraylogError) -> CompleteHistory {
        let joins = try archives.map { archives throws(TraylogError) in
            try CompletePlan.joins(of: user, queries, archives, through: last.rawValue)
        }
        let end = try archives.map { archives throws(TraylogError) in
            try CompletePlan.end(last, of: user, queries, archives)
        }
        let plan = try queries.answer(.past, of: user) { now in
            try CompletePlan(now, through: last, joins, end: end ?? nil)
        }
        return try CompleteHistory(plan, queries, archives)
    }
}

/// The events that a complete history shows: those of the user, and those of each topic.
///
/// A topic's events begin with the first subscription, and end with the last revision that an event of the user states.
struct CompletePlan: Sendable {
    struct Line: Sendable {
        var seq: UInt64
        /// An index of ``CompletePlan/topics``; negative for an own event.
        var topic: Int32
        var revision: UInt32
    }

    let user: String
    let size: UInt64
    private(set) var topics: [String] = []
    /// The events between which the user was subscribed, by topic.
    private(set) var spans: [[ClosedRange<UInt64>]] = []
    /// Ascending.
    private(set) var lines: [Line] = []
    /// Broadcasts that have their content only because nothing else says which stream is their topic's.
    private(set) var naming: Set<UInt64> = []
    /// Those of them from before the first subscription.
    private(set) var earlier: Set<UInt64> = []

    /// An event that begins or ends a subscription.
    struct Join: Sendable {
        let seq: UInt64
        let body: Event.Body
    }

    /// - Parameters:
    ///   - joins: the events that begin and end subscriptions; nil to look for them in the log.
    ///   - end: the last event; nil to look for it in the log.
    init(_ now: UserSnapshot, through last: Seq, _ joins: [Join]?, end: Event? = nil) throws {
        user = now.user
        size = last.rawValue
        guard last.rawValue <= now.store.head else {
            throw Refusal.upToBeyondHead(last, head: Seq(now.store.head), field: "through")
        }
        let own = try now.state.events(from: 1, through: size, stored: now.pages)
        guard !own.isEmpty else {
            throw Refusal.invalid(field: "user", reason: "has no events: there is nothing to read")
        }
        lines = own.indices.map { Line(seq: own[$0], topic: -1, revision: UInt32($0 + 1)) }
        guard let past = now.past else { preconditionFailure("A complete history looks at the past.") }
        let history = now.history(past)
        let stated = try Self.topics(statedBy: try end ?? now.store.event(last), of: user)
        for (topic, spans) in Self.spans(try joins ?? Self.joins(own, now.store)) {
            // Without the topic in `audited`, what came after the last subscription concerns the user no more.
            let end = stated.contains(Array(topic.utf8)) ? size : min(size, spans[spans.count - 1].upperBound)
            let seqs = try history.events(
                ofTopic: now.hasher.identity(of: topic, as: .topic), after: 0, through: end)
            let first = seqs.bisect { $0 <= spans[0].lowerBound }
            lines += (first..<seqs.count).map {
                Line(seq: seqs[$0], topic: Int32(topics.count), revision: UInt32($0 + 1))
            }
            if let name = try Self.naming(seqs, from: first, spans, now.store) {
                naming.insert(name)
                if name < spans[0].lowerBound {
                    earlier.insert(name)
                    lines.append(Line(seq: name, topic: Int32(topics.count), revision: 0))
                }
            }
            topics.append(topic)
            self.spans.append(spans)
        }
        lines.sort { $0.seq < $1.seq }
    }

    /// The topics that the last event, an `audited`, states; none for somebody who was erased.
    private static func topics(statedBy end: Event, of user: String) throws -> Set<[UInt8]> {
        guard Pseudonym.stream(of: user) == nil else { return [] }
        guard case .audited(_, let revisions) = end.body, end.user.hasSameBytes(as: user) else {
            throw Refusal.invalid(
                field: "through",
                reason: "must be the event of `recordAccess(of:)`, which states where the history ends")
        }
        return Set(revisions.map { Array($0.topic.utf8) })
    }

    /// An event of the log or its archives; nil where neither has it.
    fileprivate static func end(
        _ seq: Seq, of user: String, _ queries: Queries, _ archives: Archives
    ) throws(TraylogError) -> Event? {
        var merged = try MergedLog(
            queries, archives, of: user, from: seq.rawValue, through: seq.rawValue)
        return try queries.translatingErrors { _ in try merged.take()?.event() }
    }

    private static func joins(_ own: [UInt64], _ store: StoreSnapshot) throws -> [Join] {
        try own.compactMap { seq in
            guard let kind = try kind(of: seq, store), kind == .subscribed || kind == .unsubscribed else { return nil }
            return Join(seq: seq, body: try store.event(Seq(seq)).body)
        }
    }

    /// The same, of the log and its archives together.
    static func joins(
        of user: String, _ queries: Queries, _ archives: Archives, through last: UInt64
    ) throws(TraylogError) -> [Join] {
        var merged = try MergedLog(queries, archives, of: user, from: 1, through: last)
        var joins: [Join] = []
        do {
            while let row = try merged.take() {
                let kind = try RecordHeader.read(RawSpan(_elements: row.record.span), seq: row.seq).kind
                guard kind == .subscribed || kind == .unsubscribed else { continue }
                joins.append(Join(seq: row.seq, body: try row.event().body))
            }
        } catch {
            throw TraylogError(error, in: queries.source.directory)
        }
        return joins
    }

    /// The topics that the user was ever subscribed to, each with the events between which it was so.
    private static func spans(_ joins: [Join]) -> [(topic: String, spans: [ClosedRange<UInt64>])] {
        var found: [(topic: String, spans: [ClosedRange<UInt64>])] = []
        var places: [[UInt8]: Int] = [:]
        for join in joins {
            switch join.body {
            case .subscribed(let topic, _):
                let place = places[Array(topic.utf8), default: found.count]
                if place == found.count { found.append((topic, [])) }
                places[Array(topic.utf8)] = place
                found[place].spans.append(join.seq...UInt64.max)
            case .unsubscribed(let topic, _):
                guard let place = places[Array(topic.utf8)], let span = found[place].spans.popLast() else { continue }
                found[place].spans.append(span.lowerBound...join.seq)
            default: continue
            }
        }
        return found
    }

    /// A broadcast that shows which stream is the topic's; nil where a broadcast reached the user, or where nothing is shown.
    private static func naming(
        _ seqs: [UInt64], from first: Int, _ spans: [ClosedRange<UInt64>], _ store: StoreSnapshot
    ) throws -> UInt64? {
        guard first < seqs.count else { return nil }
        var unheard: UInt64?
        for seq in seqs[first...] {
            let kind = try kind(of: seq, store)
            guard kind == .broadcast || kind == .arrived else { continue }
            if spans.contains(where: { $0.contains(seq) }) { return nil }
            if kind == .broadcast { unheard = seq }
        }
        return try unheard ?? seqs[..<first].last { try kind(of: $0, store) == .broadcast }
    }

    /// Nil for an event that left the log.
    private static func kind(of seq: UInt64, _ store: StoreSnapshot) throws -> EventKind? {
        try store.read { transaction in
            try store.tables.log.events.record(seq, in: transaction) { try RecordHeader.read($0, seq: seq).kind } ?? nil
        }
    }
}

/// A user's history with nothing left out, to be written line by line.
///
/// It folds the events while it reads them, and keeps some 200 bytes for each, whatever they say. For one thread.
@_spi(Operations) public struct CompleteHistory {
    private static let entriesAtOnce = 500

    /// The user.
    public var user: String { plan.user }
    /// The head of the log's tree where the history ends.
    public let treeHead: TreeHead
    /// The number of events, including missing ones.
    public var count: Int { plan.lines.count }
    /// What neither the log nor the archives have, as far as ``take()`` has come.
    public private(set) var gaps: [RevisionGap] = []

    private let plan: CompletePlan
    private let queries: Queries
    private var merged: MergedLog?
    private let nodes: CachedNodes
    private let fold = CompleteFold()
    private var next = 0
    private var counts = TrayCounts()
    /// Topics whose broadcasts reached the user.
    private var heard: Set<Int32> = []
    /// The newest gap of each stream, an index of ``gaps``.
    private var newestGaps: [Int32: Int] = [:]
    /// The event of the log and its archives that was read last.
    private var pending: LogRow?

    init(_ plan: CompletePlan, _ queries: Queries, _ archives: Archives?) throws(TraylogError) {
        self.plan = plan
        self.queries = queries
        treeHead = try queries.treeHead(of: plan.size)
        if let archives {
            merged = try MergedLog(queries, archives, of: nil, from: plan.lines.first?.seq ?? 1, through: plan.size)
        }
        nodes = try queries.translatingErrors { _ in
            CachedNodes(try queries.nodes(through: plan.size), size: plan.size)
        }
    }

    /// The next entries, in the order of the log; nil after the last.
    public mutating func take() throws(TraylogError) -> [CompleteEntry]? {
        guard next < plan.lines.count else { return nil }
        let lines = plan.lines[next..<min(next + Self.entriesAtOnce, plan.lines.count)]
        next = lines.endIndex
        do {
            var entries: [CompleteEntry] = []
            for (line, row) in zip(lines, try rows(of: lines)) {
                if let row { entries.append(try entry(line, row)) } else { noteMissing(line) }
            }
            return entries
        } catch {
            throw TraylogError(error, in: queries.source.directory)
        }
    }

    private mutating func rows(of lines: ArraySlice<CompletePlan.Line>) throws -> [LogRow?] {
        guard var merged else {
            return try queries.answer { store in
                try Cancellation.checkCurrent()
                return try store.read { transaction in
                    try lines.map { try store.tables.log.events.row($0.seq, in: transaction) }
                }
            }
        }
        // Out of `self` while it moves on.
        self.merged = nil
        defer { self.merged = merged }
        var rows: [LogRow?] = []
        var row = pending
        for line in lines {
            while row?.seq ?? 0 < line.seq, let following = try merged.take() { row = following }
            rows.append(row?.seq == line.seq ? row : nil)
        }
        pending = row
        return rows
    }

    private mutating func entry(_ line: CompletePlan.Line, _ row: LogRow) throws -> CompleteEntry {
        let leaf = try row.leaf()
        let topic = line.topic < 0 ? nil : plan.topics[Int(line.topic)]
        let event = try row.event()
        let (isEarlier, concerns) = (plan.earlier.contains(line.seq), self.concerns(event, line))
        let isShown = concerns || plan.naming.contains(line.seq)
        var entry = CompleteEntry(
            topic: topic, isNaming: isEarlier, event: isShown ? event : nil, counts: nil,
            proof: EventProof(
                leaf: leaf, head: treeHead, inclusion: try nodes.inclusionProof(ofLeaf: leaf.index, in: treeHead.size)),
            disclosure: isShown ? try row.disclosure : nil)
        guard concerns, gaps.isEmpty, try fold.take(event, ofTopic: topic) else { return entry }
        let after = TrayCounts(fold.state)
        entry.counts = (counts, after)
        counts = after
        return entry
    }

    /// Whether an event reached the user, or may concern what did.
    private mutating func concerns(_ event: Event, _ line: CompletePlan.Line) -> Bool {
        guard line.topic >= 0 else { return true }
        // Which broadcast the others are about is in their content alone.
        guard event.kind == .broadcast || event.kind == .arrived else { return heard.contains(line.topic) }
        guard plan.spans[Int(line.topic)].contains(where: { $0.contains(line.seq) }) else {
            return event.kind == .arrived && heard.contains(line.topic)
        }
        // What is scheduled may never arrive.
        if event.content?.notBefore == nil { heard.insert(line.topic) }
        return true
    }

    private mutating func noteMissing(_ line: CompletePlan.Line) {
        guard line.revision > 0 else { return }
        let revision = UInt64(line.revision)
        let stream = line.topic < 0 ? user : "topic \(plan.topics[Int(line.topic)])"
        guard let gap = RevisionGap(after: revision - 1, through: revision, of: stream) else { return }
        if let place = newestGaps[line.topic], gaps[place].join(gap) { return }
        newestGaps[line.topic] = gaps.count
        gaps.append(gap)
    }

    /// The tray that the events lead to, once all are taken; as the store has it where events are missing.
    public func tray() throws(TraylogError) -> Tray {
        let asOf = Seq(plan.size)
        let stored = try queries.answer(.past, of: user) { try $0.at(plan.size).tray() }
        guard gaps.isEmpty else { return stored }
        do {
            guard try fold.tray(of: user, asOf: asOf.rawValue) == stored else { throw StoreFailure.unequalFolds }
        } catch {
            throw TraylogError(error, in: queries.source.directory)
        }
        return stored
    }
}
