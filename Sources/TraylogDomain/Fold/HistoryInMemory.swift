/// A history whose events are all in memory, and whose states have no stored pages.
package protocol HistoryInMemory: FoldHistory, StateSource where Pages == NoStoredPages {
    /// The events of each topic, ascending.
    var topics: [Identity: [UInt64]] { get }
    /// Kept states, ascending.
    var landmarks: [TrayState] { get }
}

extension HistoryInMemory {
    package func events(ofTopic topic: Identity, after seq: UInt64, through end: UInt64) -> [UInt64] {
        guard let seqs = topics[topic], let last = seqs.last, last > seq else { return [] }
        return Array(seqs[seqs.bisect { $0 <= seq }..<seqs.bisect { $0 <= end }])
    }

    package func landmark(atOrBefore seq: UInt64) -> Landmark<NoStoredPages>? {
        landmarks.last { $0.appliedSeq <= seq }.map { Landmark(state: $0, pages: NoStoredPages()) }
    }

    package func firsts(of space: PageSpace, changedSince seq: UInt64) -> [UInt64] { [] }
    package func items(at position: UInt64) -> ItemPage? { nil }
    package func keys(_ space: PageSpace, at key: UInt64) -> KeyIndex.Page? { nil }
    package func events(from seq: UInt64) -> EventIndex.Page? { nil }
}
