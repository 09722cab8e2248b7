/// What the fold needs to know of an event: numbers only.
///
/// Strings that are only compared stand as identities (``IdentityHasher``); 0 stands for "none".
package struct Fact: Hashable, Sendable {
    package var seq: UInt64
    package var kind: EventKind
    /// `notified`, `broadcast`: the item is silent.
    package var isSilent = false
    /// `marked`: a ``Mark``; `allMarked`: a ``BulkMark``.
    package var mark: UInt8 = 0
    /// `allMarked`: only items without a thread.
    package var isUnthreaded = false
    /// `edited`: which fields the event sets or clears.
    package var edited: ContentFields = []
    package var summaryCount: UInt32 = 1
    package var thread: UInt64 = 0
    package var category: UInt64 = 0
    package var argument: UInt64 = 0
    package var collapse: UInt64 = 0
    /// The idempotency key's identity.
    package var key: UInt64 = 0
    /// `traySeen`, `allMarked`: the position; `edited`, `retracted`, `snoozed`, `woken`, `expired`: the item;
    /// `undone`: the event; `subscribed`, `unsubscribed`: the topic's identity.
    package var target: UInt64 = 0
    /// `marked`: the items that change, ascending.
    package var items: [UInt64] = []

    package init(seq: UInt64, kind: EventKind) {
        self.seq = seq
        self.kind = kind
    }
}

/// The fields of an item that later events can replace; the raw values are stored.
package struct ContentFields: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let title = ContentFields(rawValue: 1 << 0)
    package static let body = ContentFields(rawValue: 1 << 1)
    package static let summaryArgument = ContentFields(rawValue: 1 << 2)
    package static let summaryCount = ContentFields(rawValue: 1 << 3)
    package static let level = ContentFields(rawValue: 1 << 4)
    package static let expiresAt = ContentFields(rawValue: 1 << 5)
    package static let data = ContentFields(rawValue: 1 << 6)
    /// Not content: when a snooze ends.
    package static let snoozedUntil = ContentFields(rawValue: 1 << 7)
}
