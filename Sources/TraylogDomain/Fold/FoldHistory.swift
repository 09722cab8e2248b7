/// What a fold reads of the past, beside the state and its pages: events, topics, and states that were kept.
package protocol FoldHistory {
    associatedtype Pages: StatePages

    /// The fact of an event of the user or of a topic.
    func fact(_ seq: UInt64) throws -> Fact
    /// Seqs of a topic's events after one seq through another, ascending; none for a topic that has no events.
    func events(ofTopic topic: UInt64, after seq: UInt64, through end: UInt64) throws -> [UInt64]
    /// The newest state of this user that was kept at or before `seq`; nil when none was.
    func landmark(atOrBefore seq: UInt64) throws -> Landmark<Pages>?
    /// The ``ItemPage/first`` (or that of a ``KeyIndex/Page``) of stored pages that `seq` or a later event changed.
    func firsts(of space: PageSpace, changedSince seq: UInt64) throws -> [UInt64]
}

/// A state as it was right after the event that it holds last, and its pages as they were.
package struct Landmark<Pages: StatePages> {
    package var state: TrayState
    package var pages: Pages

    package init(state: TrayState, pages: Pages) {
        self.state = state
        self.pages = pages
    }
}

/// An event that was undone, and the event that did it.
package struct Voiding: Hashable, Sendable {
    package var event: UInt64
    package var undone: UInt64

    package init(event: UInt64, undone: UInt64) {
        self.event = event
        self.undone = undone
    }
}
