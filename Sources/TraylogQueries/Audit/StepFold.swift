import TraylogDomain
import TraylogStates

/// Folds one user's events from one moment to another, and stops after each event.
package struct StepFold {
    package let base: UserSnapshot
    package let history: StepHistory
    /// The user's own events after `base`, ascending.
    private let own: [UInt64]
    private let end: UInt64

    /// - Parameters:
    ///   - now: the user after the head.
    ///   - start: the event after which the fold begins.
    ///   - end: the last event that is folded.
    package init(_ now: UserSnapshot, after start: UInt64, through end: UInt64) throws {
        self.end = end
        var base = try now.at(start)
        // Every state is a landmark, so that the fold reports each.
        base.state.landmarkDistance = 1
        self.base = base
        own = try now.state.events(from: start + 1, through: end, stored: now.pages)
        guard let past = now.past else { preconditionFailure("A report looks at the past.") }
        history = StepHistory(now, past)
    }

    /// Whether the store knows the user.
    package var isKnown: Bool { base.stream != .absent }

    /// Folds, and calls `body` with the state after each event of the user, and after each event of a topic that reached
    /// the user.
    ///
    /// - Returns: the state after the last event.
    /// - Complexity: O(events). An `undone` folds again from a landmark.
    package func run(_ body: (borrowing TrayState, UInt64) throws -> Void) throws -> TrayState {
        var state = base.state
        guard isKnown else { return state }
        var failure: (any Error)?
        var index = 0
        func next(_ seq: UInt64) -> UInt64 {
            index += 1
            return index < own.count ? own[index] : 0
        }
        try state.catchUp(
            own: own.first ?? 0, through: end, stored: base.pages, history: history, next: next
        ) { state in
            guard failure == nil else { return }
            do {
                let seq = state.appliedSeq
                if try state.isReached(by: history.topicFact(seq), seq, stored: base.pages) { try body(state, seq) }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return state
    }
}

/// The past as a ``StepFold`` reads it.
///
/// It remembers which events belong to topics.
package final class StepHistory: FoldHistory {
    private let kept: SnapshotHistory
    private var topicSeqs: Set<UInt64> = []
    private var topicFacts: [UInt64: Fact] = [:]

    init(_ now: UserSnapshot, _ past: UnstoredPast) { kept = now.history(past) }

    /// The fact of a folded event of a topic; nil for any other event.
    func topicFact(_ seq: UInt64) -> Fact? { topicFacts.isEmpty ? nil : topicFacts[seq] }

    package func fact(_ seq: UInt64) throws -> Fact {
        let fact = try kept.fact(seq)
        if !topicSeqs.isEmpty, topicSeqs.contains(seq) { topicFacts[seq] = fact }
        return fact
    }

    package func events(ofTopic topic: Identity, after seq: UInt64, through end: UInt64) throws -> [UInt64] {
        let seqs = try kept.events(ofTopic: topic, after: seq, through: end)
        topicSeqs.formUnion(seqs)
        return seqs
    }

    package func landmark(atOrBefore seq: UInt64) throws -> Landmark<StoredPages>? {
        guard var landmark = try kept.landmark(atOrBefore: seq) else { return nil }
        landmark.state.landmarkDistance = 1
        return landmark
    }

    package func firsts(of space: PageSpace, changedSince seq: UInt64) throws -> [UInt64] {
        try kept.firsts(of: space, changedSince: seq)
    }
}
