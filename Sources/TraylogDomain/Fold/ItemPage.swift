/// A run of a user's items in ascending position; it is loaded, changed and stored as a whole.
package struct ItemPage: Hashable, Sendable {
    /// The position of the first entry; it names the page among those of the user.
    package var first: UInt64
    /// The seq of the newest range mark that was applied to the entries.
    package var markedThrough: UInt64 = 0
    /// The seq of the event that changed the page last.
    package var changedBy: UInt64 = 0
    package var entries: [ItemEntry] = []
    /// Ascending by item, then field.
    package var overrides: [ItemOverride] = []

    package init(first: UInt64) { self.first = first }

    /// The index of the entry at `position`; nil when there is none.
    ///
    /// O(log n).
    package func index(at position: UInt64) -> Int? {
        let index = firstIndex(atOrAbove: position)
        guard index < entries.count, entries[index].position == position else { return nil }
        return index
    }

    /// The number of entries below `position`.
    ///
    /// O(log n).
    package func firstIndex(atOrAbove position: UInt64) -> Int {
        entries.bisect { $0.position < position }
    }

    package func overrides(of item: UInt64) -> ArraySlice<ItemOverride> {
        guard let start = overrides.firstIndex(where: { $0.item == item }) else { return [] }
        return overrides[start...].prefix { $0.item == item }
    }

    /// Remembers that `event` holds the present value of `field` of `item`.
    package mutating func override(_ item: UInt64, _ field: ContentFields, by event: UInt64) {
        let index =
            overrides.firstIndex { ($0.item, $0.field.rawValue) >= (item, field.rawValue) } ?? overrides.count
        let new = ItemOverride(item: item, field: field, event: event)
        if index < overrides.count, overrides[index].item == item, overrides[index].field == field {
            overrides[index] = new
        } else {
            overrides.insert(new, at: index)
        }
    }

    /// Removes one entry, with its overrides.
    package mutating func remove(at index: Int) -> (entry: ItemEntry, overrides: [ItemOverride]) {
        let entry = entries.remove(at: index)
        guard !overrides.isEmpty else { return (entry, []) }
        let taken = Array(overrides(of: entry.seq))
        if !taken.isEmpty { overrides.removeAll { $0.item == entry.seq } }
        return (entry, taken)
    }

    /// Moves the entries from `index` on, with their overrides, to a new page.
    package mutating func split(at index: Int) -> ItemPage {
        var upper = ItemPage(first: entries[index].position)
        upper.markedThrough = markedThrough
        upper.changedBy = changedBy
        upper.entries = Array(entries[index...])
        entries.removeSubrange(index...)
        if !overrides.isEmpty {
            let moved = Set(upper.entries.map(\.seq))
            upper.overrides = overrides.filter { moved.contains($0.item) }
            overrides.removeAll { moved.contains($0.item) }
        }
        return upper
    }

    /// Applies the range marks that the entries lack.
    ///
    /// - Complexity: O(marks), and O(entries) for each mark that may cover one of them.
    package mutating func catchUp(with marks: [RangeMark]) {
        guard let newest = marks.last?.seq, newest > markedThrough else { return }
        let lowest = entries.first?.position ?? .max
        var threads = IdentityFilter()
        for entry in entries { threads.insert(entry.thread) }
        for place in marks.bisect({ $0.seq <= markedThrough })..<marks.count {
            let mark = marks[place]
            guard mark.upTo >= lowest, mark.thread == .absent || threads.mayHold(mark.thread) else { continue }
            for index in entries.indices where mark.covers(entries[index]) {
                mark.apply(to: &entries[index].flags)
            }
        }
        markedThrough = newest
    }
}

/// Tells of most identities that they are not in a page: identities are random, and so are their lowest bits.
struct IdentityFilter {
    private var bits = InlineArray<16, UInt64>(repeating: 0)

    mutating func insert(_ identity: Identity) {
        bits[Int(identity.rawValue >> 6 & 15)] |= 1 << (identity.rawValue & 63)
    }

    func mayHold(_ identity: Identity) -> Bool {
        bits[Int(identity.rawValue >> 6 & 15)] >> (identity.rawValue & 63) & 1 != 0
    }
}

/// One item in a tray: its position, its flags, and the identities that counts need; the content stays in the log.
package struct ItemEntry: Hashable, Sendable {
    package var seq: UInt64
    package var position: UInt64
    package var thread: Identity
    package var category: Identity
    package var argument: Identity
    package var summaryCount: UInt32
    package var flags: ItemFlags

    package init(
        seq: UInt64, position: UInt64, thread: Identity, category: Identity, argument: Identity,
        summaryCount: UInt32, flags: ItemFlags
    ) {
        (self.seq, self.position) = (seq, position)
        (self.thread, self.category, self.argument) = (thread, category, argument)
        (self.summaryCount, self.flags) = (summaryCount, flags)
    }
}

/// The state bits of an item; the raw values are stored.
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
    /// Has actions.
    package static let actionable = ItemFlags(rawValue: 1 << 8)
    /// Has an outcome.
    package static let acted = ItemFlags(rawValue: 1 << 9)
    /// Has a time to remind for which nothing was said yet.
    package static let reminding = ItemFlags(rawValue: 1 << 10)

    /// Has not arrived yet: for its publisher alone, and for nobody's counts and lists.
    package static let scheduled = ItemFlags(rawValue: 1 << 11)

    /// Not deleted, not gone and not scheduled.
    package var isLive: Bool { isDisjoint(with: [.deleted, .gone, .scheduled]) }
    /// Live, not archived, not snoozed.
    package var isInInbox: Bool { isDisjoint(with: [.deleted, .gone, .scheduled, .archived, .snoozed]) }
    /// With actions and without an outcome.
    package var isAwaiting: Bool { contains(.actionable) && !contains(.acted) }
    /// Counted and not read.
    package var isUnread: Bool { isCounted && !contains(.read) }
    /// In the inbox and not silent.
    package var isListed: Bool { isDisjoint(with: [.deleted, .gone, .scheduled, .archived, .snoozed, .silent]) }
    /// Listed and not muted.
    package var isCounted: Bool {
        isDisjoint(with: [.deleted, .gone, .scheduled, .archived, .snoozed, .silent, .muted])
    }
}

/// Names the event that holds the present value of one field of an item, when that is not the event that brought it.
package struct ItemOverride: Hashable, Sendable {
    package var item: UInt64
    /// One bit of ``ContentFields``.
    package var field: ContentFields
    package var event: UInt64
}
