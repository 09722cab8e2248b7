/// A mark on every item of a user that matches, at or below a position.
///
/// Stored pages get the mark when they are next loaded, so that marking a million items is one small value.
package struct RangeMark: Hashable, Sendable {
    /// The event that made the mark.
    package var seq: UInt64
    package var mark: BulkMark
    package var upTo: UInt64
    /// Absent: any.
    package var thread = Identity.absent
    package var category = Identity.absent
    package var onlyUnthreaded = false

    package init(seq: UInt64, mark: BulkMark, upTo: UInt64) {
        self.seq = seq
        self.mark = mark
        self.upTo = upTo
    }

    package init?(_ fact: borrowing Fact) {
        guard let mark = BulkMark(code: fact.mark) else { return nil }
        self.init(seq: fact.seq, mark: mark, upTo: fact.upTo)
        thread = fact.thread
        category = fact.category
        onlyUnthreaded = fact.isUnthreaded
    }

    /// Whether it covers every item up to the position, whatever the thread and category.
    package var isUnfiltered: Bool { thread == .absent && category == .absent && !onlyUnthreaded }
    /// Whether it covers one category in all threads.
    package var isCategoryOnly: Bool { thread == .absent && category != .absent && !onlyUnthreaded }
    /// Whether it covers only items in the inbox: `archived` and `deleted` do.
    package var takesFromInbox: Bool { mark == .archived || mark == .deleted }

    package func matches(_ entry: ItemEntry) -> Bool {
        matches(thread: entry.thread, category: entry.category)
    }

    /// Whether it changes an item; one that is gone or has not arrived keeps its flags.
    package func covers(_ entry: ItemEntry) -> Bool {
        let isAffected = takesFromInbox ? entry.flags.isInInbox : entry.flags.isDisjoint(with: [.gone, .scheduled])
        return isAffected && entry.position <= upTo && matches(entry)
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
        (mark == other.mark || (mark == .read && other.mark == .seen)) && upTo >= other.upTo
            && (category == .absent || category == other.category)
            && (thread == .absent && !onlyUnthreaded
                || (thread == other.thread && onlyUnthreaded == other.onlyUnthreaded))
    }
}

extension TrayState {
    /// Every item at or below `position` that is not gone becomes seen.
    mutating func see(upTo position: UInt64, stored: some StatePages) throws {
        if position > seenUpTo { (seenUpTo, seenBy) = (position, appliedSeq) }
        guard position > seenMark else { return }
        try apply(RangeMark(seq: appliedSeq, mark: .seen, upTo: position), stored: stored)
    }

    /// Applies a mark to every item that it covers.
    ///
    /// Pages that are not in memory get it when they are next loaded. The counts become right at once: those of the whole
    /// tray, and of a category, become those of the items above the position, of which there are usually few or none; the
    /// tallies tell the others.
    mutating func apply(_ mark: RangeMark, stored: some StatePages) throws {
        // The newest items may be among those that leave: they are looked for again.
        if mark.takesFromInbox { newest = NewestItems() }
        let isCounted = mark.isUnfiltered || (mark.isCategoryOnly && !mark.takesFromInbox)
        if isCounted {
            let above = try counts(above: mark.upTo, category: mark.category, stored: stored)
            markTail(mark, counting: false)
            if mark.isUnfiltered { keepOnly(above, of: mark) } else { keepOnly(above, inCategoryOf: mark) }
        } else {
            markTail(mark, counting: true)
        }
        if isTallied {
            let above = try tallies(above: mark, stored: stored)
            if !isCounted {
                for (entry, tally) in try tallies(of: mark, stored: stored) {
                    let taken = mark.taken(of: tally) &- (above[entry] ?? Tally())
                    total &-= taken.listed
                    awaiting &-= taken.awaiting
                    uncount(entry.category, taken)
                }
            }
            try postpone(mark, stored: stored)
            try restore(above, stored: stored)
        } else if !isCounted {
            try markSealedPages(mark, stored: stored)
        } else if !(mark.isUnfiltered && mark.mark == .seen) {
            try postpone(mark, stored: stored)
        }
        if mark.isUnfiltered, mark.mark == .seen { seenMark = max(seenMark, mark.upTo) }
    }

    private mutating func uncount(_ category: Identity, _ taken: Tally) {
        unseen &-= taken.unseen
        unread &-= taken.unread
        guard category != .absent, taken.unseen != 0 || taken.unread != 0 else { return }
        count(category, namedBy: 0, unseen: 0 &- taken.unseen, unread: 0 &- taken.unread)
    }

    private mutating func markTail(_ mark: RangeMark, counting: Bool) {
        if mark.isUnfiltered, mark.mark == .seen { return }
        for index in tail.entries.indices where mark.covers(tail.entries[index]) {
            if counting { count(tail.entries[index], adding: false) }
            mark.apply(to: &tail.entries[index].flags)
            if counting { count(tail.entries[index], adding: true) }
        }
    }

    private mutating func keepOnly(_ above: TrayState, of mark: RangeMark) {
        unseen = above.unseen
        if mark.mark == .seen {
            categories = categories.compactMap { old in
                var new = old
                new.unseen = above.categories.first { $0.category == old.category }?.unseen ?? 0
                return new.unseen == 0 && new.unread == 0 ? nil : new
            }
        } else {
            unread = above.unread
            categories = above.categories
            if mark.takesFromInbox { (total, awaiting) = (above.total, above.awaiting) }
        }
    }

    private mutating func keepOnly(_ above: TrayState, inCategoryOf mark: RangeMark) {
        guard let index = categories.firstIndex(where: { $0.category == mark.category }) else { return }
        unseen = unseen &- categories[index].unseen &+ above.unseen
        categories[index].unseen = above.unseen
        if mark.mark == .read {
            unread = unread &- categories[index].unread &+ above.unread
            categories[index].unread = above.unread
        }
        if categories[index].unseen == 0, categories[index].unread == 0 { categories.remove(at: index) }
    }

    /// Applies a mark to the sealed pages, as long as they are so few that there are no tallies.
    private mutating func markSealedPages(_ mark: RangeMark, stored: some StatePages) throws {
        var changed: [ItemPage] = []
        try forEachSealedPage(below: mark.upTo == .max ? .max : mark.upTo + 1, stored: stored) { original in
            var page = original
            for index in page.entries.indices where mark.covers(page.entries[index]) {
                mark.apply(to: &page.entries[index].flags)
            }
            guard page.entries != original.entries else { return true }
            page.changedBy = mark.seq
            changed.append(page)
            for (old, new) in zip(original.entries, page.entries) where old.flags != new.flags {
                let taken = tally(of: old) &- tally(of: new)
                total &-= taken.listed
                awaiting &-= taken.awaiting
                uncount(old.category, taken)
            }
            return true
        }
        for page in changed { replace(page) }
    }

    /// Range marks that may wait: more are applied to all pages, some pages with each new mark, and go then.
    private var waitingMarks: Int { min(max(32, Int(clamping: sealedPages / 4)), 1_024) }

    /// Leaves the mark to the next load of each sealed page.
    private mutating func postpone(_ mark: RangeMark, stored: some StatePages) throws {
        guard sealedPages > 0 else { return }
        // The effect of archiving or deleting depends on an earlier mark of the other kind.
        let other = mark.takesFromInbox ? rangeMarks.last { $0.takesFromInbox && $0.mark != mark.mark } : nil
        let start = other?.seq ?? 0
        rangeMarks.removeAll { $0.seq > start && mark.subsumes($0) }
        rangeMarks.append(mark)
        if sweepBelow > 0 || rangeMarks.count > waitingMarks { try sweep(by: mark.seq, stored: stored) }
    }

    /// Applies the waiting marks to some more pages; after the last one the marks that all have are forgotten.
    private mutating func sweep(by seq: UInt64, stored: some StatePages) throws {
        if sweepBelow == 0 { (sweepBelow, sweepThrough) = (.max, seq) }
        for _ in 0..<max(8, sealedPages / 512) {
            guard sweepBelow > 0, let page = try unmarkedPage(at: sweepBelow - 1, stored: stored) else {
                sweepBelow = 0
                break
            }
            var settled = page
            settled.catchUp(with: rangeMarks)
            if settled.entries != page.entries {
                settled.changedBy = seq
                replace(settled)
            }
            guard page.first < sweepBelow else { throw PackedError.damaged("page order") }
            sweepBelow = page.first
        }
        guard sweepBelow == 0 else { return }
        try settleTallies(stored: stored)
        let through = sweepThrough
        rangeMarks.removeAll { $0.seq <= through }
        sweepThrough = 0
    }
}
