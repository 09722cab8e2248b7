/// A change that `mark` makes to single items.
public enum Mark: UInt8, Hashable, Sendable, CaseIterable {
    case seen = 0
    case read = 1
    case unread = 2
    case archived = 3
    case unarchived = 4
    case deleted = 5
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

    public init?(name: String) {
        guard let mark = Mark.names.value(name) else { return nil }
        self = mark
    }

    package static let names = WordTable(allCases) { $0.name }
}

/// A change that `markAll` makes to all items of a ``Selection``.
public enum BulkMark: UInt8, Hashable, Sendable, CaseIterable {
    case seen = 0
    case read = 1
    case archived = 2
    case deleted = 3

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

    public init?(name: String) {
        guard let mark = Mark(name: name) else { return nil }
        self.init(mark)
    }
}
