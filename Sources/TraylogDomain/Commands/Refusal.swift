/// Why a command was refused and nothing was stored.
public enum Refusal: Error, Hashable, Sendable {
    /// Malformed, over a limit, or an unknown field or kind.
    case invalid(field: String, reason: String)
    /// Never in this user's tray; or no broadcast, where no user is given.
    case unknownItem(ItemReference)
    /// Superseded, retracted or expired (or, for snooze and wake, deleted).
    case itemGone(Seq)
    case notSnoozed(Seq)
    case upToBeyondHead(Seq, head: Seq)
    /// What an undo names is no event of this user.
    case unknownEvent(Seq)
    case notUndoable(Seq, kind: EventKind)
    /// The key belongs to a different command, stored as `seq`.
    case keyConflict(key: String, seq: Seq)
    /// Below the floor: compacted away.
    case compacted(floor: Seq, archive: String?)
}

extension Refusal {
    /// The name that JSON carries as `error`.
    public var name: String {
        switch self {
        case .invalid: "invalid"
        case .unknownItem: "unknownItem"
        case .itemGone: "itemGone"
        case .notSnoozed: "notSnoozed"
        case .upToBeyondHead: "upToBeyondHead"
        case .unknownEvent: "unknownEvent"
        case .notUndoable: "notUndoable"
        case .keyConflict: "keyConflict"
        case .compacted: "compacted"
        }
    }

    /// What happened and what to do about it, in one sentence or two.
    public var message: String {
        switch self {
        case .invalid(let field, let reason):
            "\(field): \(reason)"
        case .unknownItem(.seq(let seq)):
            "item \(seq) was never in this tray, or it is a broadcast and not this user's to change"
        case .unknownItem(.key(let key)):
            "no notify of this user carried the key \"\(key)\""
        case .itemGone(let seq):
            "item \(seq) is gone: it was superseded, retracted or expired, or it is deleted"
        case .notSnoozed(let seq):
            "item \(seq) is not snoozed, so it cannot be woken"
        case .upToBeyondHead(let seq, let head):
            "upTo: \(seq) is beyond the head, which is \(head)"
        case .unknownEvent(let seq):
            "event \(seq) is not an event of this user"
        case .notUndoable(let seq, let kind):
            "event \(seq) is \(kind.name); only traySeen, marked and allMarked can be undone"
        case .keyConflict(let key, let seq):
            "the key \"\(key)\" belongs to a different command, stored as event \(seq); use a new key"
        case .compacted(let floor, let archive):
            "below the floor, which is \(floor)"
                + (archive.map { "; the events before it are in the archive \($0)" } ?? "")
        }
    }
}

extension Refusal: CustomStringConvertible {
    public var description: String { "\(name): \(message)" }
}
