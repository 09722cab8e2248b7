import TraylogChecks
import TraylogAudit
import TraylogDomain
@_spi(Operations) import TraylogEvidence
import TraylogPlatform
import TraylogLMDB
import TraylogQueries
import TraylogStates
import TraylogTree

/// What a report says of the events, without its proof.
private struct FoldedAudit {
    let size: UInt64
    let from: Seq
    let through: Seq
    let before: TrayCounts
    let tray: Tray
    let steps: [AuditStep]
}

extension BlockingQueries {
    /// ``StoreProofs/auditReport(of:from:to:asOf:withTrays:including:)`` on the calling thread.
    @available(*, noasync, message: "use `await store.proofs.auditReport`; this call blocks a thread that tasks share")
    @_spi(Operations) public func auditReport(
        of user: String, from: Moment? = nil, to: Moment? = nil, asOf: Moment? = nil, withTrays: Bool = false,
        including archives: Archives? = nil
    ) throws(TraylogError) -> AuditReport {
        if let archives {
            return try wholeAudit(of: user, from: from, to: to, asOf: asOf, withTrays: withTrays, including: archives)
        }
        let found = try fold(user, from: from, to: to, asOf: asOf, withTrays: withTrays)
        return AuditReport(
            user: user, from: found.from, through: found.through, treeHead: try queries.treeHead(of: found.size),
            before: found.before, tray: found.tray, steps: found.steps)
    }

    /// A report without its tree head, which is hashed from the whole log as long as the tree is not stored.
    ///
    /// - Returns: the first event that was looked at, the counts before it, and the steps.
    @available(*, noasync, message: "use `await store.proofs.auditSteps`; this call blocks a thread that tasks share")
    @_spi(Operations) public func auditSteps(
        of user: String, from: Moment? = nil, to: Moment? = nil
    ) throws(TraylogError) -> (from: Seq, before: TrayCounts, steps: [AuditStep]) {
        let found = try fold(user, from: from, to: to, asOf: nil, withTrays: false)
        return (found.from, found.before, found.steps)
    }

    private func fold(
        _ user: String, from: Moment?, to: Moment?, asOf: Moment?, withTrays: Bool
    ) throws(TraylogError) -> FoldedAudit {
        try queries.answer(.past, of: user) { now in
            let store = now.store
            let size = try store.seq(of: asOf)
            let first = try store.first(of: from)
            let end = try store.seq(of: to, "to")
            if case .seq(let from)? = from, case .seq(let to)? = to, from > to {
                throw Refusal.invalid(field: "from", reason: "is after the later moment")
            }
            let last = min(end, size)
            let start = min(first - 1, last)
            let fold = try StepFold(now, after: start, through: last)
            let (steps, state) = try AuditReport.steps(from: fold.base.state, user, withTrays ? fold.base.pages : nil) {
                try fold.run($0)
            }
            let then = try now.at(last)
            guard TrayCounts(state) == TrayCounts(then.state) else { throw StoreFailure.unequalFolds }
            let (before, tray) = (TrayCounts(fold.base.state), try then.tray())
            return FoldedAudit(
                size: size, from: Seq(start + 1), through: Seq(last), before: before, tray: tray, steps: steps)
        }
    }

    /// The events of some steps of a report.
    ///
    /// - Parameters:
    ///   - report: the report.
    ///   - range: indexes of ``AuditReport/steps``.
    ///   - withProofs: adds the proof that each event is in the tree of ``AuditReport/treeHead``.
    ///   - disclosed: adds salt and payload of each event, for those who may read them.
    /// - Complexity: O(range). A proof takes about 0.1 ms, and less for events close together.
    @available(*, noasync, message: "use `await store.proofs.entries`; this call blocks a thread that tasks share")
    @_spi(Operations) public func entries(
        of report: AuditReport, _ range: Range<Int>, withProofs: Bool, disclosed: Bool = false
    ) throws(TraylogError) -> [AuditEntry] {
        let steps = report.steps[range]
        let logged = try events(of: steps.filter { report.archived[$0.seq] == nil })
        var entries = try queries.translatingErrors { _ in
            var logged = logged[...]
            return try steps.map { step in
                if let row = report.archived[step.seq] { return AuditEntry(step: step, event: try row.event()) }
                return AuditEntry(step: step, event: logged.removeFirst())
            }
        }
        if withProofs { try prove(&entries, of: report) }
        guard disclosed else { return entries }
        for index in entries.indices {
            let seq = entries[index].event.seq
            guard let row = report.archived[seq] else {
                entries[index].disclosure = try disclosure(of: seq)
                continue
            }
            entries[index].disclosure = try queries.translatingErrors { _ in try row.disclosure }
        }
        return entries
    }

    private func prove(_ entries: inout [AuditEntry], of report: AuditReport) throws(TraylogError) {
        entries = try queries.translatingErrors { source in
            let size = report.treeHead.size
            let nodes = CachedNodes(try queries.nodes(through: size), size: size)
            return try entries.map { entry in
                let seq = entry.event.seq
                let leaf =
                    try report.archived[seq]?.leaf()
                    ?? source.environment.read { try source.tables.log.events.leaf(seq.rawValue, in: $0) }
                guard let leaf else { return entry }
                var proved = entry
                proved.proof = EventProof(
                    leaf: leaf, head: report.treeHead,
                    inclusion: try nodes.inclusionProof(ofLeaf: leaf.index, in: size))
                return proved
            }
        }
    }

    /// The events of steps, in the order of the steps.
    @available(*, noasync, message: "use `await store.proofs.events`; this call blocks a thread that tasks share")
    @_spi(Operations) public func events(of steps: [AuditStep]) throws(TraylogError) -> [Event] {
        var events: [Event] = []
        events.reserveCapacity(steps.count)
        while events.count < steps.count {
            events += try queries.answer { store in
                try Cancellation.checkCurrent()
                return try steps[events.count...].prefix(1_000).map { try store.event($0.seq) }
            }
        }
        return events
    }
}

extension AuditReport {
    /// - Parameter source: of the trays after each step; nil without trays.
    static func steps(
        from base: TrayState, _ user: String, _ source: (some StateSource)?,
        run: ((borrowing TrayState, UInt64) throws -> Void) throws -> TrayState
    ) throws -> (steps: [AuditStep], state: TrayState) {
        var steps: [AuditStep] = []
        var before = TrayCounts(base)
        let state = try run { state, seq in
            let after = TrayCounts(state)
            if steps.count.isMultiple(of: 256) { try Cancellation.checkCurrent() }
            var step = AuditStep(seq: Seq(seq), before: before, after: after)
            if let source { step.tray = try state.tray(of: user, asOf: Seq(seq), source: source) }
            steps.append(step)
            before = after
        }
        return (steps, state)
    }
}

extension StoreSnapshot {
    /// The first event of a range that begins at a moment; without a moment, the first event after the floor.
    func first(of moment: Moment?) throws -> UInt64 {
        switch moment {
        case nil: return record.floor.seq.rawValue + 1
        case .seq(let seq):
            let first = max(seq.rawValue, 1)
            // The state before it must be known.
            guard first > record.floor.seq.rawValue else { throw record.floor.refusal }
            return first
        case .time(let time):
            let before = time.milliseconds.subtractingReportingOverflow(1)
            guard !before.overflow else { return 1 }
            return try seq(of: .time(Timestamp(milliseconds: before.partialValue))) + 1
        }
    }
}

extension StoreFailure {
    static var unequalFolds: StoreFailure {
        StoreFailure(
            code: .damaged,
            message:
                "the user's events do not lead to the stored tray; run `traylog replay`, which names the difference"
        )
    }
}
