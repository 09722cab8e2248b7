@_spi(Replication) import TraylogDomain
import TraylogLog
import TraylogPlatform
import TraylogStates

extension PendingTransaction {
    /// Decides a command and, if it comes to an event, makes it part of the transaction.
    ///
    /// - Parameter number: what ``LiveStore/findStreams(of:_:_:)`` found.
    /// - Throws: ``Refusal``, and failures to read; nothing changed then.
    mutating func perform(
        _ prepared: borrowing PreparedCommands, _ index: Int, to number: StreamID, store: inout LiveStore,
        random: inout RandomPool
    ) throws -> Receipt {
        if !prepared.refusals.isEmpty, let refusal = prepared.refusals[index] { throw refusal }
        // Most commands end here, and look at nothing of the stream but its number.
        if number != .absent, prepared.entries[index].key == .absent, prepared.entries[index].isEncoded {
            if let expected = prepared.commands[index].expectedRevision {
                try store.check(expected, of: number)
            }
            let salt = prepared.salt(index) ?? random.nextSalt()
            return .appended(try append(prepared, index, salt: salt, to: number, store: &store))
        }
        let name: StreamName
        let known: LiveStream?
        if let user = prepared.commands[index].user {
            name = .user(user)
            known =
                try store.directory[number]
                ?? store.stream(of: UserName(user, identity: prepared.entries[index].user))
            if known == nil, Pseudonym.stream(of: user) != nil {
                throw Refusal.invalid(field: "user", reason: "is kept for somebody who is erased; use another name")
            }
        } else {
            name = try topicName(prepared, index, &store)
            known = try store.stream(ofTopic: store.identity(of: name))
        }
        if let known, known.isErased {
            throw Refusal.invalid(field: "user", reason: "stands for somebody who was erased; use another name")
        }
        if prepared.entries[index].isEncoded {
            if prepared.entries[index].key != .absent, let known,
                let seq = try duplicate(prepared, index, of: known, store: &store)
            {
                return .duplicate(seq)
            }
            if let expected = prepared.commands[index].expectedRevision {
                try store.check(expected, of: known?.number)
            }
            let salt = prepared.salt(index) ?? random.nextSalt()
            let stream = try (known ?? store.newStream(name)).number
            return .appended(try append(prepared, index, salt: salt, to: stream, store: &store))
        }
        let decision: Decision
        do {
            decision = try decide(prepared, index, of: known, store: &store)
        } catch let refusal as Refusal {
            if let expected = prepared.commands[index].expectedRevision, !refusal.precedesRevision {
                try store.check(expected, of: known?.number)
            }
            throw refusal
        }
        if case .duplicate(let seq) = decision { return .duplicate(seq) }
        if let expected = prepared.commands[index].expectedRevision {
            try store.check(expected, of: known?.number)
        }
        guard case .append(var body, let edits) = decision else { return .unchanged }
        body.dropNotBefore(through: now)
        try noteTopic(in: &body, store: &store)
        let old = body.kind == .undone ? known?.states.newest?.state : nil
        let mayRemind = body.mayMakeUnread && known?.states.newest?.state.hasReminders ?? false
        let seq = try append(
            prepared.commands[index], body, fingerprint: prepared.entries[index].fingerprint, edits: edits,
            salt: prepared.salt(index) ?? random.nextSalt(), to: known ?? store.newStream(name), store: &store)
        if let known, let old { try reviveDues(of: known, since: old, by: seq.rawValue, store: &store) }
        if let known, mayRemind { try reviveReminders(after: body, of: known, by: seq.rawValue, store: &store) }
        return .appended(seq)
    }

    /// The stream that the event of a command without user belongs to.
    ///
    /// - Throws: ``Refusal`` `unknownItem` for a change of what is no broadcast.
    private func topicName(
        _ prepared: borrowing PreparedCommands, _ index: Int, _ store: inout LiveStore
    ) throws -> StreamName {
        let command = prepared.commands[index]
        switch command.action {
        case .broadcast(let topic, _):
            return .topic(topic)
        case .edit(let item, _), .retract(let item):
            if case .seq(let seq) = item, seq > .zero, store.record.floor.isAbove(seq.rawValue),
                try !store.snapshot().holds(seq.rawValue)
            {
                // Which topic it was of is gone with it, but not what was performed before.
                if let looked = prepared.topics[index] {
                    guard let topic = looked else { throw store.record.floor.refusal }
                    return .topic(topic)
                }
                if let topic = try topic(thatAnswered: command, prepared.entries[index].fingerprint, &store) {
                    return topic
                }
                throw store.record.floor.refusal
            }
            guard case .seq(let seq) = item, seq > .zero, seq.rawValue < batch.nextSeq,
                case .broadcast(let topic, _) = try event(seq.rawValue, store).body
            else { throw Refusal.unknownItem(item) }
            return .topic(topic)
        default:
            throw Refusal.invalid(field: "user", reason: "is missing")
        }
    }

    private func event(_ seq: UInt64, _ store: borrowing LiveStore) throws -> Event {
        try batch.event(seq) ?? store.snapshot().pages(of: .absent, asOf: 0).event(seq)
    }

    /// Decides what a command changes.
    mutating func decide(
        _ prepared: borrowing PreparedCommands, _ index: Int, of stream: LiveStream?, store: inout LiveStore
    ) throws -> Decision {
        let command = prepared.commands[index]
        if let body = try command.decideBlindly(head: head) { return .append(body) }
        let fingerprint = prepared.entries[index].fingerprint
        guard let stream else {
            return try TrayState().decide(
                command, head: head, fingerprint: fingerprint, hasher: store.hasher,
                source: source(store.snapshot().pages(of: .absent, asOf: 0), store))
        }
        do {
            return try decide(command, fingerprint, of: stream, store: &store)
        } catch PackedError.damaged {
            _ = try store.refold(stream)
            return try decide(command, fingerprint, of: stream, store: &store)
        }
    }

    private mutating func decide(
        _ command: Command, _ fingerprint: UInt64, of stream: LiveStream, store: inout LiveStore
    ) throws -> Decision {
        let (state, source) = try state(of: stream, store: &store)
        return try state.decide(command, head: head, fingerprint: fingerprint, hasher: store.hasher, source: source)
    }

    /// The stream's state with every event of this transaction so far, and what can be read beside it.
    mutating func state(
        of stream: LiveStream, store: inout LiveStore
    ) throws -> (state: TrayState, stored: PendingSource) {
        let committed = try store.current(stream)
        var newest = committed
        let mayHearTopics = store.tail.hasPendingTopicEvents && !committed.state.topics.isEmpty
        if store.tail.hasPending(stream.number) || mayHearTopics {
            newest = stream.states.pending ?? committed.copy()
            do {
                try store.catchUp(newest, of: stream, through: .max)
            } catch {
                // A half-folded state is of no use.
                store.states.dropPending()
                throw error
            }
            store.states.setPending(newest, of: stream)
        }
        return (newest.state, try source(of: stream.number, newest, store))
    }

    /// The source to read beside a state of the stream.
    func source(of stream: StreamID, _ state: CachedState, _ store: borrowing LiveStore) throws -> PendingSource {
        source(try store.pages(of: stream, state), store)
    }

    func source(_ stored: StoredPages, _ store: borrowing LiveStore) -> PendingSource {
        PendingSource(stored: stored, batch: batch, nextFloor: store.nextFloor)
    }

    /// Notes in a `subscribed` or `unsubscribed` how many events the topic has, so that they tell which broadcasts the user could
    /// see.
    private func noteTopic(in body: inout Event.Body, store: inout LiveStore) throws {
        switch body {
        case .subscribed(let topic, _):
            body = .subscribed(topic: topic, topicRevision: try store.revision(ofTopic: topic))
        case .unsubscribed(let topic, _):
            body = .unsubscribed(topic: topic, topicRevision: try store.revision(ofTopic: topic))
        default: break
        }
    }

    /// Without a mark that was undone, an item may not have been superseded: it is not gone any more, and due again.
    ///
    /// While it was gone, a tick may have dropped what it was due at.
    mutating func reviveDues(
        of stream: LiveStream, since old: TrayState, by seq: UInt64, store: inout LiveStore
    ) throws {
        let (new, stored) = try state(of: stream, store: &store)
        for page in new.pages.filter({ $0.changedBy == seq }) + [new.tail] {
            try reviveDues(of: page, stream: stream, new, old, stored, by: seq)
        }
    }

    private mutating func reviveDues(
        of page: ItemPage, stream: LiveStream, _ new: TrayState, _ old: TrayState, _ stored: PendingSource,
        by seq: UInt64
    ) throws {
        // As a rule the item stood in the same page before.
        let before = try old.page(at: page.first, stored: stored)
        for entry in page.entries where !entry.flags.contains(.gone) {
            let place = before?.index(at: entry.position).flatMap { before?.entries[$0] }
            let known = try place?.seq == entry.seq ? place : old.entry(of: entry.seq, stored: stored)
            if known?.flags.isUnread != true { try reviveReminder(entry, new, of: stream, stored, by: seq) }
            guard known?.flags.contains(.gone) ?? false else { continue }
            let shown = try new.shown(entry, stored: stored)
            if let until = try shown.snoozedUntil(from: stored) {
                addDue(DueEntry(due: until, item: entry.seq, kind: .wake, stream: stream.number), by: seq)
            }
            // That of a broadcast is its topic's, and was not dropped.
            let (origin, content) = try shown.content(from: stored)
            if origin.user != nil, let notBefore = content.notBefore {
                addDue(DueEntry(due: notBefore, item: entry.seq, kind: .arrival, stream: stream.number), by: seq)
            } else if origin.user != nil, let expiresAt = content.expiresAt {
                addDue(DueEntry(due: expiresAt, item: entry.seq, kind: .expiry, stream: stream.number), by: seq)
            }
        }
    }
}

extension Event.Body {
    /// Makes of what would be scheduled for a time that has come what arrives at once.
    fileprivate mutating func dropNotBefore(through now: Timestamp) {
        switch self {
        case .notified(var content) where content.notBefore.map { $0 <= now } ?? false:
            content.notBefore = nil
            self = .notified(content)
        case .broadcast(let topic, var content) where content.notBefore.map { $0 <= now } ?? false:
            content.notBefore = nil
            self = .broadcast(topic: topic, content)
        default: break
        }
    }
}

extension Refusal {
    /// Whether it says what is wrong with the command itself, whatever has happened since the caller looked.
    fileprivate var precedesRevision: Bool {
        switch self {
        case .invalid, .unknownItem, .keyConflict: true
        default: false
        }
    }
}

extension PendingTransaction {
    /// A tick drops the reminder of an item that is read or not counted; the event that changes that brings it back.
    mutating func reviveReminders(
        after body: Event.Body, of stream: LiveStream, by seq: UInt64, store: inout LiveStore
    ) throws {
        let items: [Seq]
        switch body {
        case .marked(_, let marked): items = marked
        case .woken(let item): items = [item]
        default: return
        }
        let (state, stored) = try state(of: stream, store: &store)
        for item in items {
            guard let entry = try state.entry(of: item.rawValue, stored: stored) else { continue }
            try reviveReminder(entry, state, of: stream, stored, by: seq)
        }
    }

    private mutating func reviveReminder(
        _ entry: ItemEntry, _ state: TrayState, of stream: LiveStream, _ stored: PendingSource, by seq: UInt64
    ) throws {
        guard entry.flags.contains(.reminding), entry.flags.isUnread else { return }
        let (origin, content) = try state.shown(entry, stored: stored).content(from: stored)
        // That of a broadcast is its topic's, whatever anybody did with it.
        guard origin.user != nil, let due = content.remindAt else { return }
        addDue(DueEntry(due: due, item: entry.seq, kind: .reminder, stream: stream.number), by: seq)
    }
}

extension Event.Body {
    /// Whether items may be counted and unread after it that were not before; an undo is looked at by itself.
    var mayMakeUnread: Bool {
        switch self {
        case .marked(.unread, _), .marked(.unarchived, _), .marked(.restored, _), .woken: true
        default: false
        }
    }
}

extension RandomPool {
    mutating func nextSalt() -> Salt {
        let (first, second) = next16()
        return Salt(first, second)
    }
}

/// The sources of a decision: the file, and the events of the transaction in the making.
struct PendingSource: StateSource {
    let stored: StoredPages
    let batch: RecordBatch
    let nextFloor: Floor

    init(stored: StoredPages, batch: RecordBatch, nextFloor: UInt64) {
        self.stored = stored
        self.batch = batch
        self.nextFloor = nextFloor > stored.floor.seq.rawValue ? Floor(seq: Seq(nextFloor)) : stored.floor
    }

    var floor: Floor { stored.floor }

    func holds(_ seq: UInt64) throws -> Bool { try stored.holds(seq) }
    func compactedFingerprint(_ seq: UInt64) throws -> UInt64? { try stored.compactedFingerprint(seq) }

    func items(at position: UInt64) throws -> ItemPage? { try stored.items(at: position) }
    func keys(_ space: PageSpace, at key: UInt64) throws -> KeyIndex.Page? {
        try stored.keys(space, at: key)
    }
    func events(from seq: UInt64) throws -> EventIndex.Page? { try stored.events(from: seq) }

    func event(_ seq: UInt64) throws -> Event {
        if let event = try batch.event(seq) { return event }
        return try stored.event(seq)
    }
}
