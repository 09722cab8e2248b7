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
