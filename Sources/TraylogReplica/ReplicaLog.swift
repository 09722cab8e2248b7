import TraylogDomain

/// The events that a ``TrayReplica`` knows, in the place of a log.
///
/// An item of the snapshot stands here as the event that brought it, with its content as the snapshot has it.
struct ReplicaLog: StateSource, FoldHistory {
    let hasher: IdentityHasher
    /// The state of the snapshot: where an undo begins to fold.
    private let base: TrayState
    /// The pages of ``base``, and events that are not in memory.
    let stored: ReplicaRows
    private(set) var events: [UInt64: Event] = [:]
    /// Events of topics after the snapshot, ascending.
    private var topicEvents: [(seq: UInt64, topic: Identity)] = []
    /// What planned a scheduled item, by item: its event makes room for the item's content once it has arrived.
    private var planned: [UInt64: Fact] = [:]
    /// The topics of items that were broadcast, by item.
    private var topics: [UInt64: Identity] = [:]

    /// No event has so high a number, so that ends of snoozes do not meet the items that they are of.
    static let snoozes: UInt64 = 1 << 63
    /// The number under which the time is found when the tray was seen last before the snapshot.
    static let seen: UInt64 = 1 << 62
    /// The mutes of the snapshot are found from this number on.
    static let mutes: UInt64 = 1 << 61
    /// As ``snoozes``, of outcomes.
    static let outcomes: UInt64 = 1 << 60
    /// As ``snoozes``, of arrivals.
    static let arrivals: UInt64 = 1 << 59

    /// A log whose events lie elsewhere.
    init(stored: ReplicaRows, base: TrayState, hasher: IdentityHasher) {
        self.hasher = hasher
        self.base = base
        self.stored = stored
    }

    init(_ snapshot: [TraySnapshot], base: TrayState, hasher: IdentityHasher) {
        self.init(stored: .none, base: base, hasher: hasher)
        for part in snapshot.lazy.flatMap(\.items) { add(part.item, of: snapshot[0].user) }
        for (index, mute) in snapshot[0].mutes.enumerated() {
            events[Self.mutes + UInt64(index)] = Event(
                seq: snapshot[0].asOf, recordedAt: mute.since, user: snapshot[0].user,
                body: .muted(mute.scope, until: mute.until))
        }
        if let time = snapshot[0].tray.seenAt {
            let upTo = snapshot[0].tray.seenUpTo
            events[Self.seen] = Event(
                seq: snapshot[0].asOf, recordedAt: time, user: snapshot[0].user, body: .traySeen(upTo: upTo))
        }
    }

    /// The number under which the end of an item's snooze is found.
    static func snooze(of item: Seq) -> UInt64 { snoozes | item.rawValue }

    private mutating func add(_ item: Item, of user: String) {
        var body = Event.Body.notified(item.content)
        if let topic = item.topic {
            body = .broadcast(topic: topic, item.content)
            topics[item.seq.rawValue] = hasher.identity(of: topic, as: .topic)
        }
        events[item.seq.rawValue] = Event(
            seq: item.seq, recordedAt: item.recordedAt, occurredAt: item.occurredAt,
            user: item.topic == nil ? user : nil, key: item.key, actor: item.actor, body: body)
        if let outcome = item.outcome {
            events[Self.outcomes | item.seq.rawValue] = Event(
                seq: outcome.seq, recordedAt: outcome.at, user: user, actor: outcome.actor,
                body: .acted(item: item.seq, action: outcome.action, note: outcome.note, asOf: outcome.asOf))
        }
        if let arrivedAt = item.arrivedAt {
            events[Self.arrivals | item.seq.rawValue] = Event(
                seq: item.seq, recordedAt: arrivedAt, user: user,
                body: .arrived(
                    item: item.seq, topic: item.topic, key: item.key, notifiedAt: item.recordedAt, Content()))
        }
        guard let until = item.snoozedUntil else { return }
        events[Self.snooze(of: item.seq)] = Event(
            seq: item.seq, recordedAt: item.recordedAt, user: user, body: .snoozed(item: item.seq, until: until))
    }

    /// Takes up events after those that are known.
    mutating func append(_ new: [Event]) throws {
        for event in new { try append(event) }
    }

    private mutating func append(_ event: Event) throws {
        let seq = event.seq.rawValue
        events[seq] = event
        if event.content?.notBefore != nil { planned[seq] = Fact(event, hasher: hasher) }
        if case .arrived(let item, let topic, let key, let notifiedAt, let content) = event.body {
            try arrive(event, item, topic, key, notifiedAt, content)
        }
        guard event.user == nil else { return }
        switch event.body {
        case .broadcast(let topic, _):
            let identity = hasher.identity(of: topic, as: .topic)
            topics[seq] = identity
            topicEvents.append((seq, identity))
        case .edited(let item, _), .retracted(let item), .expired(let item), .reminded(let item):
            if let topic = try topic(of: item.rawValue) { topicEvents.append((seq, topic)) }
        default:
            break
        }
    }

    /// Puts what brings a scheduled item in the place of the event that planned it, which may not be here; its own place keeps
    /// what the fold needs, and the time.
    private mutating func arrive(
        _ event: Event, _ item: Seq, _ topic: String?, _ key: String?, _ notifiedAt: Timestamp, _ content: Content
    ) throws {
        var origin = event
        (origin.seq, origin.key, origin.recordedAt) = (item, key, notifiedAt)
        origin.body = topic.map { .broadcast(topic: $0, content) } ?? .notified(content)
        events[item.rawValue] = origin
        events[event.seq.rawValue]?.body = .arrived(
            item: item, topic: topic, key: key, notifiedAt: notifiedAt, content.withoutTexts)
        guard let topic else { return }
        let identity = hasher.identity(of: topic, as: .topic)
        topics[item.rawValue] = identity
        topicEvents.append((event.seq.rawValue, identity))
    }

    /// Forgets events that were taken up in vain.
    mutating func remove(_ new: [Event]) {
        for event in new { events[event.seq.rawValue] = nil }
        guard let first = new.first?.seq.rawValue else { return }
        topicEvents.removeAll { $0.seq >= first }
    }

    private func topic(of item: UInt64) throws -> Identity? {
        if let topic = topics[item] { return topic }
        guard case .broadcast(let name, _)? = try stored.event(item)?.body else { return nil }
        return hasher.identity(of: name, as: .topic)
    }

    func items(at position: UInt64) throws -> ItemPage? { try stored.items(at: position) }
    func keys(_ space: PageSpace, at key: UInt64) throws -> KeyIndex.Page? {
        try stored.keys(space, at: key)
    }
    func events(from seq: UInt64) -> EventIndex.Page? { nil }

    func event(_ seq: UInt64) throws -> Event {
        if let event = events[seq] { return event }
        guard let event = try stored.event(seq) else { throw TraylogError.damagedReplica("event \(seq) is missing") }
        return event
    }

    func fact(_ seq: UInt64) throws -> Fact { try planned[seq] ?? Fact(event(seq), hasher: hasher) }

    func events(ofTopic topic: Identity, after seq: UInt64, through end: UInt64) -> [UInt64] {
        // A replica asks for the newest ones as a rule.
        let first = topicEvents.lastIndex { $0.seq <= seq }.map { $0 + 1 } ?? 0
        return topicEvents[first...].lazy.filter { $0.topic == topic && $0.seq <= end }.map(\.seq)
    }

    func landmark(atOrBefore seq: UInt64) -> Landmark<ReplicaRows>? {
        seq >= base.appliedSeq ? Landmark(state: base, pages: stored) : nil
    }

    func firsts(of space: PageSpace, changedSince seq: UInt64) -> [UInt64] { [] }
}
