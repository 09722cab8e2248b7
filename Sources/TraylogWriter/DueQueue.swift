import TraylogDomain
import TraylogStates

/// Entries that a tick has read and not settled yet, in its order: by time, then item, then kind, then user.
///
/// Many may have snoozed one broadcast until one time. The table has them by stream, so that all must be read before the first
/// one is settled. They are read and sorted in parts, and nobody waits for all of them.
struct DueQueue: Sendable {
    struct Element: Sendable {
        let entry: DueEntry
        /// Empty for an entry that has its item and time for itself.
        let user: String

        func precedes(_ other: Element) -> Bool {
            let (a, b) = (entry, other.entry)
            guard a.hasItemAndTime(of: b) else { return (a.due, a.rank) < (b.due, b.rank) }
            guard a.kind == b.kind else { return a.kind.rawValue < b.kind.rawValue }
            return user.precedesInBytes(other.user)
        }
    }

    /// Elements in order, of which the first ones may be taken out.
    ///
    /// They are never changed: a tick keeps the queue as it was before a transaction, and would copy each part of it.
    private struct Part: Sendable {
        let elements: [Element]
        var next = 0

        var first: Element? { next < elements.count ? elements[next] : nil }
    }

    /// By their first elements, the least one last; none is empty.
    private var parts: [Part] = []
    private(set) var count = 0

    var isEmpty: Bool { parts.isEmpty }

    /// - Complexity: O(n log n) for n new elements.
    mutating func add(_ elements: [Element]) {
        count += elements.count
        insert(Part(elements: elements.sorted { $0.precedes($1) }))
    }

    /// The entry that comes next.
    var first: DueEntry? { parts.last?.first?.entry }

    /// - Complexity: O(log(parts)) comparisons.
    mutating func popFirst() -> DueEntry? {
        guard var part = parts.popLast(), let first = part.first else { return nil }
        count -= 1
        part.next += 1
        insert(part)
        return first.entry
    }

    private mutating func insert(_ part: Part) {
        guard let first = part.first else { return }
        parts.insert(part, at: parts.bisect { $0.first.map(first.precedes) ?? false })
    }
}
