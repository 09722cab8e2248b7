/// A mark on every item of a user that matches, at or below a position.
///
/// Pages that are not at hand get it when they are next loaded, so that marking a million items is one small value.
package struct RangeMark: Hashable, Sendable {
    /// The event that it comes from.
    package var seq: UInt64
    package var mark: BulkMark
    package var upTo: UInt64
    /// Identities; 0 means any.
    package var thread: UInt64 = 0
    package var category: UInt64 = 0
    package var onlyUnthreaded = false

    package init(seq: UInt64, mark: BulkMark, upTo: UInt64) {
        self.seq = seq
        self.mark = mark
        self.upTo = upTo
    }

    package init?(_ fact: borrowing Fact) {
        guard let mark = BulkMark(rawValue: fact.mark) else { return nil }
        self.init(seq: fact.seq, mark: mark, upTo: fact.target)
        thread = fact.thread
        category = fact.category
        onlyUnthreaded = fact.isUnthreaded
    }

    /// Every item up to the position, whatever its thread and category.
    package var isUnfiltered: Bool { thread == 0 && category == 0 && !onlyUnthreaded }
    /// All threads, one category.
    package var isCategoryOnly: Bool { thread == 0 && category != 0 && !onlyUnthreaded }
    /// `archived` and `deleted` cover only what is in the inbox.
    package var takesFromInbox: Bool { mark == .archived || mark == .deleted }

    package func matches(_ entry: ItemEntry) -> Bool {
        (thread == 0 || entry.thread == thread) && (category == 0 || entry.category == category)
            && (!onlyUnthreaded || entry.thread == 0)
    }

    package func covers(_ entry: ItemEntry) -> Bool {
        entry.position <= upTo && matches(entry) && (!takesFromInbox || entry.flags.isInInbox)
    }

    package func apply(to flags: inout ItemFlags) {
        switch mark {
        case .seen: flags.insert(.seen)
        case .read: flags.formUnion([.seen, .read])
        case .archived: flags.insert(.archived)
        case .deleted: flags.insert(.deleted)
        }
    }

    /// Whether a page that gets this mark needs no earlier `other` any more.
    func subsumes(_ other: RangeMark) -> Bool {
        mark == other.mark && upTo >= other.upTo && thread == other.thread && category == other.category
            && onlyUnthreaded == other.onlyUnthreaded
    }
}
