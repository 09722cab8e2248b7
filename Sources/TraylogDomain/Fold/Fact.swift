/// An event reduced to the numbers that the fold needs.
///
/// Strings that are only compared are identities.
package struct Fact: Hashable, Sendable {
    package var seq: UInt64
    package var kind: EventKind
    /// `notified`, `broadcast`, as what follows `arrived`: the item is silent.
    package var isSilent = false
    /// `notified`, `broadcast`: the item arrives with the level `critical`.
    package var isCritical = false
    /// `notified`, `broadcast`: the item has actions.
    package var hasActions = false
    /// `notified`, `broadcast`, `edited`: the event sets a time to remind.
    package var reminds = false
    /// `notified`, `broadcast`: the item is not in the tray before it `arrived`.
    package var isScheduled = false
    /// `marked`: a ``Mark``; `allMarked`: a ``BulkMark``.
    package var mark: UInt8 = 0
    /// `allMarked`: only items without a thread.
    package var isUnthreaded = false
    /// `edited`: the fields that the event sets or clears.
    package var edited: ContentFields = []
    package var summaryCount: UInt32 = 1
    /// The event's ordinal in its stream, which the fold checks; 0 if the maker of the fact has counted already.
    package var revision: UInt32 = 0
    package var thread = Identity.absent
    package var category = Identity.absent
    package var argument = Identity.absent
    package var collapse = Identity.absent
    package var key = Identity.absent
    /// The one number that the event refers to.
    ///
    /// Its meaning depends on the kind: see ``upTo``, ``item``, ``undoneEvent`` and ``topic``, which name it.
    package var target: UInt64 = 0
    /// `marked`: the items that change, ascending.
    package var items: [UInt64] = []

    package init(seq: UInt64, kind: EventKind) {
        self.seq = seq
        self.kind = kind
    }

    /// `traySeen`, `allMarked`: the highest position that is covered.
    @inlinable
    package var upTo: UInt64 {
        get { target }
        set { target = newValue }
    }

    /// `edited`, `retracted`, `snoozed`, `woken`, `expired`, `acted`, `reminded`, `arrived`: the item.
    @inlinable
    package var item: UInt64 {
        get { target }
        set { target = newValue }
    }

    /// `undone`: the event that is undone.
    @inlinable
    package var undoneEvent: UInt64 {
        get { target }
        set { target = newValue }
    }

    /// `subscribed`, `unsubscribed`, `muted` and `unmuted` of a topic: the topic.
    @inlinable
    package var topic: Identity {
        get { Identity(rawValue: target) }
        set { target = newValue.rawValue }
    }
}

/// The fields of an item that later events can replace; the numbers of the bits are stored.
package struct ContentFields: OptionSet, Hashable, Sendable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    package static let title = ContentFields(rawValue: 1 << 0)
    package static let body = ContentFields(rawValue: 1 << 1)
    package static let summaryArgument = ContentFields(rawValue: 1 << 2)
    package static let summaryCount = ContentFields(rawValue: 1 << 3)
    package static let level = ContentFields(rawValue: 1 << 4)
    package static let expiresAt = ContentFields(rawValue: 1 << 5)
    package static let data = ContentFields(rawValue: 1 << 6)
    /// The end of a snooze; not a part of the content.
    package static let snoozedUntil = ContentFields(rawValue: 1 << 7)
    package static let remindAt = ContentFields(rawValue: 1 << 8)
    /// What the user decided; not a part of the content.
    package static let outcome = ContentFields(rawValue: 1 << 9)
    package static let notBefore = ContentFields(rawValue: 1 << 10)
    /// The event with which a scheduled item arrived; not a part of the content, but where it begins.
    package static let arrival = ContentFields(rawValue: 1 << 11)

    /// The parts of the content, each by itself.
    package static let editable: [ContentFields] = [
        .title, .body, .summaryArgument, .summaryCount, .level, .expiresAt, .data, .remindAt, .notBefore,
    ]

    /// Whether it is a part of the content, which an edit can replace.
    var isContent: Bool { self != .snoozedUntil && self != .outcome && self != .arrival }

    /// The number of the only bit.
    var number: UInt8 { UInt8(truncatingIfNeeded: rawValue.trailingZeroBitCount) }

    /// Nil for a number that no field has.
    init?(number: UInt8) {
        guard number <= ContentFields.arrival.number else { return nil }
        rawValue = 1 << UInt16(number)
    }
}

extension Fact {
    /// The fact that `event` states.
    package init(_ event: borrowing Event, hasher: IdentityHasher) {
        self.init(seq: event.seq.rawValue, body: event.body, key: event.key, hasher: hasher)
        revision = UInt32(clamping: event.revision)
    }

    package init(seq: UInt64, body: borrowing Event.Body, key: String?, hasher: IdentityHasher) {
        self.init(seq: seq, kind: body.kind)
        self.key = hasher.identity(of: key, as: .key)
        switch copy body {
        case .notified(let content), .broadcast(_, let content):
            setContent(content, hasher)
        case .traySeen(let upTo):
            self.upTo = upTo.rawValue
        case .marked(let mark, let items):
            self.mark = mark.code
            self.items = items.map(\.rawValue)
        case .allMarked(let mark, let filter, let upTo):
            self.mark = mark.code
            self.upTo = upTo.rawValue
            category = hasher.identity(of: filter.category, as: .category)
            switch filter.thread {
            case .any: break
            case .unthreaded: isUnthreaded = true
            case .named(let name): thread = hasher.identity(of: name, as: .thread)
            }
        case .muted(let scope, _), .unmuted(let scope):
            // The mute of everything has none of them.
            switch scope {
            case .thread(let name): thread = hasher.identity(of: name, as: .thread)
            case .category(let name): category = hasher.identity(of: name, as: .category)
            case .topic(let name): topic = hasher.identity(of: name, as: .topic)
            case .all: break
            }
        case .edited(let item, let edit):
            self.item = item.rawValue
            edited = edit.fields
            if case .set(let text) = edit.summaryArgument {
                argument = hasher.identity(of: text, as: .summaryArgument)
            }
            if case .set(let count) = edit.summaryCount { summaryCount = count }
            if case .set = edit.remindAt { reminds = true }
        case .snoozed(let item, _), .woken(let item), .retracted(let item), .expired(let item),
            .acted(let item, _, _, _),
            .reminded(let item):
            self.item = item.rawValue
        case .undone(let event):
            undoneEvent = event.rawValue
        case .subscribed(let topic, _), .unsubscribed(let topic, _):
            self.topic = hasher.identity(of: topic, as: .topic)
        case .arrived(let item, _, let itemKey, _, let content):
            self.item = item.rawValue
            self.key = hasher.identity(of: itemKey, as: .key)
            setContent(content, hasher)
        case .erased, .compacted, .held, .released, .lost, .audited:
            break
        case .redacted:
            kind = .erased
        }
    }

    /// The fact of a `notified`, without a copy of its content.
    package init(seq: UInt64, notified content: borrowing Content, key: borrowing String?, hasher: IdentityHasher) {
        self.init(seq: seq, kind: .notified)
        self.key = hasher.identity(of: key, as: .key)
        setContent(content, hasher)
    }

    private mutating func setContent(_ content: borrowing Content, _ hasher: IdentityHasher) {
        isSilent = content.isSilent
        isCritical = content.level == .critical
        hasActions = !content.actions.isEmpty
        reminds = content.remindAt != nil
        isScheduled = content.notBefore != nil
        summaryCount = content.summaryCount
        thread = hasher.identity(of: content.thread, as: .thread)
        category = hasher.identity(of: content.category, as: .category)
        argument = hasher.identity(of: content.summaryArgument, as: .summaryArgument)
        collapse = hasher.identity(of: content.collapseKey, as: .collapseKey)
    }
}

extension ContentEdit {
    /// The fields that the edit sets or clears.
    package var fields: ContentFields {
        var fields: ContentFields = []
        if title != .keep { fields.insert(.title) }
        if body != .keep { fields.insert(.body) }
        if summaryArgument != .keep { fields.insert(.summaryArgument) }
        if summaryCount != .keep { fields.insert(.summaryCount) }
        if level != .keep { fields.insert(.level) }
        if expiresAt != .keep { fields.insert(.expiresAt) }
        if data != .keep { fields.insert(.data) }
        if remindAt != .keep { fields.insert(.remindAt) }
        if notBefore != .keep { fields.insert(.notBefore) }
        return fields
    }
}

extension EventKind {
    /// Whether folding it in, or what follows it, may need more than the state.
    package var needsHistory: Bool { self == .undone || self == .subscribed }
}
