/// A run of a user's items in ascending position: what is loaded, changed and stored as a whole.
package struct ItemPage: Hashable, Sendable {
    /// The position of the first entry; names the page among its user's.
    package var first: UInt64
    /// The seq of the newest range mark that the entries show.
    package var markedThrough: UInt64 = 0
    /// The seq of the event that changed the page last.
    package var changedBy: UInt64 = 0
    package var entries: [ItemEntry] = []
    /// Ascending by item, then field.
    package var overrides: [ItemOverride] = []

    package init(first: UInt64) { self.first = first }

    /// Where the entry at `position` stands; nil when there is none. O(log n).
    package func index(at position: UInt64) -> Int? {
        let index = firstIndex(atOrAbove: position)
        guard index < entries.count, entries[index].position == position else { return nil }
        return index
    }

    /// The number of entries below `position`. O(log n).
    package func firstIndex(atOrAbove position: UInt64) -> Int {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low &+ high) / 2
            if entries[middle].position < position { low = middle &+ 1 } else { high = middle }
        }
        return low
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

    /// Takes one entry out, with its overrides.
    package mutating func remove(at index: Int) -> (entry: ItemEntry, overrides: [ItemOverride]) {
        let entry = entries.remove(at: index)
        guard !overrides.isEmpty else { return (entry, []) }
        let taken = Array(overrides(of: entry.seq))
        if !taken.isEmpty { overrides.removeAll { $0.item == entry.seq } }
        return (entry, taken)
    }

    /// Takes the entries from `index` on, with their overrides, into a page of their own.
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

    /// Applies the range marks that the entries do not show yet.
    package mutating func catchUp(with marks: [RangeMark]) {
        for mark in marks where mark.seq > markedThrough {
            for index in entries.indices where mark.covers(entries[index]) {
                mark.apply(to: &entries[index].flags)
            }
            markedThrough = mark.seq
        }
    }
}
