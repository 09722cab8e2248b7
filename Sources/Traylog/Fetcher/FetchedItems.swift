import TraylogDomain

/// The items that a fetcher has loaded, and the rules by which a page is merged into them.
///
/// They reach without a gap from the newest item, as of ``shownUpTo``, down to where the next page starts.
struct FetchedItems: Sendable {
    /// How many items are kept at most.
    let limit: Int
    /// Newest position first.
    private(set) var items: [Item] = []
    /// Where the next page starts; nil when everything down to the oldest item is loaded.
    private(set) var next: Cursor?
    /// The head as of which the newest item is the newest; nil when nothing is loaded.
    private(set) var shownUpTo: Seq?

    init(limit: Int) { self.limit = limit }

    var endReached: Bool { shownUpTo != nil && (next == nil || room == 0) }
    /// How many more items the limit allows.
    var room: Int { limit - items.count }

    /// Whether nothing on the newest page was there when these items were loaded, so that more may lie in between.
    func mayHaveGap(below page: InboxPage) -> Bool {
        guard let shownUpTo, page.next != nil else { return false }
        return page.items.allSatisfy { $0.position > shownUpTo }
    }

    /// Takes the newest page in.
    ///
    /// What lies in the range of the page is as the page says: known items are brought up to date, or moved, and those
    /// that left the inbox go. What lies below it stays. Items beyond the limit are given up, the oldest first.
    ///
    /// - Parameter hasGap: more is new than the page has; then nothing stays.
    mutating func refresh(with page: InboxPage, hasGap: Bool) -> FetchResult {
        let known = Set(items.map(\.seq))
        let isFirst = shownUpTo == nil
        if isFirst || hasGap {
            items = page.items
            next = page.next
        } else {
            let lowest = page.next?.before ?? .zero
            let refreshed = Set(page.items.map(\.seq))
            items = page.items + items.filter { $0.position < lowest && !refreshed.contains($0.seq) }
            if lowest <= next?.before ?? .zero { next = page.next }
        }
        shownUpTo = page.asOf
        trim()
        let new = items.filter { !known.contains($0.seq) }
        return FetchResult(new: new, gap: hasGap, endReached: endReached)
    }

    /// Takes the next page in, below everything else.
    mutating func append(_ page: InboxPage) -> FetchResult {
        let known = Set(items.map(\.seq))
        let appended = Set(page.items.map(\.seq))
        items.removeAll { appended.contains($0.seq) }
        items += page.items
        next = page.next
        let new = page.items.filter { !known.contains($0.seq) }
        return FetchResult(new: new, gap: false, endReached: endReached)
    }

    mutating func apply(_ mark: PendingMark) { mark.apply(to: &items) }

    private mutating func trim() {
        guard items.count > limit else { return }
        items.removeSubrange(limit...)
        if let last = items.last { next = Cursor(before: last.position) }
    }
}
