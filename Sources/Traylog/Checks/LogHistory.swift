import TraylogDomain
import TraylogLMDB
import TraylogLog

/// The events of topics, gathered while the log is read.
struct TopicFacts {
    private var identities: [UInt32: UInt64] = [:]
    /// By the topic's identity, ascending.
    private var seqs: [UInt64: [UInt64]] = [:]
    private var facts: [UInt64: Fact] = [:]

    func has(_ stream: UInt32) -> Bool { !identities.isEmpty && identities[stream] != nil }

    /// Makes a topic known whose first event may have left the log.
    mutating func begin(_ stream: UInt32, _ name: StreamName, _ hasher: IdentityHasher) {
        identities[stream] = hasher.identity(of: name.text, as: .topic)
    }

    /// Adds an event of a topic; the first one of a stream names it.
    mutating func add(_ fact: borrowing Fact, _ stream: UInt32, _ payload: RawSpan, _ hasher: IdentityHasher) throws {
        if identities[stream] == nil {
            guard case .topic(let name) = try EventDecoder.streamName(seq: fact.seq, payload: payload) else {
                throw CodecError(.damaged, seq: fact.seq, "a broadcast without topic")
            }
            identities[stream] = hasher.identity(of: name, as: .topic)
        }
        guard let identity = identities[stream] else { return }
        seqs[identity, default: []].append(fact.seq)
        facts[fact.seq] = copy fact
    }

    func fact(_ seq: UInt64) -> Fact? { facts[seq] }

    func events(of topic: UInt64, after seq: UInt64, through end: UInt64) -> ArraySlice<UInt64> {
        guard let all = seqs[topic] else { return [] }
        let start = all.partitioningIndex { $0 > seq }
        return all[start...].prefix { $0 <= end }
    }
}

/// The past as a reading of the log has it.
struct LogHistory: FoldHistory {
    let fold: LogFold
    let topics: TopicFacts
    /// The newest of the user.
    let landmark: TrayState?
    let base: FoldBase?
    /// The event that is being folded.
    let current: Fact

    func fact(_ seq: UInt64) throws -> Fact {
        if seq == current.seq { return current }
        if let fact = topics.fact(seq) { return fact }
        let log = fold.tables.log
        guard let fact = try fold.environment.read({ try log.fact(seq, hasher: fold.hasher, in: $0) }) else {
            throw CodecError(.damaged, seq: seq, "it is missing from the log")
        }
        return fact
    }

    func events(ofTopic topic: UInt64, after seq: UInt64, through end: UInt64) throws -> [UInt64] {
        Array(topics.events(of: topic, after: seq, through: end))
    }

    func landmark(atOrBefore seq: UInt64) -> Landmark<BasePages>? {
        let candidates = [landmark, base?.state].compactMap { $0 }
        guard let state = candidates.first(where: { $0.appliedSeq <= seq }) else { return nil }
        return Landmark(state: state, pages: BasePages(stored: base?.pages))
    }

    func firsts(of space: PageSpace, changedSince seq: UInt64) -> [UInt64] { [] }
}

extension [UInt64] {
    /// The index of the first element that satisfies `isRight`, where all after it do. O(log n).
    fileprivate func partitioningIndex(where isRight: (UInt64) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isRight(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
