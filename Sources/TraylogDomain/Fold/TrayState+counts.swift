extension TrayState {
    /// Whether an item is seen; one that is gone or has not arrived has its own flag alone, because ``seenMark`` moves on
    /// without it.
    package func isSeen(_ entry: ItemEntry) -> Bool {
        entry.flags.contains(.seen)
            || (entry.position <= seenMark && entry.flags.isDisjoint(with: [.gone, .scheduled]))
    }

    /// Adds an item to the counts, or takes it away.
    mutating func count(_ entry: ItemEntry, adding: Bool) {
        guard entry.flags.isListed else { return }
        let one: UInt64 = adding ? 1 : .max
        total &+= one
        newest.listed.note(entry.position, adding: adding)
        guard !entry.flags.contains(.muted) else { return }
        newest.counted.note(entry.position, adding: adding)
        if entry.flags.isAwaiting { awaiting &+= one }
        let unseenOne = isSeen(entry) ? 0 : one
        let unreadOne = entry.flags.contains(.read) ? 0 : one
        guard unseenOne != 0 || unreadOne != 0 else { return }
        unseen &+= unseenOne
        unread &+= unreadOne
        if entry.category != .absent {
            count(entry.category, namedBy: entry.seq, unseen: unseenOne, unread: unreadOne)
        }
    }

    mutating func count(_ category: Identity, namedBy seq: UInt64, unseen: UInt64, unread: UInt64) {
        let index = categories.bisect { $0.category < category }
        if index == categories.count || categories[index].category != category {
            let new = CategoryCount(category: category, namedBy: seq, unseen: unseen, unread: unread)
            categories.insert(new, at: index)
            return
        }
        categories[index].unseen &+= unseen
        categories[index].unread &+= unread
        if categories[index].unseen == 0, categories[index].unread == 0 { categories.remove(at: index) }
    }
}

extension TrayState {
    /// Finds the newest items again, when those before an event are no longer among them.
    ///
    /// - Complexity: O(items between the old and the new ones).
    mutating func findNewest(since before: NewestItems, stored: some StatePages) throws {
        guard newest.listed < before.listed || newest.counted < before.counted else { return }
        guard total > 0 else { return newest = NewestItems() }
        // Positions that are as new as before, or newer, were noted when they were counted.
        if newest.listed < before.listed { newest.listed = 0 }
        if newest.counted < before.counted { newest.counted = 0 }
        let bound = newest.listed == 0 ? before.listed : before.counted
        var found = newest
        try forEachItem(below: bound &+ 1, stored: stored) { _, entry in
            if found.listed == 0, entry.flags.isListed { found.listed = entry.position }
            if found.counted == 0, entry.flags.isCounted { found.counted = entry.position }
            return found.listed == 0 || found.counted == 0
        }
        newest = found
    }
}

extension UInt64 {
    /// Keeps this the newest of the positions noted; 0 after that one was taken away.
    fileprivate mutating func note(_ position: UInt64, adding: Bool) {
        if adding {
            self = Swift.max(self, position)
        } else if self == position {
            self = 0
        }
    }
}

extension TrayState {
    /// The counts of the items above `position`, of one category or, if absent, of all.
    ///
    /// A state that has nothing else. A range mark counts what it leaves rather than taking away what it covers, because little lies above it.
    ///
    /// - Complexity: O(items above `position`).
    func counts(above position: UInt64, category: Identity, stored: some StatePages) throws -> TrayState {
        var scratch = TrayState()
        scratch.seenMark = seenMark
        for entry in tail.entries where entry.position > position {
            if category == .absent || entry.category == category { scratch.count(entry, adding: true) }
        }
        if position < tail.first {
            try forEachSealedPage(below: .max, stored: stored) { page in
                for entry in page.entries where entry.position > position {
                    if category == .absent || entry.category == category { scratch.count(entry, adding: true) }
                }
                return page.first > position
            }
        }
        return scratch
    }
}

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

/// Counts of a set of items: those listed, and of these the unseen and the unread ones, and those that await an answer.
package struct Tally: Hashable, Sendable {
    package var listed: UInt64 = 0
    package var unseen: UInt64 = 0
    package var unread: UInt64 = 0
    package var awaiting: UInt64 = 0

    package init(listed: UInt64 = 0, unseen: UInt64 = 0, unread: UInt64 = 0, awaiting: UInt64 = 0) {
        (self.listed, self.unseen, self.unread, self.awaiting) = (listed, unseen, unread, awaiting)
    }

    var isZero: Bool { self == Tally() }

    static func &+ (left: Tally, right: Tally) -> Tally {
        Tally(
            listed: left.listed &+ right.listed, unseen: left.unseen &+ right.unseen,
            unread: left.unread &+ right.unread, awaiting: left.awaiting &+ right.awaiting)
    }

    static func &- (left: Tally, right: Tally) -> Tally {
        Tally(
            listed: left.listed &- right.listed, unseen: left.unseen &- right.unseen,
            unread: left.unread &- right.unread, awaiting: left.awaiting &- right.awaiting)
    }
}

extension RangeMark {
    /// The part of a tally that no longer counts, if the mark covers all of its items.
    func taken(of tally: Tally) -> Tally {
        switch mark {
        case .seen: Tally(unseen: tally.unseen)
        case .read: Tally(unseen: tally.unseen, unread: tally.unread)
        case .archived, .deleted: tally
        }
    }

    package func matches(thread: Identity, category: Identity) -> Bool {
        (self.thread == .absent || thread == self.thread)
            && (self.category == .absent || category == self.category) && (!onlyUnthreaded || thread == .absent)
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
        return Tally(
            listed: 1, unseen: isSeen(entry) ? 0 : 1, unread: entry.flags.contains(.read) ? 0 : 1,
            awaiting: entry.flags.isAwaiting ? 1 : 0)
    }

    /// Adds entries that are sealed now.
    mutating func tally(_ entries: [ItemEntry], stored: some StatePages) throws {
        for entry in entries { try tally(entry, by: tally(of: entry), stored: stored) }
        if !isTallied { tallies.keep(newTallies(first: 0)) }
    }

    /// Changes what the sealed items of an entry's thread and category count.
    mutating func tally(_ entry: ItemEntry, by change: Tally, stored: some StatePages) throws {
        try tally(KeyIndex.Entry(entry), by: change, stored: stored)
    }

    private mutating func tally(_ pair: KeyIndex.Entry, by change: Tally, stored: some StatePages) throws {
        guard !change.isZero else { return }
        if tallies.pages.index(atOrBelow: pair.key).map({ tallies.pages[$0].holds(pair.key) }) != true {
            tallies.keep(try talliesPage(holding: pair.thread, stored: stored) ?? newTallies(first: 0))
        }
        guard let place = tallies.pages.index(atOrBelow: pair.key) else { return }
        tallies.pages[place].catchUp(with: rangeMarks)
        tallies.pages[place].changedBy = appliedSeq
        tallies.pages[place].add(change, to: pair)
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
    private func talliesPage(holding thread: Identity, stored: some StatePages) throws -> KeyIndex.Page? {
        guard isTallied, var page = try tallies.page(holding: thread.rawValue, load: stored.load(.tallies)) else {
            return nil
        }
        try page.checkTallies()
        page.catchUp(with: rangeMarks)
        return page
    }

    /// Visits the pages of tallies, the highest threads first, without the marks that wait for them.
    private func forEachTallies(stored: some StatePages, _ body: (KeyIndex.Page) throws -> Void) throws {
        try tallies.forEachPage(load: stored.load(.tallies)) { page in
            try page.checkTallies()
            try body(page)
        }
    }

    /// The tallies, before the mark, of the threads and categories that it names.
    func tallies(of mark: RangeMark, stored: some StatePages) throws -> [KeyIndex.Entry: Tally] {
        var found: [KeyIndex.Entry: Tally] = [:]
        func note(_ page: KeyIndex.Page) {
            for (pair, tally) in zip(page.entries, page.tallies)
            where mark.matches(thread: pair.thread, category: pair.category) { found[pair] = tally }
        }
        if mark.thread != .absent || mark.onlyUnthreaded {
            try talliesPage(holding: mark.thread, stored: stored).map(note)
        } else {
            try forEachTallies(stored: stored) { page in
                // Most pages do not hold the category, and marks take longer than to see that.
                guard page.entries.contains(where: { $0.category == mark.category }) else { return }
                var marked = page
                marked.catchUp(with: rangeMarks)
                note(marked)
            }
        }
        return found
    }

    /// The tallies of sealed items that the mark names but does not reach, because they lie above its position.
    func tallies(above mark: RangeMark, stored: some StatePages) throws -> [KeyIndex.Entry: Tally] {
        var found: [KeyIndex.Entry: Tally] = [:]
        guard mark.upTo < tail.first &- 1 else { return found }
        try forEachSealedPage(below: .max, stored: stored) { page in
            for entry in page.entries where entry.position > mark.upTo && mark.matches(entry) {
                let pair = KeyIndex.Entry(entry)
                found[pair] = (found[pair] ?? Tally()) &+ mark.taken(of: tally(of: entry))
            }
            return page.first > mark.upTo
        }
        return found
    }

    /// Adds again what a mark that waits for the tallies' pages would take from items above its position.
    mutating func restore(_ above: [KeyIndex.Entry: Tally], stored: some StatePages) throws {
        for (pair, tally) in above.sorted(by: { ($0.key.key, $0.key.value) < ($1.key.key, $1.key.value) }) {
            try self.tally(pair, by: tally, stored: stored)
        }
    }

    /// Holds the pages of tallies that waiting marks change.
    mutating func settleTallies(stored: some StatePages) throws {
        guard let newest = rangeMarks.last?.seq else { return }
        var changed: [KeyIndex.Page] = []
        try forEachTallies(stored: stored) { page in
            var settled = page
            settled.catchUp(with: rangeMarks)
            guard settled.entries != page.entries || settled.tallies != page.tallies else { return }
            settled.changedBy = newest
            changed.append(settled)
        }
        for page in changed { tallies.keep(page) }
    }
}

extension KeyIndex.Entry {
    /// The key of an item's tally.
    init(_ entry: ItemEntry) { self.init(key: entry.thread.rawValue, value: entry.category.rawValue) }

    var thread: Identity { Identity(rawValue: key) }
    var category: Identity { Identity(rawValue: value) }
}

extension KeyIndex {
    /// With five bytes of counts or less for each entry, a page of so many shares an LMDB page with others.
    static let talliesPageLimit = 64
}

extension KeyIndex.Page {
    fileprivate func checkTallies() throws(PackedError) {
        guard tallies.count == entries.count else { throw .damaged("tallies") }
    }

    fileprivate mutating func add(_ change: Tally, to entry: KeyIndex.Entry) {
        let index = entries.bisect { ($0.key, $0.value) < (entry.key, entry.value) }
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
        let threads = (entries.first?.thread ?? .absent)...(entries.last?.thread ?? .absent)
        var categories = IdentityFilter()
        for entry in entries { categories.insert(entry.category) }
        for place in marks.bisect({ $0.seq <= markedThrough })..<marks.count {
            let mark = marks[place]
            let isOfThread = mark.thread != .absent || mark.onlyUnthreaded
            // Most marks are of threads or categories in other pages.
            guard !isOfThread || threads.contains(mark.thread),
                mark.category == .absent || categories.mayHold(mark.category)
            else { continue }
            var index = isOfThread ? firstIndex(of: mark.thread.rawValue) : 0
            while index < entries.count, !isOfThread || entries[index].thread == mark.thread {
                if mark.matches(thread: entries[index].thread, category: entries[index].category) {
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
