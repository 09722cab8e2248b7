import TraylogDomain

/// How an item stands in its tray at one point.
public struct ItemStanding: Hashable, Sendable {
    public var position: Seq
    public var seen: Bool
    public var read: Bool
    public var archived: Bool
    public var deleted: Bool
    /// Superseded, retracted or expired.
    public var gone: Bool
    public var snoozed: Bool
    public var muted: Bool
    public var silent: Bool

    /// In the inbox, and not silent.
    public var isListed: Bool { !(deleted || gone || archived || snoozed || silent) }

    init(_ entry: ItemEntry, isSeen: Bool) {
        position = Seq(entry.position)
        seen = isSeen
        read = entry.flags.contains(.read)
        archived = entry.flags.contains(.archived)
        deleted = entry.flags.contains(.deleted)
        gone = entry.flags.contains(.gone)
        snoozed = entry.flags.contains(.snoozed)
        muted = entry.flags.contains(.muted)
        silent = entry.flags.contains(.silent)
    }
}
