/// A change that `mark` makes to single items.
///
/// The raw values are the names in JSON and on the command line.
public enum Mark: String, Hashable, Sendable, CaseIterable {
    /// Looked at.
    case seen
    /// Opened, and so seen.
    case read
    /// To be opened again; it stays seen.
    case unread
    /// Put away: out of the inbox.
    case archived
    /// Back in the inbox.
    case unarchived
    /// Thrown away; `restored` brings it back.
    case deleted
    /// Not deleted any more.
    case restored
}

extension Mark {
    /// The number that stands for it in files.
    @inlinable
    package var code: UInt8 {
        switch self {
        case .seen: 0
        case .read: 1
        case .unread: 2
        case .archived: 3
        case .unarchived: 4
        case .deleted: 5
        case .restored: 6
        }
    }

    /// The mark of a number in a file; nil for a number that none has.
    package init?(code: UInt8) {
        switch code {
        case 0: self = .seen
        case 1: self = .read
        case 2: self = .unread
        case 3: self = .archived
        case 4: self = .unarchived
        case 5: self = .deleted
        case 6: self = .restored
        default: return nil
        }
    }
}

/// A change that `markAll` makes to all items that match a ``ItemFilter``.
///
/// The raw values are the names in JSON and on the command line.
public enum BulkMark: String, Hashable, Sendable, CaseIterable {
    /// What the ``Mark`` of the same name does to one item.
    case seen, read, archived, deleted
}

extension BulkMark {
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

    /// The number that stands for it in files; not the same as ``mark``'s.
    @inlinable
    package var code: UInt8 {
        switch self {
        case .seen: 0
        case .read: 1
        case .archived: 2
        case .deleted: 3
        }
    }

    /// The mark of a number in a file; nil for a number that none has.
    package init?(code: UInt8) {
        switch code {
        case 0: self = .seen
        case 1: self = .read
        case 2: self = .archived
        case 3: self = .deleted
        default: return nil
        }
    }
}
