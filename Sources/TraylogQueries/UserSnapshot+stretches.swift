import TraylogDomain
import TraylogStates

extension UserSnapshot {
    /// A part of the past: the events after one seq through another.
    package typealias Stretch = (after: UInt64, through: UInt64)

    /// The parts of the past in which an item may have changed, ascending and apart.
    ///
    /// The states that were kept tell. A page names the event that changed it last. Looks at the tray and bulk marks do not change
    /// the pages that they reach, but they only set flags: an item with the same flags before and after had them all the time.
    /// Only an undo takes such flags away again.
    ///
    /// - Parameter start: the event after which the past begins; it ends with ``asOf``.
    /// - Complexity: O(kept states in between).
    package func stretches(changing item: UInt64, after start: UInt64) throws -> [Stretch] {
        guard let past else { preconditionFailure("The past of a user was not asked for.") }
        guard !isRefolded else { return [(start, asOf)] }
        let history = history(past)
        let undos = try state.voidings(stored: pages).map(\.undone)
        var stretches: [Stretch] = []
        var (newer, end) = (Landmark(state: state, pages: pages), asOf)
        while end > start {
            let older = try history.landmark(atOrBefore: end - 1)
            let seq = max(older?.state.appliedSeq ?? start, start)
            guard seq < end else { throw PackedError.damaged("landmark order") }
            let isQuiet =
                if let older, seq > start, !undos.contains(where: { $0 > seq && $0 <= end }) {
                    try newer.has(item, as: older)
                } else {
                    false
                }
            if !isQuiet, stretches.last?.after == end {
                stretches[stretches.count - 1].after = seq
            } else if !isQuiet {
                stretches.append((seq, end))
            }
            guard let older, seq > start else { break }
            (newer, end) = (older, seq)
        }
        return stretches.reversed()
    }
}

extension Landmark {
    /// Whether nothing but an undo can have changed an item since an older state.
    fileprivate func has(_ item: UInt64, as older: Landmark) throws -> Bool {
        guard let now = try state.sealedEntry(of: item, stored: pages), now.changedBy <= older.state.appliedSeq,
            let before = try older.state.entry(of: item, stored: older.pages)
        else { return false }
        return now.entry == before && state.isSeen(now.entry) == older.state.isSeen(before)
    }
}
