/// A change that `mark` makes to single items.
public enum Mark: UInt8, Hashable, Sendable, CaseIterable {
    /// Looked at.
    case seen = 0
    /// Opened, and so seen.
    case read = 1
    /// To be opened again; it stays seen.
    case unread = 2
    /// Put away: out of the inbox.
    case archived = 3
    /// Back in the inbox.
    case unarchived = 4
    /// Thrown away; `restored` brings it back.
    case deleted = 5
    /// Not deleted any more.
    case restored = 6

    /// The name in JSON and on the command line.
    public var name: String {
        switch self {
        case .seen: "seen"
        case .read: "read"
        case .unread: "unread"
        case .archived: "archived"
        case .unarchived: "unarchived"
        case .deleted: "deleted"
        case .restored: "restored"
        }
    }

    /// The mark of a name; nil for any other text.
    public init?(name: String) {
        guard let mark = Mark.allCases.first(where: { $0.name == name }) else { return nil }
        self = mark
    }
}

/// A change that `markAll` makes to all items of a ``Selection``.
public enum BulkMark: UInt8, Hashable, Sendable, CaseIterable {
    /// What the ``Mark`` of the same name does to one item.
    case seen = 0, read, archived, deleted

    /// The mark of single items with the same effect.
    package var mark: Mark {
        switch self {
        case .seen: .seen
        case .read: .read
        case .archived: .archived
        case .deleted: .deleted
        }
    }

    /// Nil for a mark that exists for single items only.
    package init?(_ mark: Mark) {
        switch mark {
        case .seen: self = .seen
        case .read: self = .read
        case .archived: self = .archived
        case .deleted: self = .deleted
        case .unread, .unarchived, .restored: return nil
        }
    }

    /// The name in JSON and on the command line.
    public var name: String { mark.name }

    /// The mark of a name; nil for any other text.
    public init?(name: String) {
        guard let mark = Mark(name: name) else { return nil }
        self.init(mark)
    }
}
