import TraylogChecks
import TraylogAudit
import TraylogDomain
@_spi(Operations) import TraylogEvidence
import TraylogLog
import TraylogQueries
import TraylogStates
import TraylogTree

extension BlockingQueries {
    /// What a user answered to an item, with what the user was shown, and the proofs of both.
    ///
    /// - Parameters:
    ///   - item: one that the user has answered.
    ///   - user: the user; for an erased person, the pseudonym, and the item by its seq.
    ///   - asOf: the tree that the proofs lead to; nil for the present one.
    ///   - archives: read as well, for what left the log.
    /// - Throws: ``TraylogError``: refused `unknownItem`, `notAnswered`, `upToBeyondHead`, `compacted` for what left the log; failed.
    /// - Complexity: O(events of the item's stream since the item came); with archives, O(log).
    @available(*, noasync, message: "use `await store.decision`; this call blocks a thread that tasks share")
    @_spi(Operations) public func decision(
        on item: ItemReference, by user: String, asOf: Moment? = nil, including archives: Archives? = nil
    ) throws(TraylogError) -> DecisionRecord {
        let head = try treeHead(asOf: asOf)
        let rows =
            if let archives {
                try queries.decisionRows(item, user, in: head.size, archives)
            } else {
                try queries.decisionRows(item, user, in: head.size)
            }
        return try queries.translatingErrors { _ in
            let nodes = CachedNodes(try queries.nodes(through: head.size), size: head.size)
            func entry(_ row: LogRow) throws -> CompleteEntry {
                let leaf = try row.leaf()
                return CompleteEntry(
                    topic: nil, isNaming: false, event: try row.event(), counts: nil,
                    proof: EventProof(
                        leaf: leaf, head: head, inclusion: try nodes.inclusionProof(ofLeaf: leaf.index, in: head.size)),
                    disclosure: try row.disclosure)
            }
            return try DecisionRecord(
                user: user, item: Seq(rows.shown[0].seq), treeHead: head, shown: try rows.shown.map(entry),
                answers: try rows.answers.map(entry), later: try rows.later.map(entry))
        }
    }
}

extension TrayQueries {
    /// The same, while the task waits.
    ///
    /// ```swift
    /// print(try await store.decision(on: "deploy-17", by: "ann").json)
    /// ```
    @_spi(Operations) public func decision(
        on item: ItemReference, by user: String, asOf: Moment? = nil, including archives: Archives? = nil
    ) async throws(TraylogError) -> DecisionRecord {
        try await asking(atLength: true) { store throws(TraylogError) in
            try store.decision(on: item, by: user, asOf: asOf, including: archives)
        }
    }
}

/// The events of a decision, as the log has them.
private struct DecisionRows {
    /// The item and its edits.
    var shown: [LogRow]
    var answers: [LogRow] = []
    var later: LogRow?

    /// Whether no edit that the answer counts is missing.
    var isWhole: Bool {
        get throws {
            guard let answer = try answers.first?.event(), case .acted = answer.body else { return true }
            var expected: UInt64 = 0
            for event in try shown.dropFirst().map({ try $0.event() }) {
                // An arrival says how many came before it.
                if event.kind == .arrived { expected = event.edits } else { expected &+= 1 }
                guard event.edits == expected else { return false }
            }
            return answer.edits == expected
        }
    }
}

extension Queries {
    /// Those that the log has.
    fileprivate func decisionRows(
        _ item: ItemReference, _ user: String, in size: UInt64
    ) throws(TraylogError) -> DecisionRows {
        try answer(.past, of: user) { now in
            if Pseudonym.stream(of: user) == now.stream, now.stream != .absent {
                return try now.leavings(of: item, through: size)
            }
            let shown = try now.shownItem(item, through: size)
            let item = shown.entry.seq
            // The outcome is a field like any other that an event gave its value.
            for event in [item] + shown.overrides.filter({ $0.field == .outcome }).map(\.event) {
                guard try now.store.holds(event) else { throw now.store.record.floor.refusal }
            }
            guard let outcome = try shown.outcome(from: now.pages), UInt64(outcome.seq) <= size else {
                throw Refusal.notAnswered(Seq(item))
            }
            // Edits before it arrived are part of what arrived.
            var (edits, later) = (shown.arrival.map { [$0] } ?? [], UInt64?.none)
            try now.forEachEdit(of: item, after: shown.base, through: size) { seq in
                if seq <= UInt64(outcome.asOf) {
                    edits.append(seq)
                    return true
                }
                later = seq
                return false
            }
            var rows = DecisionRows(shown: try ([item] + edits).map(now.row))
            rows.answers = [try now.row(UInt64(outcome.seq))]
            rows.later = try later.map(now.row)
            guard try rows.isWhole else {
                guard now.store.record.floor.seq > .zero else {
                    throw Refusal.invalid(
                        field: "item", reason: "was edited by a version that did not number the edits")
                }
                throw now.store.record.floor.refusal
            }
            return rows
        }
    }

    /// Those that the log and its archives have.
    fileprivate func decisionRows(
        _ item: ItemReference, _ user: String, in size: UInt64, _ archives: Archives
    ) throws(TraylogError) -> DecisionRows {
        let found = try answer(.now, of: user) { now -> (item: UInt64, base: UInt64, isErased: Bool) in
            if Pseudonym.stream(of: user) == now.stream, now.stream != .absent { return (0, 0, true) }
            let shown = try now.shownItem(item, through: size)
            return (shown.entry.seq, shown.base, false)
        }
        // What is left of an erased person is in the log: archives have no more.
        guard !found.isErased else { return try decisionRows(item, user, in: size) }
        var merged = try MergedLog(self, archives, of: nil, from: found.item, through: size)
        return try translatingErrors { source in
            guard let origin = try merged.take(), origin.seq == found.item else {
                throw try source.read(.now, of: user) { $0.store.record.floor.refusal }
            }
            var (rows, edits) = (DecisionRows(shown: [origin]), [LogRow]())
            while let row = try merged.take() {
                let kind = try RecordHeader.read(RawSpan(_elements: row.record.span), seq: row.seq).kind
                guard kind == .edited || kind == .acted || kind == .arrived, row.seq >= found.base else { continue }
                let event = try row.event()
                switch event.body {
                case .edited(Seq(found.item), _), .arrived(Seq(found.item), _, _, _, _): edits.append(row)
                case .acted(Seq(found.item), _, _, _) where event.user.hasSameBytes(as: user): rows.answers.append(row)
                default: break
                }
            }
            guard let outcome = try rows.answers.first.flatMap({ Outcome(try $0.event()) }) else {
                throw Refusal.notAnswered(Seq(found.item))
            }
            rows.answers = [rows.answers[0]]
            rows.shown += edits.filter { $0.seq <= UInt64(outcome.asOf) }
            rows.later = edits.first { $0.seq > UInt64(outcome.asOf) }
            guard try rows.isWhole else { throw try source.read(.now, of: user) { $0.store.record.floor.refusal } }
            return rows
        }
    }
}

extension UserSnapshot {
    /// An item of the tree of the first `size` events.
    fileprivate func shownItem(_ reference: ItemReference, through size: UInt64) throws -> ShownItem {
        let entry = try state.entry(of: reference, hasher: hasher, source: pages)
        guard entry.seq <= size else { throw Refusal.unknownItem(reference) }
        return try state.shown(entry, stored: pages)
    }

    fileprivate func row(_ seq: UInt64) throws -> LogRow {
        guard let row = try store.read({ try store.tables.log.events.row(seq, in: $0) }) else {
            throw store.record.floor.refusal
        }
        return row
    }

    /// What is left of the decisions of an erased person: the item, and each answer that came after it.
    fileprivate func leavings(of item: ItemReference, through size: UInt64) throws -> DecisionRows {
        guard case .seq(let seq) = item, seq > .zero, UInt64(seq) <= size, try store.holds(UInt64(seq)) else {
            throw Refusal.unknownItem(item)
        }
        let own = try state.events(from: 1, through: store.head, stored: pages).filter { try store.holds($0) }
        let event = try store.event(seq)
        switch event.body {
        case .redacted(.notified) where own.contains(UInt64(seq)): break
        case .broadcast(let topic, let content):
            let end = try own.last.map { try store.event(Seq($0)).body }
            let identity = hasher.identity(of: topic, as: .topic)
            let arrival =
                content.notBefore == nil
                ? seq : try arrival(ofBroadcast: UInt64(seq), to: identity, through: size).map { Seq($0) }
            guard case .erased(let spans)? = end, let arrival,
                spans.contains(where: { $0.topic.hasSameBytes(as: topic) && $0.from < arrival && arrival < $0.to })
            else { throw Refusal.unknownItem(item) }
        default: throw Refusal.unknownItem(item)
        }
        var rows = DecisionRows(shown: [try row(UInt64(seq))])
        for event in own where event > UInt64(seq) && event <= size {
            let found = try row(event)
            guard case .redacted(.acted) = try found.event().body else { continue }
            rows.answers.append(found)
        }
        guard !rows.answers.isEmpty else { throw Refusal.notAnswered(seq) }
        return rows
    }
}
