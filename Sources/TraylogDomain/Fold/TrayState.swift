/// One user's state: the fold over that user's events so far.
///
/// A value. The newest items are at hand; older ones lie in sealed pages, of which only those stand here that
/// changed since they were stored. Everything else is loaded when needed (``StatePages``) and not kept.
package struct TrayState: Hashable, Sendable {
    /// Entries at hand before the oldest are sealed, and how many a sealed page gets.
    package static let tailLimit = 96
    package static let sealedEntries = 64
    /// Range marks that may wait for pages to be loaded.
    static let rangeMarkLimit = 32
    /// Sealed pages that one filtered mark changes directly; more wait for their next load.
    static let directPageLimit = 8

    /// The seq of the newest event that the state holds.
    package var appliedSeq: UInt64 = 0
    /// Listed, unseen and unread items.
    package var total: UInt64 = 0
    package var unseen: UInt64 = 0
    package var unread: UInt64 = 0
    /// Where the newest `traySeen` reached.
    package var seenUpTo: UInt64 = 0
    /// Items at or below it are seen, whatever their flags say.
    package var seenMark: UInt64 = 0
    package var categories: [CategoryCount] = []
    /// Identities, ascending.
    package var mutedThreads: [UInt64] = []
    package var mutedCategories: [UInt64] = []
    /// Oldest first; sealed pages may not show them yet.
    package var rangeMarks: [RangeMark] = []
    /// The newest items; always shows every mark.
    package var tail = ItemPage(first: 0)
    /// How many sealed pages there are, at hand or not.
    package var sealedPages: UInt64 = 0
    /// Sealed pages that changed since they were stored, ascending.
    package var pages: [ItemPage] = []
    package var events = EventIndex()
    package var keys = KeyIndex()
    package var collapseKeys = KeyIndex()

    package init() {}
}

/// Unseen and unread of one category of one user; only those with any are kept.
package struct CategoryCount: Hashable, Sendable {
    /// The category's identity.
    package var category: UInt64
    /// An event whose content names it.
    package var namedBy: UInt64
    package var unseen: UInt64
    package var unread: UInt64
}

/// Where a state's stored pages come from. Each returns the page with the greatest `first` at or below a key.
package protocol StatePages {
    func items(at position: UInt64) throws -> ItemPage?
    func keys(at identity: UInt64) throws -> KeyIndex.Page?
    func collapseKeys(at identity: UInt64) throws -> KeyIndex.Page?
}

/// For states that have all their pages at hand.
package struct NoStoredPages: StatePages {
    package init() {}
    package func items(at position: UInt64) -> ItemPage? { nil }
    package func keys(at identity: UInt64) -> KeyIndex.Page? { nil }
    package func collapseKeys(at identity: UInt64) -> KeyIndex.Page? { nil }
}

/// What decisions and queries need beside a state: its stored pages, and the log.
package protocol StateSource: StatePages {
    /// The event with this seq.
    ///
    /// - Throws: when it cannot be read; a state of ours names only events that the log holds.
    func event(_ seq: UInt64) throws -> Event
}
