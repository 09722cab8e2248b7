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

    /// Facts between two landmarks, where nothing else is said.
    package static let defaultLandmarkDistance: UInt64 = 2_048

    /// The seq of the newest event that the state holds, of the user's own or of a topic.
    package var appliedSeq: UInt64 = 0
    /// How many facts were folded in, whatever they did.
    package var folded: UInt64 = 0
    /// After how many facts a state is worth keeping (``isLandmark``), again and again.
    package var landmarkDistance = TrayState.defaultLandmarkDistance
    /// The newest event after which the state was a landmark; 0 before the first.
    package var lastLandmark: UInt64 = 0
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
    /// Topics that the user is subscribed to or has items from, ascending by identity.
    package var topics: [Subscription] = []
    /// Oldest first; sealed pages may not show them yet.
    package var rangeMarks: [RangeMark] = []
    /// The newest items; always shows every mark.
    package var tail = ItemPage(first: 0)
    /// How many sealed pages there are, at hand or not.
    package var sealedPages: UInt64 = 0
    /// Sealed pages that changed since they were stored, ascending.
    package var pages: [ItemPage] = []
    /// Stored item pages that are no part of the state any more, until they are deleted.
    package var obsoletePages: [ObsoletePage] = []
    package var events = EventIndex()
    package var keys = KeyIndex()
    package var collapseKeys = KeyIndex()
    /// From items that were woken to their positions.
    package var moved = KeyIndex()
    /// From events that were undone to the events that undid them.
    package var voided = KeyIndex()

    package init() {}

    package init(landmarkDistance: UInt64) { self.landmarkDistance = max(landmarkDistance, 1) }

    /// Whether this very state is worth keeping: from it, later ones are reached by folding few facts.
    package var isLandmark: Bool { lastLandmark == appliedSeq && appliedSeq != 0 }
}

/// A stored page that an undo left without a place in its state.
package struct ObsoletePage: Hashable, Sendable {
    /// As in ``ItemPage/first``.
    package var first: UInt64
    /// The event that did it.
    package var by: UInt64

    package init(first: UInt64, by: UInt64) {
        self.first = first
        self.by = by
    }
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
    /// A page of one of the ``TrayState/keyIndexes``.
    func keys(_ space: PageSpace, at identity: UInt64) throws -> KeyIndex.Page?
    /// The page of the stream's own events that holds `seq`, or else the first one after it.
    func events(from seq: UInt64) throws -> EventIndex.Page?
}

extension StatePages {
    /// What a ``KeyIndex`` asks for its stored pages.
    package func load(_ space: PageSpace) -> (UInt64) throws -> KeyIndex.Page? {
        { identity in try keys(space, at: identity) }
    }
}

/// For states that have all their pages at hand.
package struct NoStoredPages: StatePages {
    package init() {}
    package func items(at position: UInt64) -> ItemPage? { nil }
    package func keys(_ space: PageSpace, at identity: UInt64) -> KeyIndex.Page? { nil }
    package func events(from seq: UInt64) -> EventIndex.Page? { nil }
}

/// What decisions and queries need beside a state: its stored pages, and the log.
package protocol StateSource: StatePages {
    /// The event with this seq.
    ///
    /// - Throws: when it cannot be read; a state of ours names only events that the log holds.
    func event(_ seq: UInt64) throws -> Event
    /// Before it events may have left the log.
    var floor: Floor { get }
    /// Whether the log holds an event below the floor.
    func holds(_ seq: UInt64) throws -> Bool
    /// What an event that left the log carried as ``Event/commandFingerprint``; nil where it carried no key.
    func compactedFingerprint(_ seq: UInt64) throws -> UInt64?
    /// The name of a counted category; nil when the event that should say it does not.
    func category(_ count: CategoryCount) throws -> String?
}

extension StateSource {
    package var floor: Floor { Floor() }
    package func holds(_ seq: UInt64) throws -> Bool { true }
    package func compactedFingerprint(_ seq: UInt64) throws -> UInt64? { nil }

    package func category(_ count: CategoryCount) throws -> String? {
        try event(count.namedBy).content?.category
    }

    /// The refusal of what needs an event that left the log; nil for all others.
    func compaction(of seq: UInt64) throws -> Refusal? {
        try floor.isAbove(seq) && !holds(seq) ? floor.refusal : nil
    }
}
