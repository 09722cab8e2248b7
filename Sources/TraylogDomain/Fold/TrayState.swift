/// One user's state: the fold over that user's events so far.
///
/// A value. It holds the newest items, and those sealed pages of older items that changed since they were stored. Other
/// pages are loaded when needed (``StatePages``) and not kept.
package struct TrayState: Hashable, Sendable {
    /// The tail is sealed when it has this many entries.
    package static let tailLimit = 96
    /// Entries that a new sealed page gets.
    package static let sealedEntries = 64
    /// A state with so many sealed pages keeps ``tallies``; one with fewer looks through its pages instead.
    package static let talliedPages: UInt64 = 8
    /// A mark of so many items counts as one fact more on the way to the next landmark.
    static let itemsPerFact = 16

    /// Facts between two landmarks, unless the store says otherwise.
    package static let defaultLandmarkDistance: UInt64 = 2_048

    /// The newest event that the state holds, the user's own or a topic's.
    package var appliedSeq: UInt64 = 0
    /// How many facts were folded in, with or without effect; a mark of many items counts as several.
    package var folded: UInt64 = 0
    /// The state is a landmark (``isLandmark``) after every so many facts.
    package var landmarkDistance = TrayState.defaultLandmarkDistance
    /// The newest event after which the state was a landmark; 0 before the first.
    package internal(set) var lastLandmark: UInt64 = 0
    /// Listed items.
    package internal(set) var total: UInt64 = 0
    package internal(set) var unseen: UInt64 = 0
    package internal(set) var unread: UInt64 = 0
    /// Counted items with actions and no outcome.
    package internal(set) var awaiting: UInt64 = 0
    /// Whether any item ever had a time to remind.
    package internal(set) var hasReminders = false
    /// The position of the newest `traySeen`.
    package var seenUpTo: UInt64 = 0
    /// The `traySeen` that moved ``seenUpTo`` there; 0 for none.
    package var seenBy: UInt64 = 0
    /// Items at or below this position are seen, whatever their flags say, unless they are gone.
    package internal(set) var seenMark: UInt64 = 0
    package internal(set) var categories: [CategoryCount] = []
    package internal(set) var newest = NewestItems()
    package var mutes = MuteSet()
    /// Topics that the user is subscribed to or has items from, ascending by identity.
    package var topics: [Subscription] = []
    /// Range marks that some sealed pages may lack, oldest first.
    package internal(set) var rangeMarks: [RangeMark] = []
    /// While range marks are being applied to all pages, so that they can go: pages from here on have them.
    ///
    /// 0 otherwise.
    package internal(set) var sweepBelow: UInt64 = 0
    /// The newest range mark that goes then.
    package internal(set) var sweepThrough: UInt64 = 0
    /// The newest items, with every mark applied.
    package var tail = ItemPage(first: 0)
    /// The number of sealed pages, in memory and stored.
    package internal(set) var sealedPages: UInt64 = 0
    /// Sealed pages that changed since they were stored, ascending.
    package internal(set) var pages: [ItemPage] = []
    /// Stored item pages that no longer belong to the state, until they are deleted.
    package internal(set) var obsoletePages: [ObsoletePage] = []
    package var events = EventIndex()
    package var keys = KeyIndex()
    package var collapseKeys = KeyIndex()
    /// Maps items that were woken to their positions.
    package var moved = KeyIndex()
    /// Maps events that were undone to the events that undid them.
    package var voided = KeyIndex()
    /// The tallies of sealed items by thread and category, in pages alone; none before ``talliedPages``.
    package internal(set) var tallies = KeyIndex()

    package init() {}

    package init(landmarkDistance: UInt64) { self.landmarkDistance = max(landmarkDistance, 1) }

    /// Somebody who receives what is broadcast to a topic, and does nothing.
    package init(subscribedTo topic: Identity) { subscribe(to: topic) }

    /// Whether this state is worth keeping, so that later ones are reached by folding few facts.
    package var isLandmark: Bool { lastLandmark == appliedSeq && appliedSeq != 0 }
}

/// The positions of the newest items that are listed and counted; 0 for none.
package struct NewestItems: Hashable, Sendable {
    package var listed: UInt64 = 0
    package var counted: UInt64 = 0
}

/// A stored page that an undo has made obsolete.
package struct ObsoletePage: Hashable, Sendable {
    /// ``ItemPage/first`` or ``KeyIndex/Page/first``.
    package var first: UInt64
    /// The `undone` event.
    package var by: UInt64

    package init(first: UInt64, by: UInt64) {
        self.first = first
        self.by = by
    }
}

/// Unseen and unread items of one category; a state has one only where either is above 0.
package struct CategoryCount: Hashable, Sendable {
    package var category: Identity
    /// An event that names the category in its content.
    package var namedBy: UInt64
    package var unseen: UInt64
    package var unread: UInt64
}

/// A topic that the user is or was subscribed to.
package struct Subscription: Hashable, Sendable {
    package var topic: Identity
    /// Whether the user receives broadcasts.
    ///
    /// An inactive topic stays known while the tray has items from it, because they can still be edited, retracted and
    /// expired.
    package var isActive: Bool
    /// Whether any item of the tray came from the topic.
    package var hasItems = false

    package init(topic: Identity, isActive: Bool) {
        self.topic = topic
        self.isActive = isActive
    }
}

extension TrayState {
    /// The index of the topic in ``topics``; nil when the user has nothing to do with it.
    package func subscription(to topic: Identity) -> Int? {
        let index = topics.bisect { $0.topic < topic }
        return index < topics.count && topics[index].topic == topic ? index : nil
    }

    package mutating func subscribe(to topic: Identity) {
        if let index = subscription(to: topic) {
            topics[index].isActive = true
        } else {
            topics.insert(Subscription(topic: topic, isActive: true), at: topics.bisect { $0.topic < topic })
        }
    }

    /// Ends a subscription; items that were received stay, and then the topic stays known.
    mutating func unsubscribe(from topic: Identity) {
        guard let index = subscription(to: topic) else { return }
        topics[index].isActive = false
        if !topics[index].hasItems { topics.remove(at: index) }
    }
}
