import TraylogDomain

/// The items that a fetcher has loaded, and the rules for merging a page into them.
///
/// They have no gaps from the newest item as of ``shownUpTo`` down to the start of the next page.
package struct FetchedItems: Sendable {
    /// The maximum number of items.
    package let limit: Int
    /// The items, newest position first.
    package private(set) var items: [Item] = []
    /// The start of the next page; nil when all older items are loaded.
    package private(set) var next: Cursor?
    /// The head when the newest page was loaded; nil before that.
    package private(set) var shownUpTo: Seq?

    package init(limit: Int) { self.limit = limit }

    package var endReached: Bool { shownUpTo != nil && (next == nil || room == 0) }
    /// How many more items the limit allows.
    package var room: Int { limit - items.count }

    /// Whether every item of the newest page is new, so that there may be more between the page and these items.
    package func mayHaveGap(below page: Page<Item, Cursor>) -> Bool {
        guard let shownUpTo, let next = page.next, next.before > shownUpTo else { return false }
        return page.elements.allSatisfy { $0.position > shownUpTo }
    }

    /// Merges the newest page.
    ///
    /// Items in the range of the page become what the page has; items below it stay. The oldest items beyond the limit are
    /// dropped.
    ///
    /// - Parameter hasGap: drops all items first, because the page does not reach down to them.
    package mutating func refresh(with page: Page<Item, Cursor>, hasGap: Bool) -> FetchResult {
        let known = Set(items.map(\.seq))
        let isFirst = shownUpTo == nil
        if isFirst || hasGap {
            items = page.elements
            next = page.next
        } else {
            let lowest = page.next?.before ?? .zero
            let refreshed = Set(page.elements.map(\.seq))
            items = page.elements + items.filter { $0.position < lowest && !refreshed.contains($0.seq) }
            if lowest <= next?.before ?? .zero { next = page.next }
        }
        shownUpTo = page.asOf
        trim()
        let new = items.filter { !known.contains($0.seq) }
        return FetchResult(new: new, hasGap: hasGap, endReached: endReached)
    }

    /// Adds the next page below all other items.
    package mutating func append(_ page: Page<Item, Cursor>) -> FetchResult {
        let known = Set(items.map(\.seq))
        let appended = Set(page.elements.map(\.seq))
        items.removeAll { appended.contains($0.seq) }
        items += page.elements
        next = page.next
        let new = page.elements.filter { !known.contains($0.seq) }
        return FetchResult(new: new, hasGap: false, endReached: endReached)
    }

    /// Replaces the items by what they are now; those that are not given have left the inbox.
    package mutating func update(to now: [Item]) { items = now.sorted { $0.position > $1.position } }

    package mutating func apply(_ mark: PendingMark) { mark.apply(to: &items) }

    private mutating func trim() {
        guard items.count > limit else { return }
        items.removeSubrange(limit...)
        if let last = items.last { next = Cursor(before: last.position) }
    }
}
