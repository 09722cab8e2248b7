import TraylogDomain
import TraylogJSON

/// The change of one item between two moments.
public struct ItemChange: Hashable, Sendable {
    /// What became of the item.
    @_spi(Operations) public enum Kind: String, Hashable, Sendable, Codable {
        /// The item is listed now and was not before: it is new, or it came back.
        case appeared
        /// The item was listed before and is not now.
        case disappeared
        /// Something else about the item changed.
        case changed
    }

    /// The item.
    public var item: Seq
    /// What became of it.
    @_spi(Operations) public var kind: Kind
    /// Nil when the item was not there yet.
    public var before: ItemStanding?
    /// Its state at the later moment.
    public var after: ItemStanding
    /// Whether the content was edited in between.
    @_spi(Operations) public var isEdited: Bool
    /// The content at the later moment; empty for a deleted item whose content a compaction removed.
    public var content: Content
    /// The events that changed the item, ascending.
    public var by: [Seq]

    package init(
        item: Seq, kind: Kind, before: ItemStanding?, after: ItemStanding, isEdited: Bool, content: Content, by: [Seq]
    ) {
        self.item = item
        self.kind = kind
        self.before = before
        self.after = after
        self.isEdited = isEdited
        self.content = content
        self.by = by
    }
}

/// The state of an item in its tray at one moment.
public struct ItemStanding: Hashable, Sendable, Codable {
    /// Its place in the inbox.
    public var position: Seq
    /// Whether the user has looked at it.
    public var isSeen: Bool
    /// Whether the user has opened it.
    public var isRead: Bool
    /// Whether it was put away.
    public var isArchived: Bool
    /// Whether it is deleted.
    public var isDeleted: Bool
    /// Superseded, retracted or expired.
    public var isGone: Bool
    /// Whether it sleeps.
    public var isSnoozed: Bool
    /// Whether it came while its thread or category was muted.
    public var isMuted: Bool
    /// Whether it was sent as silent.
    public var isSilent: Bool

    /// Whether the item is in the inbox and not silent.
    public var isListed: Bool { !(isDeleted || isGone || isArchived || isSnoozed || isSilent) }
    /// Whether the item counts as unread: it is listed, not muted and not read.
    public var isUnread: Bool { isListed && !isMuted && !isRead }

    package init(_ entry: ItemEntry, isSeen: Bool) {
        position = Seq(entry.position)
        self.isSeen = isSeen
        isRead = entry.flags.contains(.read)
        isArchived = entry.flags.contains(.archived)
        isDeleted = entry.flags.contains(.deleted)
        isGone = entry.flags.contains(.gone)
        isSnoozed = entry.flags.contains(.snoozed)
        isMuted = entry.flags.contains(.muted)
        isSilent = entry.flags.contains(.silent)
    }
}

extension ItemStanding {
    private enum CodingKeys: String, CodingKey {
        case position
        case isSeen = "seen"
        case isRead = "read"
        case isArchived = "archived"
        case isDeleted = "deleted"
        case isGone = "gone"
        case isSnoozed = "snoozed"
        case isMuted = "muted"
        case isSilent = "silent"
    }
}
