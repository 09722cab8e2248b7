/// The kind of an event, as its stored number; numbers are never reused.
public enum EventKind: UInt8, Hashable, Sendable, CaseIterable {
    case notified = 1
    case traySeen = 2
    case marked = 3
    case allMarked = 4
    case muted = 5
    case unmuted = 6
    case snoozed = 7
    case woken = 8
    case edited = 9
    case retracted = 10
    case subscribed = 11
    case unsubscribed = 12
    case broadcast = 13
    case undone = 14
    case expired = 15
    case erased = 16
    case compacted = 17
}

extension EventKind {
    /// The name that JSON and the command line use, such as `notified`.
    public var name: String { "\(self)" }

    /// Whether an `undo` can void it.
    public var isUndoable: Bool {
        switch self {
        case .traySeen, .marked, .allMarked: true
        default: false
        }
    }

    public init?(name: some StringProtocol) {
        guard let kind = EventKind.allCases.first(where: { $0.name == name }) else { return nil }
        self = kind
    }
}

extension Event {
    public var kind: EventKind { body.kind }
}

extension Event.Body {
    public var kind: EventKind {
        switch self {
        case .notified: .notified
        case .traySeen: .traySeen
        case .marked: .marked
        case .allMarked: .allMarked
        case .muted: .muted
        case .unmuted: .unmuted
        case .snoozed: .snoozed
        case .woken: .woken
        case .edited: .edited
        case .retracted: .retracted
        case .subscribed: .subscribed
        case .unsubscribed: .unsubscribed
        case .broadcast: .broadcast
        case .undone: .undone
        case .expired: .expired
        case .erased: .erased
        case .redacted(let kind): kind
        case .compacted: .compacted
        }
    }
}
