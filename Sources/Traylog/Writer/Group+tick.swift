import TraylogDomain
import TraylogPlatform
import TraylogLog

/// What became of something that was due.
enum DueOutcome {
    case expired
    case woken
    /// A deleted item wakes when it was restored.
    case waits
    /// The item is gone, or is due at another time by now.
    case void
}

extension Group {
    /// Expires or wakes an item whose time has come, if it still is what the entry says.
    mutating func settle(
        _ entry: DueEntry, core: inout Core, random: inout RandomPool
    ) throws -> DueOutcome {
        guard let slot = try core.loadSlot(entry.stream) else { return .void }
        let (state, stored) = try settled(slot, core: &core)
        guard let item = try state.entry(of: entry.item, stored: stored), !item.flags.contains(.gone) else {
            return .void
        }
        // What it showed left the log while it was deleted: nobody can restore it.
        guard try !stored.floor.isAbove(entry.item) || stored.holds(entry.item) else { return .void }
        let shown = try state.shown(item, stored: stored)
        switch entry.kind {
        case .expiry:
            guard try shown.content(from: stored).content.expiresAt == entry.due else { return .void }
            append(.expired(item: Seq(entry.item)), to: slot, core: &core, random: &random)
            return .expired
        case .wake:
            guard try shown.snoozedUntil(from: stored) == entry.due else { return .void }
            guard !item.flags.contains(.deleted) else { return .waits }
            append(.woken(item: Seq(entry.item)), to: slot, core: &core, random: &random)
            return .woken
        }
    }
}
