import TestSupport
import Testing

@testable import TraylogDomain

/// One history in three forms: the naive model, a state with all its pages at hand, and one that is flushed and
/// reloaded at random moments.
///
/// All three must decide the same.
struct TrayRun {
    let seed: UInt64
    let hasher: IdentityHasher
    var history: TrayHistory
    private(set) var naive = NaiveStore()
    private(set) var log: [Event] = []
    private(set) var facts: [Fact] = []
    private(set) var whole = TrayState()
    private(set) var flushed = FlushedTray()
    private(set) var reached = Reached()

    init(seed: UInt64, mix: TrayMix) {
        self.seed = seed
        hasher = IdentityHasher(key0: seed, key1: ~seed)
        history = TrayHistory(seed: seed, mix: mix)
    }

    var head: UInt64 { UInt64(log.count) }
    var wholeSource: RowSource { RowSource(log: log) }
    var flushedSource: RowSource { flushed.source(log) }

    mutating func step() throws {
        let before = head
        let command = history.next(head: before)
        if command.user == TrayHistory.user { try perform(command) } else { performElsewhere(command) }
        if history.random.chance(1), let item = history.items.first, history.random.chance(20) {
            try expire(history.random.chance(50) ? item : history.random.pick(history.items))
        }
        switch history.random.below(100) {
        case 0..<8: flushed.beginFlush()
        case 8..<20: flushed.endFlush()
        case 20..<23: flushed.flush()
        case 23..<27: try flushed.reload(facts)
        default: break
        }
    }

    private mutating func perform(_ command: Command) throws {
        let fingerprint = command.key == nil ? 0 : fingerprint(of: command)
        let blind: Result<Event.Body?, Refusal> = Result { () throws(Refusal) in try command.decideBlindly(head: head) }
        let ours = try decision(whole, command, fingerprint, wholeSource)
        let theirs = try decision(flushed.state, command, fingerprint, flushedSource)
        #expect(ours == theirs, "seed \(seed), after \(head): \(command)")
        let expected = naive.perform(command, now: now)
        let body = naive.head.rawValue > head ? naive.events.last?.body : nil
        #expect(same(expected, ours, body), "seed \(seed), after \(head): \(command): \(expected), not \(ours)")
        if case .success(let blind?) = blind { #expect(blind == body, "seed \(seed), after \(head): \(command)") }
        if body != nil { try fold(fingerprint) }
    }

    private mutating func performElsewhere(_ command: Command) {
        _ = naive.perform(command, now: now)
        log = naive.events.indices.map { $0 < log.count ? log[$0] : naive.events[$0] }
    }

    private mutating func expire(_ item: UInt64) throws {
        naive.append(.expired(item: Seq(item)), user: TrayHistory.user, now: now)
        try fold(0)
    }

    private mutating func fold(_ fingerprint: UInt64) throws {
        guard var event = naive.events.last else { return }
        event.commandFingerprint = fingerprint
        log.append(event)
        if event.kind == .notified { history.items.append(event.seq.rawValue) }
        let fact = Fact(event, hasher: hasher)
        facts.append(fact)
        let marks = whole.rangeMarks.count
        try whole.apply(fact, stored: NoStoredPages())
        try flushed.apply(fact)
        reached.note(whole, marksBefore: marks)
    }

    private var now: Timestamp { Timestamp(milliseconds: Int64(head) * 10) }

    private func decision(
        _ state: TrayState, _ command: Command, _ fingerprint: UInt64, _ source: RowSource
    ) throws -> Result<Decision, Refusal> {
        do {
            return .success(
                try state.decide(command, head: head, fingerprint: fingerprint, hasher: hasher, source: source))
        } catch let refusal as Refusal {
            return .failure(refusal)
        }
    }

    private func same(
        _ expected: Result<Receipt, Refusal>, _ decided: Result<Decision, Refusal>, _ body: Event.Body?
    ) -> Bool {
        switch (expected, decided) {
        case (.success(.appended), .success(.append(let ours, _))): body == ours
        case (.success(.duplicate(let seq)), .success(.duplicate(let ours))): seq == ours
        case (.success(.unchanged), .success(.unchanged)): true
        case (.failure(.invalid(let field, _)), .failure(.invalid(let ours, _))): field == ours
        // The state knows the edits that still hold, the store finds those before them.
        case (
            .failure(.changedSince(let item, let asOf, let edited)), .failure(.changedSince(let our, let own, let ours))
        ):
            item == our && asOf == own && edited <= ours
        case (.failure(let refusal), .failure(let ours)): refusal == ours
        default: false
        }
    }

    private func fingerprint(of command: Command) -> UInt64 {
        SipHash24.hash(String(reflecting: command).utf8Span.span, key0: 1, key1: 2)
    }
}

/// The cases that a history covered, so that a test can require them.
struct Reached {
    var sealedPages: UInt64 = 0
    var keyPages: UInt64 = 0
    var collapsePages: UInt64 = 0
    var eventPages = 0
    var settled = 0
    /// Sealed pages that do not hold the number of items that they were sealed with.
    var splitPages = 0
    var talliesPages: UInt64 = 0
    /// Marks by thread that were left to the pages' next load.
    var postponedFiltered = 0

    mutating func note(_ state: TrayState, marksBefore: Int) {
        sealedPages = state.sealedPages
        keyPages = state.keys.pageCount
        collapsePages = state.collapseKeys.pageCount
        eventPages = state.events.sealed.count
        let isFiltered = state.rangeMarks.last.map { !$0.isUnfiltered } ?? true
        if marksBefore >= 32, state.rangeMarks.count < marksBefore / 2, isFiltered { settled += 1 }
        splitPages = state.pages.count { $0.entries.count != TrayState.sealedEntries }
        talliesPages = state.tallies.pageCount
        if let last = state.rangeMarks.last, last.seq == state.appliedSeq, last.thread != 0 || last.onlyUnthreaded {
            postponedFiltered += 1
        }
    }
}
