extension TrayState {
    /// Every item at or below `position` becomes seen.
    mutating func see(upTo position: UInt64, stored: some StatePages) throws {
        seenUpTo = max(seenUpTo, position)
        guard position > seenMark else { return }
        try apply(RangeMark(seq: appliedSeq, mark: .seen, upTo: position), stored: stored)
    }

    /// Applies a mark to every item that it covers.
    mutating func apply(_ mark: RangeMark, stored: some StatePages) throws {
        // What is left of these counts is exactly what lies above the position, which is little or nothing as a rule.
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

    /// Marks sealed pages for which no count is at hand: counts them one by one, changes them if they are few, and
    /// leaves the mark to their next load if they are many.
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

    /// Leaves the mark to each sealed page's next load.
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

    /// Brings every sealed page up to the marks, so that none has to wait any longer.
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
