/// What a tray knows of one item: its place, its flags and the identities that counts need.
///
/// What the publisher wrote stays in the log.
package struct ItemEntry: Hashable, Sendable {
    package var seq: UInt64
    package var position: UInt64
    /// Identities (``IdentityHasher``); 0 for none.
    package var thread: UInt64
    package var category: UInt64
    package var argument: UInt64
    package var summaryCount: UInt32
    package var flags: ItemFlags
}

/// An item's state bits; the raw values are stored.
package struct ItemFlags: OptionSet, Hashable, Sendable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    package static let seen = ItemFlags(rawValue: 1 << 0)
    package static let read = ItemFlags(rawValue: 1 << 1)
    package static let archived = ItemFlags(rawValue: 1 << 2)
    package static let deleted = ItemFlags(rawValue: 1 << 3)
    /// Superseded, retracted or expired.
    package static let gone = ItemFlags(rawValue: 1 << 4)
    package static let silent = ItemFlags(rawValue: 1 << 5)
    package static let muted = ItemFlags(rawValue: 1 << 6)
    package static let snoozed = ItemFlags(rawValue: 1 << 7)

    /// Not deleted and not gone.
    package var isLive: Bool { isDisjoint(with: [.deleted, .gone]) }
    /// Live, not archived, not snoozed.
    package var isInInbox: Bool { isDisjoint(with: [.deleted, .gone, .archived, .snoozed]) }
    /// In the inbox and not silent.
    package var isListed: Bool { isDisjoint(with: [.deleted, .gone, .archived, .snoozed, .silent]) }
    /// Listed and not muted.
    package var isCounted: Bool { isDisjoint(with: [.deleted, .gone, .archived, .snoozed, .silent, .muted]) }
}

/// Which event holds the present value of one field of an item, where that is not the event that brought it.
package struct ItemOverride: Hashable, Sendable {
    package var item: UInt64
    /// One bit of ``ContentFields``.
    package var field: ContentFields
    package var event: UInt64
}
