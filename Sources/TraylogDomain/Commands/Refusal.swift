/// Why a command was refused and nothing was stored.
///
/// Later versions may have more cases: a `switch` needs an `@unknown default`, and ``code`` tells them apart.
#if hasAttribute(nonexhaustive)
    @nonexhaustive
#endif
public enum Refusal: Error, Hashable, Sendable {
    /// Malformed, over a limit, or an unknown field or kind.
    case invalid(field: String, reason: String)
    /// The item was never in this user's tray or, in a command without a user, is not a broadcast.
    case unknownItem(ItemReference)
    /// The item was superseded, retracted or expired or, for `snooze`, `wake` and `act`, deleted.
    case itemGone(Seq)
    /// A `wake` of an item that is not snoozed.
    case notSnoozed(Seq)
    /// An `act` of an item that was answered already, with another action.
    case alreadyActed(Seq, action: String)
    /// An `act` of an item that was edited after the state that its user answered; `edited` is the first such edit.
    case changedSince(Seq, asOf: Seq, edited: Seq)
    /// The user has not answered the item, so there is no decision to show.
    case notAnswered(Seq)
    /// A seq beyond the head. `field` says which of the caller's: `upTo`, or the `asOf` of a query or an `act`.
    case upToBeyondHead(Seq, head: Seq, field: String = "upTo")
    /// The log has no such event, or the event to undo is not one of this user.
    case unknownEvent(Seq)
    /// An `undo` of an event of a kind that cannot be undone.
    case notUndoable(Seq, kind: EventKind)
    /// The key belongs to a different command, stored as `seq`.
    case keyConflict(key: String, seq: Seq)
    /// The newest event of the command's user or topic has another revision than the command expects; 0 for none.
    case wrongRevision(expected: UInt64, revision: UInt64)
    /// The query or command needs events that a compaction removed from the log.
    case compacted(floor: Seq, archive: String?)
    /// The user is held, so nobody can erase the user.
    case held(user: String)
    /// A position from before the store was restored, which names an event that the store does not have.
    ///
    /// Everything read after `lastShared` is void; nil if the store cannot tell how far it agrees.
    case rewound(Seq, lastShared: Seq?)
    /// The person whose events were followed or paged through was erased; the name may belong to somebody else by now.
    case erased(user: String)
    /// An event in the copy's snapshot was undone: only a new snapshot shows the tray without it.
    case staleSnapshot(Seq)
    /// A fetcher has all pages, or as many items as its limit allows.
    case endReached
}

extension Refusal {
    /// The kind of refusal, without its details; the raw value is the `error` in JSON.
    ///
    /// ```swift
    /// do {
    ///     try await store.perform(command)
    /// } catch {
    ///     guard error.refusal?.code == .keyConflict else { throw error }
    ///     print("used before")
    /// }
    /// ```
    ///
    /// Later versions may have more: a `switch` needs an `@unknown default`.
    #if hasAttribute(nonexhaustive)
        @nonexhaustive
    #endif
    public enum Code: String, Hashable, Sendable, CaseIterable, Codable {
        /// The code of the refusal with the same name.
        case invalid, unknownItem, itemGone, notSnoozed, upToBeyondHead, unknownEvent, notUndoable, keyConflict
        /// The code of the refusal with the same name.
        case wrongRevision, compacted, held, rewound, erased, staleSnapshot, endReached, alreadyActed, changedSince,
            notAnswered
    }

    /// The kind of refusal, without its details.
    public var code: Code {
        switch self {
        case .invalid: .invalid
        case .unknownItem: .unknownItem
        case .itemGone: .itemGone
        case .notSnoozed: .notSnoozed
        case .alreadyActed: .alreadyActed
        case .changedSince: .changedSince
        case .notAnswered: .notAnswered
        case .upToBeyondHead: .upToBeyondHead
        case .unknownEvent: .unknownEvent
        case .notUndoable: .notUndoable
        case .keyConflict: .keyConflict
        case .wrongRevision: .wrongRevision
        case .compacted: .compacted
        case .held: .held
        case .rewound: .rewound
        case .erased: .erased
        case .staleSnapshot: .staleSnapshot
        case .endReached: .endReached
        }
    }

    /// An explanation of one or two sentences, with the next step if there is one.
    public var message: String {
        switch self {
        case .invalid(let field, let reason):
            "\(field): \(reason)"
        case .unknownItem(.seq(let seq)):
            "item \(seq) was never in this tray, or a broadcast was named with a user, or another item without one"
        case .unknownItem(.key(let key)):
            "no item that arrived for this user alone carried the key \"\(key)\"; name a broadcast's item by its seq"
        case .itemGone(let seq):
            "item \(seq) is gone: it was superseded, retracted or expired, or it is deleted"
        case .notSnoozed(let seq):
            "item \(seq) is not snoozed, so it cannot be woken"
        case .alreadyActed(let seq, let action):
            "item \(seq) was answered already, with \"\(action)\""
        case .changedSince(let seq, let asOf, let edited):
            "item \(seq) was edited after event \(asOf), by event \(edited); look at it as it is now, and answer again"
        case .notAnswered(let seq):
            "item \(seq) has no answer"
        case .upToBeyondHead(let seq, let head, let field):
            "\(field): \(seq) is beyond the head, which is \(head)"
        case .unknownEvent(let seq):
            seq == 0
                ? "there is no event 0: the log begins with event 1"
                : "event \(seq) is not in the log, or an undo names somebody else's event"
        case .notUndoable(let seq, let kind):
            "event \(seq) is \(kind.rawValue); only traySeen, marked and allMarked can be undone"
        case .keyConflict(let key, let seq):
            "the key \"\(key)\" belongs to a different command, stored as event \(seq); use a new key"
        case .wrongRevision(let expected, let revision):
            "revision \(expected) is expected, and the newest event has revision \(revision); look at what happened since"
        case .compacted(let floor, let archive):
            "below the floor, which is \(floor)"
                + (archive.map { "; the events before it are in the archive \($0)" } ?? "")
        case .held(let user):
            "\(user) is held and cannot be erased; a release comes first"
        case .rewound(let seq, let last):
            "event \(seq) was lost when the store was restored from a copy; "
                + (last.map { "what was read after event \($0) is void" } ?? "read again from the beginning")
        case .erased(let user):
            "\(user) was erased, and the name may be somebody else's now: begin anew"
        case .staleSnapshot(let seq):
            "event \(seq), which the snapshot rests on, was undone: take a new snapshot"
        case .endReached:
            "there is no next page, or the fetcher's limit is reached"
        }
    }
}

extension Refusal: CustomStringConvertible {
    /// The text for a person.
    public var description: String { "\(code.rawValue): \(message)" }
}

extension Refusal {
    /// The start of a text from outside, short enough to be shown in a message.
    package static func excerpt(_ text: String) -> String {
        let limit = 64
        let start = text.unicodeScalars.prefix(limit)
        return start.endIndex == text.unicodeScalars.endIndex ? text : String(start) + "…"
    }
}
