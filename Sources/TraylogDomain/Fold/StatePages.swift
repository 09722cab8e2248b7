/// The stored pages of a state.
package protocol StatePages {
    /// The page with the greatest `first` at or below `position`.
    func items(at position: UInt64) throws -> ItemPage?
    /// The page of one of the ``TrayState/keyIndexes`` with the greatest `first` at or below `key`.
    func keys(_ space: PageSpace, at key: UInt64) throws -> KeyIndex.Page?
    /// The page of the stream's own events that holds `seq` or, if none does, the first one after it.
    func events(from seq: UInt64) throws -> EventIndex.Page?
}

extension StatePages {
    /// Loads the stored pages of a ``KeyIndex``.
    package func load(_ space: PageSpace) -> (UInt64) throws -> KeyIndex.Page? {
        { key in try keys(space, at: key) }
    }
}

/// The pages of a state that has none in the store.
package struct NoStoredPages: StatePages {
    package init() {}
    package func items(at position: UInt64) -> ItemPage? { nil }
    package func keys(_ space: PageSpace, at key: UInt64) -> KeyIndex.Page? { nil }
    package func events(from seq: UInt64) -> EventIndex.Page? { nil }
}

/// A state's stored pages and the log: all that decisions and queries need beside the state.
package protocol StateSource: StatePages {
    /// The event with this seq.
    ///
    /// - Throws: when it cannot be read. A sound state names only events that the log holds.
    func event(_ seq: UInt64) throws -> Event
    /// When this event was recorded; throws as ``event(_:)``.
    func recordedAt(_ seq: UInt64) throws -> Timestamp
    /// Events below it may have left the log.
    var floor: Floor { get }
    /// Events below it cannot be undone: the floor, or what a running compaction makes the floor.
    var nextFloor: Floor { get }
    /// Whether the log holds an event below the floor.
    func holds(_ seq: UInt64) throws -> Bool
    /// The ``Event/commandFingerprint`` of an event that left the log; nil when it had no key.
    func compactedFingerprint(_ seq: UInt64) throws -> UInt64?
    /// The name of a counted category; nil when the event that should name it does not.
    func category(_ count: CategoryCount) throws -> String?
}

extension StateSource {
    package var floor: Floor { Floor() }
    package var nextFloor: Floor { floor }
    package func holds(_ seq: UInt64) throws -> Bool { true }
    package func compactedFingerprint(_ seq: UInt64) throws -> UInt64? { nil }
    package func recordedAt(_ seq: UInt64) throws -> Timestamp { try event(seq).recordedAt }

    package func category(_ count: CategoryCount) throws -> String? {
        try event(count.namedBy).content?.category
    }

    /// Whether a compaction removed event `seq`.
    ///
    /// A deleted item has then lost its content, and nobody can restore it.
    package func hasLeft(_ seq: UInt64) throws -> Bool { try floor.isAbove(seq) && !holds(seq) }

    /// The refusal when event `seq` left the log; nil when the log still holds it.
    func compaction(of seq: UInt64) throws -> Refusal? { try hasLeft(seq) ? floor.refusal : nil }
}

/// The past as a fold needs it: events, topics, and states that were kept.
package protocol FoldHistory {
    associatedtype Pages: StatePages

    /// The fact of an event of the user or of a topic.
    func fact(_ seq: UInt64) throws -> Fact
    /// The seqs of a topic's events after `seq` through `end`, ascending.
    func events(ofTopic topic: Identity, after seq: UInt64, through end: UInt64) throws -> [UInt64]
    /// The events of all topics after `seq` through `end`, ascending; nil when those of each topic have to be asked for.
    func topicEvents(after seq: UInt64, through end: UInt64) throws -> [(seq: UInt64, topic: Identity)]?
    /// The newest kept state of this user at or before `seq`; nil when there is none.
    func landmark(atOrBefore seq: UInt64) throws -> Landmark<Pages>?
    /// The `first` of each stored page that `seq` or a later event changed.
    func firsts(of space: PageSpace, changedSince seq: UInt64) throws -> [UInt64]
    /// A state of this user that was folded before the undo of an event was stored, without exactly these events, and the
    /// pages that it was folded over; nil when there is none, as a rule.
    func refolded(without voided: Set<UInt64>) throws -> Landmark<Pages>?
}

extension FoldHistory {
    package func refolded(without voided: Set<UInt64>) throws -> Landmark<Pages>? { nil }
    package func topicEvents(after seq: UInt64, through end: UInt64) throws -> [(seq: UInt64, topic: Identity)]? { nil }
}

/// A state that was kept, with its pages as they were then.
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

/// The content of a stored page of a state; the raw values are stored.
package enum PageSpace: UInt8, Hashable, Sendable, CaseIterable {
    case items = 1
    /// Seqs of the stream's own events.
    case events = 2
    /// Maps idempotency keys to events.
    case keys = 3
    /// Maps collapse keys to items.
    case collapseKeys = 4
    /// Maps items that were woken to their positions.
    case moved = 5
    /// Maps events that were undone to the events that undid them.
    case voided = 6
    /// Counts what item pages hold of each thread and category (``TrayState/tallies``).
    case tallies = 7
}

/// A page of a state: loaded, changed and stored as a whole.
package protocol StatePage {
    /// Names the page among those of its kind, which ascend by it.
    var first: UInt64 { get }
    /// The seq of the event that changed the page last.
    var changedBy: UInt64 { get set }

    /// Appends the page in its stored form.
    func pack(into bytes: inout [UInt8])
}

extension ItemPage: StatePage {}
extension KeyIndex.Page: StatePage {}

extension RandomAccessCollection where Index == Int {
    /// The index of the first element that is not in front, behind all of those that are; the end when all are.
    ///
    /// O(log n).
    @inline(__always)
    package func bisect(_ isInFront: (borrowing Element) -> Bool) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = (low &+ high) / 2
            if isInFront(self[middle]) { low = middle &+ 1 } else { high = middle }
        }
        return low
    }
}

extension Array where Element: StatePage {
    /// The page with the greatest `first` at or below `number`.
    ///
    /// O(log n).
    @inline(__always)
    func index(atOrBelow number: UInt64) -> Int? {
        let index = bisect { $0.first <= number } - 1
        return index < 0 ? nil : index
    }

    /// Puts a page in its place, instead of one with the same `first`.
    mutating func keep(_ page: Element) {
        let index = bisect { $0.first < page.first }
        if index < count, self[index].first == page.first {
            self[index] = page
        } else {
            insert(page, at: index)
        }
    }
}

extension TrayState {
    /// The indexes, each with the space of its stored pages.
    package static let keyIndexes: [(space: PageSpace, index: WritableKeyPath<TrayState, KeyIndex> & Sendable)] = [
        (.keys, \.keys), (.collapseKeys, \.collapseKeys), (.moved, \.moved), (.voided, \.voided),
        (.tallies, \.tallies),
    ]
}
