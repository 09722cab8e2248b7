import TraylogDomain
import TraylogStates

/// The past without anything that was kept of it but the base.
struct UnaidedHistory<Source: FoldHistory>: FoldHistory {
    let source: Source
    let base: FoldBase?

    func fact(_ seq: UInt64) throws -> Fact { try source.fact(seq) }

    func events(ofTopic topic: UInt64, after seq: UInt64, through end: UInt64) throws -> [UInt64] {
        try source.events(ofTopic: topic, after: seq, through: end)
    }

    func landmark(atOrBefore seq: UInt64) -> Landmark<BasePages>? {
        guard let base, base.state.appliedSeq <= seq else { return nil }
        return Landmark(state: base.state, pages: BasePages(stored: base.pages))
    }

    func firsts(of space: PageSpace, changedSince seq: UInt64) -> [UInt64] { [] }
}
