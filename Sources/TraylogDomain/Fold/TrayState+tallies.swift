/// Counts of a set of items: those listed, and of these the unseen and the unread ones.
package struct Tally: Hashable, Sendable {
    package var listed: UInt64 = 0
    package var unseen: UInt64 = 0
    package var unread: UInt64 = 0

    package init(listed: UInt64 = 0, unseen: UInt64 = 0, unread: UInt64 = 0) {
        (self.listed, self.unseen, self.unread) = (listed, unseen, unread)
    }

    var isZero: Bool { self == Tally() }

    static func &+ (left: Tally, right: Tally) -> Tally {
        Tally(
            listed: left.listed &+ right.listed, unseen: left.unseen &+ right.unseen,
            unread: left.unread &+ right.unread)
    }

    static func &- (left: Tally, right: Tally) -> Tally {
        Tally(
            listed: left.listed &- right.listed, unseen: left.unseen &- right.unseen,
            unread: left.unread &- right.unread)
    }
}

extension RangeMark {
    /// Of items that it covers all, the part that no longer counts.
    func taken(of tally: Tally) -> Tally {
        switch mark {
        case .seen: Tally(unseen: tally.unseen)
        case .read: Tally(unseen: tally.unseen, unread: tally.unread)
        case .archived, .deleted: tally
        }
    }

    package func matches(thread: UInt64, category: UInt64) -> Bool {
        (self.thread == 0 || thread == self.thread) && (self.category == 0 || category == self.category)
            && (!onlyUnthreaded || thread == 0)
    }
}

/// The counts of the sealed pages by thread and category, so that a mark of some of them needs no look at the items.
///
/// They lie in the pages of an index by thread. Like a page of items, one of tallies gets range marks when it is next
/// loaded: a mark that covers all sealed items of a pair leaves nothing of it. Those above a mark's position are added
/// again at once.
extension TrayState {
    var isTallied: Bool { tallies.pageCount > 0 }

    func tally(of entry: ItemEntry) -> Tally {
        guard entry.flags.isListed else { return Tally() }
        guard entry.flags.isCounted else { return Tally(listed: 1) }
        return Tally(listed: 1, unseen: isSeen(entry) ? 0 : 1, unread: entry.flags.contains(.read) ? 0 : 1)
    }

    /// Adds entries that are sealed now.
    mutating func tally(_ entries: [ItemEntry], stored: some StatePages) throws {
        for entry in entries { try tally(entry, by: tally(of: entry), stored: stored) }
        if !isTallied { tallies.keep(newTallies(first: 0)) }
    }

    /// Changes what the sealed items of an entry's thread and category count.
    mutating func tally(_ entry: ItemEntry, by change: Tally, stored: some StatePages) throws {
        if !change.isZero { try tally(entry.thread, entry.category, by: change, stored: stored) }
    }

    private mutating func tally(
        _ thread: UInt64, _ category: UInt64, by change: Tally, stored: some StatePages
    ) throws {
        if tallies.pages.index(atOrBelow: thread).map({ tallies.pages[$0].holds(thread) }) != true {
            tallies.keep(try talliesPage(holding: thread, stored: stored) ?? newTallies(first: 0))
        }
        guard let place = tallies.pages.index(atOrBelow: thread) else { return }
        tallies.pages[place].catchUp(with: rangeMarks)
        tallies.pages[place].changedBy = appliedSeq
        tallies.pages[place].add(change, to: KeyIndex.Entry(identity: thread, seq: category))
        if tallies.pages[place].entries.count > KeyIndex.talliesPageLimit, let upper = tallies.pages[place].split() {
            tallies.keep(upper)
            tallies.pageCount &+= 1
        }
    }

    private mutating func newTallies(first: UInt64) -> KeyIndex.Page {
        tallies.pageCount &+= 1
        var page = KeyIndex.Page(first: first)
        (page.changedBy, page.markedThrough) = (appliedSeq, max(rangeMarks.last?.seq ?? 0, 1))
        return page
    }

    /// The page of the thread's tallies, with every mark applied; nil when there are no tallies.
    private func talliesPage(holding thread: UInt64, stored: some StatePages) throws -> KeyIndex.Page? {
        var page = try unmarkedTalliesPage(holding: thread, stored: stored)
        page?.catchUp(with: rangeMarks)
        return page
    }

    /// The same page as it was kept, without the marks that wait for it.
    private func unmarkedTalliesPage(holding thread: UInt64, stored: some StatePages) throws -> KeyIndex.Page? {
        guard isTallied, let page = try tallies.page(holding: thread, load: stored.load(.tallies)) else { return nil }
        guard page.tallies.count == page.entries.count else { throw PackedError.damaged("tallies") }
        return page
    }

    /// Visits the pages of tallies that hold a category, the highest threads first, with every mark applied.
    private func forEachTallies(
        ofCategory category: UInt64, stored: some StatePages, _ body: (KeyIndex.Page) throws -> Void
    ) throws {
        var bound = UInt64.max
        while var page = try unmarkedTalliesPage(holding: bound, stored: stored) {
            // Most pages do not hold it, and marks take longer than to see that.
            if page.entries.contains(where: { $0.seq == category }) {
                page.catchUp(with: rangeMarks)
                try body(page)
            }
            // The walk ends because each page lies below the one before.
            guard page.first <= bound else { throw PackedError.damaged("page order") }
            guard page.first > 0 else { return }
            bound = page.first - 1
        }
    }

    /// The tallies, before the mark, of the threads and categories that it names.
    func tallies(of mark: RangeMark, stored: some StatePages) throws -> [KeyIndex.Entry: Tally] {
        var found: [KeyIndex.Entry: Tally] = [:]
        func note(_ page: KeyIndex.Page) {
            for (entry, tally) in zip(page.entries, page.tallies)
            where mark.matches(thread: entry.identity, category: entry.seq) { found[entry] = tally }
        }
        if mark.thread != 0 || mark.onlyUnthreaded {
            try talliesPage(holding: mark.thread, stored: stored).map(note)
        } else {
            try forEachTallies(ofCategory: mark.category, stored: stored, note)
        }
        return found
    }

    /// The tallies of sealed items that the mark names but does not reach, because they lie above its position.
    func tallies(above mark: RangeMark, stored: some StatePages) throws -> [KeyIndex.Entry: Tally] {
        var found: [KeyIndex.Entry: Tally] = [:]
        guard mark.upTo < tail.first &- 1 else { return found }
        try forEachSealedPage(below: .max, stored: stored) { page in
            for entry in page.entries where entry.position > mark.upTo && mark.matches(entry) {
                found[KeyIndex.Entry(identity: entry.thread, seq: entry.category), default: Tally()] =
                    found[KeyIndex.Entry(identity: entry.thread, seq: entry.category), default: Tally()]
                    &+ mark.taken(of: tally(of: entry))
            }
            return page.first > mark.upTo
        }
        return found
    }

    /// Adds again what a mark that waits for the tallies' pages would take from items above its position.
    mutating func restore(_ above: [KeyIndex.Entry: Tally], stored: some StatePages) throws {
        for (entry, tally) in above.sorted(by: { ($0.key.identity, $0.key.seq) < ($1.key.identity, $1.key.seq) })
        where !tally.isZero { try self.tally(entry.identity, entry.seq, by: tally, stored: stored) }
    }

    /// Holds the pages of tallies that waiting marks change.
    mutating func settleTallies(stored: some StatePages) throws {
        guard let newest = rangeMarks.last?.seq else { return }
        var bound = UInt64.max
        while let page = try unmarkedTalliesPage(holding: bound, stored: stored) {
            var settled = page
            settled.catchUp(with: rangeMarks)
            if settled.entries != page.entries || settled.tallies != page.tallies {
                settled.changedBy = newest
                tallies.keep(settled)
            }
            guard page.first <= bound else { throw PackedError.damaged("page order") }
            guard page.first > 0 else { return }
            bound = page.first - 1
        }
    }
}

extension KeyIndex {
    /// With five bytes of counts or less for each entry, a page of so many shares an LMDB page with others.
    static let talliesPageLimit = 64
}

extension KeyIndex.Page {
    fileprivate mutating func add(_ change: Tally, to entry: KeyIndex.Entry) {
        let index = entries.bisect { ($0.identity, $0.seq) < (entry.identity, entry.seq) }
        if index == entries.count || entries[index] != entry {
            entries.insert(entry, at: index)
            tallies.insert(change, at: index)
            return
        }
        tallies[index] = tallies[index] &+ change
        if tallies[index].isZero { removeTally(at: index) }
    }

    private mutating func removeTally(at index: Int) {
        entries.remove(at: index)
        tallies.remove(at: index)
    }

    /// Applies the range marks that the tallies lack, as marks of all items.
    fileprivate mutating func catchUp(with marks: [RangeMark]) {
        guard let newest = marks.last?.seq, newest > markedThrough else { return }
        let threads = (entries.first?.identity ?? 0)...(entries.last?.identity ?? 0)
        var categories = IdentityFilter()
        for entry in entries { categories.insert(entry.seq) }
        for place in marks.bisect({ $0.seq <= markedThrough })..<marks.count {
            let mark = marks[place]
            let isOfThread = mark.thread != 0 || mark.onlyUnthreaded
            // Most marks are of threads or categories in other pages.
            guard !isOfThread || threads.contains(mark.thread), mark.category == 0 || categories.mayHold(mark.category)
            else { continue }
            var index = isOfThread ? firstIndex(of: mark.thread) : 0
            while index < entries.count, !isOfThread || entries[index].identity == mark.thread {
                if mark.matches(thread: entries[index].identity, category: entries[index].seq) {
                    tallies[index] = tallies[index] &- mark.taken(of: tallies[index])
                    if tallies[index].isZero {
                        removeTally(at: index)
                        continue
                    }
                }
                index += 1
            }
        }
        markedThrough = newest
    }
}
