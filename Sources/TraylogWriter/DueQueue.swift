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
            guard a.hasItemAndTime(of: b) else { return (a.due, a.item) < (b.due, b.item) }
            guard a.kind == b.kind else { return a.kind.rawValue < b.kind.rawValue }
            return user.precedesInBytes(other.user)
        }
    }

    /// Each begins with what comes last, and so do the parts by their ends.
    ///
    /// None is empty.
    private var parts: [[Element]] = []
    private(set) var count = 0

    var isEmpty: Bool { parts.isEmpty }

    /// - Complexity: O(n log n) for n new elements.
    mutating func add(_ elements: [Element]) {
        count += elements.count
        insert(elements.sorted { $1.precedes($0) })
    }

    /// - Complexity: O(log(parts)) comparisons.
    mutating func popFirst() -> DueEntry? {
        guard var part = parts.popLast(), let first = part.popLast() else { return nil }
        count -= 1
        insert(part)
        return first.entry
    }

    private mutating func insert(_ part: [Element]) {
        guard let first = part.last else { return }
        parts.insert(part, at: parts.bisect { $0.last.map(first.precedes) ?? false })
    }
}
