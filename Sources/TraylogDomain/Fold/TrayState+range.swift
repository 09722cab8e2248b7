/// A mark on every item of a user that matches, at or below a position.
///
/// Stored pages get the mark when they are next loaded, so that marking a million items is one small value.
package struct RangeMark: Hashable, Sendable {
    /// The event that made the mark.
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
        self.init(seq: fact.seq, mark: mark, upTo: fact.upTo)
        thread = fact.thread
        category = fact.category
        onlyUnthreaded = fact.isUnthreaded
    }

    /// Whether it covers every item up to the position, whatever the thread and category.
    package var isUnfiltered: Bool { thread == 0 && category == 0 && !onlyUnthreaded }
    /// Whether it covers one category in all threads.
    package var isCategoryOnly: Bool { thread == 0 && category != 0 && !onlyUnthreaded }
    /// Whether it covers only items in the inbox: `archived` and `deleted` do.
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

    /// Whether a page that gets this mark no longer needs the earlier mark `other`.
    func subsumes(_ other: RangeMark) -> Bool {
        mark == other.mark && upTo >= other.upTo && thread == other.thread && category == other.category
            && onlyUnthreaded == other.onlyUnthreaded
    }
}

extension TrayState {
    /// Every item at or below `position` becomes seen.
    mutating func see(upTo position: UInt64, stored: some StatePages) throws {
        if position > seenUpTo { (seenUpTo, seenBy) = (position, appliedSeq) }
        guard position > seenMark else { return }
        try apply(RangeMark(seq: appliedSeq, mark: .seen, upTo: position), stored: stored)
    }

    /// Applies a mark to every item that it covers.
    mutating func apply(_ mark: RangeMark, stored: some StatePages) throws {
        // The newest items may be among those that leave: they are looked for again.
        if mark.takesFromInbox { newest = NewestItems() }
        // These counts become those of the items above the position, of which there are usually few or none.
        if mark.isUnfiltered || (mark.isCategoryOnly && !mark.takesFromInbox) {
            let above = try counts(above: mark.upTo, category: mark.category, stored: stored)
            markTail(mark, counting: false)
            if mark.isUnfiltered { keepOnly(above, of: mark) } else { keepOnly(above, inCategoryOf: mark) }
            if mark.isUnfiltered, mark.mark == .seen {
                seenMark = max(seenMark, mark.upTo)
            } else {
                try postpone(mark, stored: stored)
            }
        } else {
            markTail(mark, counting: true)
            try markSealedPages(mark, stored: stored)
        }
    }

    private mutating func markTail(_ mark: RangeMark, counting: Bool) {
        if mark.isUnfiltered, mark.mark == .seen { return }
        for index in tail.entries.indices where mark.covers(tail.entries[index]) {
            if counting { count(tail.entries[index], adding: false) }
            mark.apply(to: &tail.entries[index].flags)
            if counting { count(tail.entries[index], adding: true) }
        }
    }

    private mutating func keepOnly(_ above: Counts, of mark: RangeMark) {
        switch mark.mark {
        case .seen:
            unseen = above.unseen
            categories = categories.compactMap { old in
                var new = old
                new.unseen = above.categories.first { $0.category == old.category }?.unseen ?? 0
                return new.unseen == 0 && new.unread == 0 ? nil : new
            }
        case .read:
            unseen = above.unseen
            unread = above.unread
            categories = above.categories
        case .archived, .deleted:
            total = above.total
            unseen = above.unseen
            unread = above.unread
            categories = above.categories
        }
    }

    private mutating func keepOnly(_ above: Counts, inCategoryOf mark: RangeMark) {
        guard let index = categories.firstIndex(where: { $0.category == mark.category }) else { return }
        unseen = unseen &- categories[index].unseen &+ above.unseen
        categories[index].unseen = above.unseen
        if mark.mark == .read {
            unread = unread &- categories[index].unread &+ above.unread
            categories[index].unread = above.unread
        }
        if categories[index].unseen == 0, categories[index].unread == 0 { categories.remove(at: index) }
    }

    /// Applies a mark that the counts cannot be derived from: counts the items of each sealed page. A few pages are
    /// changed at once; many get the mark at their next load.
    private mutating func markSealedPages(_ mark: RangeMark, stored: some StatePages) throws {
        guard sealedPages > 0 else { return }
        var counts = self
        counts.pages = []
        var changed: [ItemPage] = []
        var changedPages = 0
        try forEachSealedPage(below: mark.upTo == .max ? .max : mark.upTo + 1, stored: stored) { original in
            var page = original
            for index in page.entries.indices where mark.covers(page.entries[index]) {
                counts.count(page.entries[index], adding: false)
                mark.apply(to: &page.entries[index].flags)
                counts.count(page.entries[index], adding: true)
            }
            guard page.entries != original.entries else { return true }
            changedPages += 1
            if changedPages <= TrayState.directPageLimit { changed.append(page) }
            return true
        }
        (total, unseen, unread) = (counts.total, counts.unseen, counts.unread)
        categories = counts.categories
        guard changedPages <= TrayState.directPageLimit else { return try postpone(mark, stored: stored) }
        for var page in changed {
            page.changedBy = mark.seq
            keep(page)
        }
    }

    /// Leaves the mark to the next load of each sealed page.
    private mutating func postpone(_ mark: RangeMark, stored: some StatePages) throws {
        guard sealedPages > 0 else { return }
        if mark.takesFromInbox {
            if let last = rangeMarks.last, mark.subsumes(last) { rangeMarks.removeLast() }
        } else {
            rangeMarks.removeAll { mark.subsumes($0) }
        }
        rangeMarks.append(mark)
        if rangeMarks.count > TrayState.rangeMarkLimit { try settle(by: mark.seq, stored: stored) }
    }

    /// Applies the waiting marks to every sealed page, and forgets them.
    private mutating func settle(by seq: UInt64, stored: some StatePages) throws {
        var settled: [ItemPage] = []
        try forEachSealedPage(below: .max, stored: stored) { original in
            var page = original
            page.changedBy = seq
            settled.append(page)
            return true
        }
        for page in settled { keep(page) }
        rangeMarks.removeAll()
    }
}
