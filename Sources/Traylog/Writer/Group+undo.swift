import TraylogDomain
import TraylogLMDB

extension Group {
    /// Without a mark that was undone, an item may not have been superseded: it is not gone any more, and due again.
    ///
    /// While it was gone, a tick may have dropped what it was due at.
    mutating func reviveDues(of slot: UserSlot, since old: TrayState, by seq: UInt64, core: inout Core) throws {
        let (new, stored) = try settled(slot, core: &core)
        let pages = new.pages.filter { $0.changedBy == seq } + [new.tail]
        for entry in pages.flatMap(\.entries) where !entry.flags.contains(.gone) {
            guard try old.entry(of: entry.seq, stored: stored)?.flags.contains(.gone) ?? false else { continue }
            let shown = try new.shown(entry, stored: stored)
            if let until = try shown.snoozedUntil(from: stored) {
                addDue(DueEntry(due: until, item: entry.seq, kind: .wake, stream: slot.stream), by: seq)
            }
            // That of a broadcast is its topic's, and was not dropped.
            let (origin, content) = try shown.content(from: stored)
            if origin.user != nil, let expiresAt = content.expiresAt {
                addDue(DueEntry(due: expiresAt, item: entry.seq, kind: .expiry, stream: slot.stream), by: seq)
            }
        }
    }
}
