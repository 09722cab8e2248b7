import TraylogDomain

extension TrayState {
    /// Whether a tick would do something about an entry whose time has come.
    ///
    /// A tick skips what is gone, what has another time by now, and the snooze of a deleted item, which waits until the item is
    /// restored. None of these is overdue.
    ///
    /// - Parameter isTopic: whether this is the state of a topic.
    package func isDue(_ entry: DueEntry, isTopic: Bool, stored: some StateSource) throws -> Bool {
        if entry.kind == .unmute {
            guard mutes.entries.contains(where: { $0.by == entry.item }),
                case .muted(_, entry.due) = try stored.event(entry.item).body
            else { return false }
            return true
        }
        guard let item = try self.entry(of: entry.item, stored: stored), !item.flags.contains(.gone),
            try !stored.hasLeft(entry.item)
        else { return false }
        guard item.flags.contains(.scheduled) == (entry.kind == .arrival) else { return false }
        let shown = try self.shown(item, stored: stored)
        switch entry.kind {
        case .arrival: return try shown.content(from: stored).content.notBefore == entry.due
        case .expiry: return try shown.content(from: stored).content.expiresAt == entry.due
        case .wake: return try !item.flags.contains(.deleted) && shown.snoozedUntil(from: stored) == entry.due
        case .reminder:
            guard item.flags.contains(.reminding), isTopic || item.flags.isUnread else { return false }
            return try shown.content(from: stored).content.remindAt == entry.due
        case .unmute: return false
        }
    }
}
