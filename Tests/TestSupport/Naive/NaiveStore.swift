import TraylogDomain

/// The reference model of the store: written from Docs/concepts.md alone, obvious and slow.
///
/// It keeps all events in an array and a plain state for each user. It is a value, so a copy of it is a snapshot.
/// It does not model `erase`; for `compact`, the store says which events leave the log.
///
/// ```swift
/// var naive = NaiveStore()
/// _ = naive.perform(Command(user: "ann", .notify(Content(title: "Hi"))), now: Timestamp(milliseconds: 1))
/// naive.tray(of: "ann").unseen  // 1
/// ```
package struct NaiveStore: Sendable {
    package private(set) var events: [Event] = []
    /// The command that caused each event; nil for events of a tick and for replayed ones.
    private var commands: [Command?] = []
    private var seqOfKey: [KeyScope: Seq] = [:]
    /// The number of events of each user and topic.
    private var counts: [[Name]: UInt64] = [:]
    /// The state of every user who has an event, at the head.
    package private(set) var current: [Name: NaiveUser] = [:]
    package private(set) var floor: Seq = .zero
    /// The floor that a running compaction will set; zero while none runs.
    ///
    /// Undoing an event below it is refused already.
    package var nextFloor: Seq = .zero
    package private(set) var archive: String?
    /// Events that left the log.
    package private(set) var dropped: Set<Seq> = []

    package init() {}

    /// Takes over another store's events; their keys answer no command.
    package init(replaying events: [Event]) {
        for event in events { append(event, cause: nil) }
    }

    /// The same for the log of a store that was compacted: all events that ever were in it, and which of them left.
    package init(replaying events: [Event], floor: Seq, dropped: Set<Seq>, archive: String?) {
        self.init(replaying: events)
        (self.floor, self.dropped, self.archive) = (floor, dropped, archive)
    }

    package var head: Seq { Seq(UInt64(events.count)) }

    package func event(_ seq: Seq) -> Event? {
        seq > .zero && seq <= head ? events[Int(seq.rawValue) - 1] : nil
    }

    /// The user's state at the head.
    package func state(of user: String) -> NaiveUser {
        current[Name(user)] ?? NaiveUser(name: user)
    }

    /// The user's state right after `seq`, folded from the first event on, without what was undone by then.
    package func state(of user: String, asOf seq: Seq) -> NaiveUser {
        let past = events.prefix(Int(seq.rawValue))
        var voided: Set<Seq> = []
        for event in past {
            if case .undone(let target) = event.body { voided.insert(target) }
        }
        var state = NaiveUser(name: user)
        for event in past where !voided.contains(event.seq) { state.apply(event) }
        return state
    }

    /// The store as it was right after `seq`, with the states of these users, so that each is folded once for many questions.
    package func past(_ seq: Seq, of users: [String]) -> NaiveStore {
        var past = self
        past.events = Array(events.prefix(Int(seq.rawValue)))
        past.counts = [:]
        for event in past.events {
            if let stream = stream(of: event) { past.counts[stream, default: 0] += 1 }
        }
        past.current = [:]
        for user in users { past.current[Name(user)] = state(of: user, asOf: seq) }
        return past
    }

    /// Takes events out of the log: answers from the floor on stay, and nothing else is asked.
    package mutating func compact(
        to floor: Seq, dropped: Set<Seq>, archive: String?, now: Timestamp
    ) {
        (self.floor, nextFloor) = (floor, .zero)
        if let archive { self.archive = archive }
        self.dropped.formUnion(dropped)
        append(
            .compacted(through: Seq(floor.rawValue - 1), dropped: UInt64(dropped.count), archive: archive), now: now)
    }

    package var compacted: Refusal { .compacted(floor: floor, archive: archive) }

    package func isVoided(_ seq: Seq) -> Bool {
        events.contains { $0.body == .undone(event: seq) }
    }
}

// MARK: - Commands

extension NaiveStore {
    package mutating func perform(_ command: Command, now: Timestamp) -> Result<Receipt, Refusal> {
        do throws(Refusal) {
            try validate(command)
            // An answer names its item before its key.
            if case .act(let reference, _, _, _) = command.action, let user = command.user {
                _ = try find(reference, state(of: user))
            }
            if let first = try duplicate(of: command) { return .success(.duplicate(first)) }
            guard let body = try decideExpected(command) else { return .success(.unchanged) }
            append(withoutPast(body, max(now, events.last?.recordedAt ?? now)), of: command, now: now)
            return .success(.appended(head))
        } catch {
            return .failure(error)
        }
    }

    /// What is scheduled for a time that has come arrives at once.
    private func withoutPast(_ body: Event.Body, _ time: Timestamp) -> Event.Body {
        func now(_ content: Content) -> Content {
            var content = content
            if let notBefore = content.notBefore, notBefore <= time { content.notBefore = nil }
            return content
        }
        return switch body {
        case .notified(let content): .notified(now(content))
        case .broadcast(let topic, let content): .broadcast(topic: topic, now(content))
        default: body
        }
    }

    /// The event's body; nil when nothing would change.
    ///
    /// Errors in the command itself come first, then the expected revision, then everything else.
    private func decideExpected(_ command: Command) throws(Refusal) -> Event.Body? {
        do throws(Refusal) {
            let body = try decide(command)
            try checkRevision(of: command)
            return body
        } catch {
            switch error {
            case .unknownItem, .invalid: break
            default: try checkRevision(of: command)
            }
            throw error
        }
    }

    /// The number of events of the command's user or topic; nil if the log no longer shows which topic is meant.
    package func revision(of command: Command) -> UInt64? {
        stream(of: command).map { counts[$0] ?? 0 }
    }

    private func checkRevision(of command: Command) throws(Refusal) {
        guard let expected = command.expectedRevision, let revision = revision(of: command) else { return }
        if revision != expected { throw .wrongRevision(expected: expected, revision: revision) }
    }

    /// All commands or, when one is refused, none.
    package mutating func perform(_ commands: [Command], now: Timestamp) -> Result<[Receipt], Refusal> {
        let before = self
        var receipts: [Receipt] = []
        for command in commands {
            switch perform(command, now: now) {
            case .success(let receipt): receipts.append(receipt)
            case .failure(let refusal):
                self = before
                return .failure(refusal)
            }
        }
        return .success(receipts)
    }

    package mutating func append(
        _ body: Event.Body, of command: Command? = nil, user: String? = nil, origin: NaiveItem? = nil, now: Timestamp
    ) {
        let event = Event(
            seq: Seq(head.rawValue + 1), recordedAt: max(now, events.last?.recordedAt ?? now),
            occurredAt: command?.occurredAt ?? origin?.occurredAt, user: command?.user ?? user, key: command?.key,
            actor: command?.actor ?? origin?.actor,
            device: command?.device, body: body)
        append(event, cause: command)
    }

    private mutating func append(_ event: Event, cause: Command?) {
        let event = counted(event)
        events.append(event)
        commands.append(cause)
        if let scope = KeyScope(of: event, in: self) { seqOfKey[scope] = event.seq }
        guard let user = event.user else {
            for name in current.keys { current[name]?.apply(event) }
            return
        }
        if event.kind == .undone {
            current[Name(user)] = state(of: user, asOf: event.seq)
        } else {
            current[Name(user), default: NaiveUser(name: user)].apply(event)
        }
    }

    /// The event with its revision, and with the revision of the topic that it joins or leaves.
    private mutating func counted(_ event: Event) -> Event {
        var event = event
        event.revision = 0
        if let stream = stream(of: event) {
            counts[stream, default: 0] += 1
            event.revision = counts[stream] ?? 0
        }
        func count(_ topic: String) -> UInt64 { counts[[Name("topic"), Name(topic)]] ?? 0 }
        switch event.body {
        case .subscribed(let topic, _): event.body = .subscribed(topic: topic, topicRevision: count(topic))
        case .unsubscribed(let topic, _): event.body = .unsubscribed(topic: topic, topicRevision: count(topic))
        default: break
        }
        return event
    }

    /// The stream that it counts in: a user's name or a topic's; nil for an event of the store itself.
    private func stream(of event: Event) -> [Name]? {
        if let user = event.user { return [Name(user)] }
        return topic(ofStream: event).map { [Name("topic"), $0] }
    }

    private func stream(of command: Command) -> [Name]? {
        if let user = command.user { return [Name(user)] }
        switch command.action {
        case .broadcast(let topic, _): return [Name("topic"), Name(topic)]
        case .edit(.seq(let item), _), .retract(.seq(let item)):
            return dropped.contains(item) ? nil : topic(of: item).map { [Name("topic"), Name($0)] }
        default: return nil
        }
    }

    private func topic(ofStream event: Event) -> Name? {
        switch event.body {
        case .broadcast(let topic, _): Name(topic)
        case .edited(let item, _), .retracted(let item), .expired(let item),
            .reminded(let item), .arrived(let item, _, _, _, _):
            Name(topic(of: item))
        default: nil
        }
    }

    /// The event that answers the same command with the same key already.
    private func duplicate(of command: Command) throws(Refusal) -> Seq? {
        guard let key = command.key, let scope = KeyScope(of: command, in: self), let seq = seqOfKey[scope] else {
            return nil
        }
        if let first = commands[Int(seq.rawValue) - 1], sameBytes(first.expecting(nil), command.expecting(nil)) {
            return seq
        }
        switch command.action {
        case .edit(.seq(let item), _) where command.user == nil && dropped.contains(item),
            .retract(.seq(let item)) where command.user == nil && dropped.contains(item):
            // The topic left the log with the item, and with it what has the key.
            throw compacted
        default:
            throw .keyConflict(key: key, seq: seq)
        }
    }

    /// The item that an event of this user with this key brought.
    package func notified(_ key: String, of user: String) -> Seq? {
        guard let seq = seqOfKey[KeyScope(user: user, key: key)], event(seq)?.kind == .notified else { return nil }
        return seq
    }
}

extension Command {
    /// The same command with another expected revision.
    package func expecting(_ revision: UInt64?) -> Command {
        var command = self
        command.expectedRevision = revision
        return command
    }
}

/// Where a key is unique: among one user's commands, or among those on one topic's broadcasts.
private struct KeyScope: Hashable {
    var user: Name?
    var topic: Name?
    var key: Name

    init(user: String, key: String) {
        self.user = Name(user)
        self.key = Name(key)
    }

    init?(of event: Event, in store: NaiveStore) {
        guard let key = event.key else { return nil }
        self.key = Name(key)
        if let user = event.user {
            self.user = Name(user)
            return
        }
        switch event.body {
        case .broadcast(let topic, _): self.topic = Name(topic)
        case .edited(let item, _), .retracted(let item): topic = Name(store.topic(of: item))
        default: return nil
        }
    }

    init?(of command: Command, in store: NaiveStore) {
        guard let key = command.key else { return nil }
        self.key = Name(key)
        if let user = command.user {
            self.user = Name(user)
            return
        }
        switch command.action {
        case .broadcast(let topic, _): self.topic = Name(topic)
        case .edit(.seq(let item), _), .retract(.seq(let item)):
            guard let topic = store.topic(of: item) else { return nil }
            self.topic = Name(topic)
        default: return nil
        }
    }
}
