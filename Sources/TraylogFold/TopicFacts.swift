import TraylogDomain
import TraylogLog
import TraylogStates

/// The events of topics, gathered while the log is read; any user may need them.
package struct TopicFacts: Sendable {
    private var identities: [StreamID: Identity] = [:]
    /// Ascending.
    private var seqs: [Identity: [UInt64]] = [:]
    /// Of all topics, ascending by seq.
    private var facts: [Fact] = []

    private mutating func append(_ fact: Fact, of topic: Identity) {
        seqs[topic, default: []].append(fact.seq)
        facts.append(fact)
    }

    var isEmpty: Bool { identities.isEmpty }

    func has(_ stream: StreamID) -> Bool { !identities.isEmpty && identities[stream] != nil }

    /// Makes a topic known whose first event may have left the log.
    mutating func begin(_ stream: StreamID, _ name: StreamName, _ hasher: IdentityHasher) {
        identities[stream] = hasher.identity(of: name.text, as: .topic)
    }

    /// Adds what is a topic's among the facts of a buffer.
    mutating func add(_ buffer: FactBuffer, _ hasher: IdentityHasher) {
        guard buffer.hasBroadcasts || !isEmpty else { return }
        buffer.forEachArrival { stream, place in
            guard has(stream) || buffer.kind(at: place) == .broadcast else { return }
            if !has(stream), let name = buffer.name(at: place, stream: stream) { begin(stream, name, hasher) }
            guard let identity = identities[stream] else { return }
            var times = FactTimes()
            append(buffer.fact(at: place, times: &times), of: identity)
        }
    }

    func fact(_ seq: UInt64) -> Fact? {
        let index = facts.lowerBound { $0.seq >= seq }
        guard index < facts.count, facts[index].seq == seq else { return nil }
        return facts[index]
    }

    func events(of topic: Identity, after seq: UInt64, through end: UInt64) -> ArraySlice<UInt64> {
        guard let all = seqs[topic] else { return [] }
        let start = all.lowerBound { $0 > seq }
        return all[start..<max(start, all.lowerBound { $0 > end })]
    }
}

extension Array {
    /// The index of the first element that satisfies `isRight`, where all after it do; the end if none does.
    ///
    /// O(log n).
    fileprivate func lowerBound(_ isRight: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isRight(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
