import TraylogDomain

/// The name of a segment: `events-FIRST-LAST-HISTORY.archive`; `events-FIRST-LAST-HISTORY-N.archive` once the Nth erasure has
/// rewritten it.
///
/// Numbers have at least twelve digits, so that names sort by event. HISTORY is the mark of a history (``StoreHistory``), `0` for
/// the one that every store begins with.
package struct SegmentName: Hashable, Sendable {
    static let beginning = "events-"

    /// The first event.
    package let first: UInt64
    /// The last event; the file has all from the first to it.
    package let last: UInt64
    /// The history that all of its events belong to.
    package let history: UInt64
    /// How many erasures have rewritten it.
    package let rewrites: UInt32

    package init(first: UInt64, last: UInt64, history: UInt64, rewrites: UInt32 = 0) {
        (self.first, self.last, self.history, self.rewrites) = (first, last, history, rewrites)
    }

    /// - Returns: nil for what is no segment's name, to the byte.
    package init?(_ text: String) {
        guard text.hasPrefix(Self.beginning), text.hasSuffix(ArchiveDirectory.ending) else { return nil }
        let parts = text.dropFirst(Self.beginning.count).dropLast(ArchiveDirectory.ending.count)
            .split(separator: "-", omittingEmptySubsequences: false)
        guard (3...4).contains(parts.count), let first = UInt64(parts[0]), let last = UInt64(parts[1]),
            let history = UInt64(parts[2], radix: 36), let rewrites = parts.count == 3 ? 0 : UInt32(parts[3]),
            first > 0, first <= last, last <= Seq.highest
        else { return nil }
        self.init(first: first, last: last, history: history, rewrites: rewrites)
        // One spelling for each: no sign, no zeros, no capitals.
        guard self.text == text else { return nil }
    }

    package var text: String {
        let rewrites = rewrites > 0 ? "-\(rewrites)" : ""
        return "\(Self.beginning)\(Self.digits(first))-\(Self.digits(last))-\(String(history, radix: 36))\(rewrites)"
            + ArchiveDirectory.ending
    }

    package var events: UInt64 { last - first + 1 }

    private static func digits(_ number: UInt64) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 12 - digits.count)) + digits
    }
}
