import TraylogDomain
import TraylogLog
import TraylogLMDB
import TraylogStates

/// The past of a stream as a reading of the log has it.
struct LogHistory: FoldHistory {
    let fold: LogFold
    let topics: TopicFacts
    /// Of the stream.
    let own: StreamFacts
    /// The newest of the user, ascending.
    let landmarks: [TrayState]
    let base: FoldBase?

    func fact(_ seq: UInt64) throws -> Fact {
        if let fact = own.fact(withSeq: seq) ?? topics.fact(seq) { return fact }
        let log = fold.log.events
        guard let fact = try fold.rows.read({ try log.fact(seq, hasher: fold.hasher, in: $0) }) else {
            throw CodecError(.damaged, seq: seq, "it is missing from the log")
        }
        return fact
    }

    func events(ofTopic topic: Identity, after seq: UInt64, through end: UInt64) throws -> [UInt64] {
        Array(topics.events(of: topic, after: seq, through: end))
    }

    func landmark(atOrBefore seq: UInt64) -> Landmark<BasePages>? {
        for state in landmarks.reversed() + [base?.state].compactMap({ $0 }) where state.appliedSeq <= seq {
            return Landmark(state: state, pages: BasePages(stored: base?.pages))
        }
        return nil
    }

    func firsts(of space: PageSpace, changedSince seq: UInt64) -> [UInt64] { [] }
}
