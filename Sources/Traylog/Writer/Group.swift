import TraylogDomain
import TraylogPlatform
import TraylogLog

/// One transaction in the making: commands decided against the state after the last commit and each other, their
/// events encoded, nothing visible yet.
///
/// Every change of ``Core`` is written down, so that a refused batch or a failed commit leaves no trace.
struct Group {
    /// The transaction in the making.
    private(set) var made = Decisions()
    /// The one before it, as long as it is being written.
    private(set) var written: Decisions?
    /// The memory of one that was written.
    private var spare = Decisions()
    /// Streams whose state was brought up to these transactions' events.
    private var working: [UserSlot] = []
    /// Where the users of the commands that are decided next were last seen.
    var places = SlotPlaces()

    var isEmpty: Bool { made.batch.isEmpty }

    /// Starts the next transaction, at the head or behind what is being written.
    mutating func begin(_ core: borrowing Core, now: Timestamp) {
        made.reset(firstSeq: written?.batch.nextSeq ?? core.head.seq + 1)
        if written == nil { dropWorking() }
        // A clock that steps back is clamped, so that times never decrease along the log.
        made.now = max(now, written?.now ?? core.head.recordedAt, core.head.recordedAt)
    }

    /// Lets the transaction be written: another one can begin.
    mutating func setOff() {
        precondition(written == nil, "One transaction is written at a time.")
        var next = Decisions()
        swap(&next, &spare)
        swap(&next, &made)
        made.reset(firstSeq: next.batch.nextSeq)
        written = next
    }

    private mutating func dropWorking() {
        for slot in working { slot.working = nil }
        working.removeAll(keepingCapacity: true)
    }

    /// Decides a command and, if it comes to an event, makes it part of the transaction.
    ///
    /// - Throws: ``Refusal``, and failures to read; nothing changed then.
    mutating func perform(
        _ prepared: borrowing PreparedCommands, _ index: Int, core: inout Core, random: inout RandomPool
    ) throws -> Receipt {
        if index % SlotPlaces.capacity == 0 { places = core.places(of: prepared, from: index) }
        if !prepared.refusals.isEmpty, let refusal = prepared.refusals[index] { throw refusal }
        // Found at once, where it is known.
        let user = prepared.commands[index].user
        let name = try user.map { .user($0) } ?? topicName(prepared, index, &core)
        let slot =
            if user != nil {
                try core.slot(of: name.text, identity: prepared.entries[index].user, at: places[index])
            } else {
                try core.slot(ofTopic: core.hasher.identity(of: name.text, as: .topic))
            }
        if let slot, slot.isErased {
            throw Refusal.invalid(field: "user", reason: "stands for somebody who was erased; use another name")
        }
        if slot == nil, let user, Pseudonym.stream(of: user) != nil {
            throw Refusal.invalid(field: "user", reason: "is kept for somebody who is erased; use another name")
        }
        if let notice = prepared.entries[index].notice {
            if prepared.entries[index].key != 0, let slot {
                if let seq = try duplicate(prepared, index, of: slot, core: &core) { return .duplicate(seq) }
            }
            return .appended(append(prepared, index, notice, name: name, slot: slot, core: &core, random: &random))
        }
        if prepared.commands[index].key == nil, let fact = prepared.fact(index) {
            return .appended(append(prepared, index, fact, name: name, slot: slot, core: &core, random: &random))
        }
        let command = prepared.commands[index]
        let head = made.batch.nextSeq - 1
        let decision =
            if let body = try command.decideBlindly(head: head) {
                Decision.append(body)
            } else {
                try decide(
                    command, head: head, fingerprint: prepared.entries[index].fingerprint, slot: slot, core: &core)
            }
        switch decision {
        case .unchanged: return .unchanged
        case .duplicate(let seq): return .duplicate(seq)
        case .append(let body):
            if let fact = prepared.fact(index) {
                return .appended(append(prepared, index, fact, name: name, slot: slot, core: &core, random: &random))
            }
            if let slot, core.capture != nil { try noteRestored(body, slot, core: &core) }
            let before = body.kind == .undone ? slot?.working ?? slot?.current : nil
            let old = before?.state
            let seq = append(
                command, body, fingerprint: prepared.entries[index].fingerprint, salt: prepared.salt(index), name: name,
                slot: slot, core: &core, random: &random)
            if let slot, let old { try reviveDues(of: slot, since: old, by: seq.rawValue, core: &core) }
            return .appended(seq)
        }
    }

    /// The stream that the event of a command without user belongs to.
    ///
    /// - Throws: ``Refusal`` `unknownItem` for a change of what is no broadcast.
    private func topicName(
        _ prepared: borrowing PreparedCommands, _ index: Int, _ core: inout Core
    ) throws -> StreamName {
        let command = prepared.commands[index]
        switch command.action {
        case .broadcast(let topic, _):
            return .topic(topic)
        case .edit(let item, _), .retract(let item):
            if case .seq(let seq) = item, core.record.floor.isAbove(seq.rawValue),
                try !core.snapshot().holds(seq.rawValue)
            {
                // Which topic it was of is gone with it, but not what was performed before.
                if let topic = try topic(thatAnswered: command, prepared.entries[index].fingerprint, &core) {
                    return topic
                }
                throw core.record.floor.refusal
            }
            guard case .seq(let seq) = item, seq > .zero, seq.rawValue < made.batch.nextSeq,
                case .broadcast(let topic, _) = try event(seq.rawValue, core).body
            else { throw Refusal.unknownItem(item) }
            return .topic(topic)
        default:
            throw Refusal.invalid(field: "user", reason: "is missing")
        }
    }

    private func event(_ seq: UInt64, _ core: borrowing Core) throws -> Event {
        try written?.batch.event(seq) ?? made.batch.event(seq) ?? core.pages(of: 0).event(seq)
    }

    /// Appends the event that a command came to, or a tick.
    private mutating func append(
        _ command: Command, _ body: Event.Body, fingerprint: UInt64, salt: Salt?, name: StreamName, slot: UserSlot?,
        core: inout Core, random: inout RandomPool
    ) -> Seq {
        let isNew = slot == nil
        let slot = slot ?? core.newSlot(for: name)
        let seq = made.batch.nextSeq
        made.batch.append(
            command, body: body, kind: body.kind, fingerprint: fingerprint, stream: slot.stream, recordedAt: made.now,
            salt: salt ?? random.nextSalt())
        if let due = DueEntry(body, seq: seq, stream: slot.stream) { made.dues.append((seq, due)) }
        let fact = Fact(seq: seq, body: body, key: command.key, hasher: core.hasher)
        return link(fact, to: slot, isNewUser: isNew, core: &core)
    }

    /// Appends an event that was encoded before its turn came.
    private mutating func append(
        _ prepared: borrowing PreparedCommands, _ index: Int, _ fact: Fact, name: StreamName, slot: UserSlot?,
        core: inout Core, random: inout RandomPool
    ) -> Seq {
        let isNewUser = slot == nil
        let slot = slot ?? core.newSlot(for: name)
        var fact = fact
        fact.seq = made.batch.nextSeq
        if let due = prepared.expiresAt(index) {
            made.dues.append((fact.seq, DueEntry(due: due, item: fact.seq, kind: .expiry, stream: slot.stream)))
        }
        encode(prepared, index, fact.kind, stream: slot.stream, random: &random)
        return link(fact, to: slot, isNewUser: isNewUser, core: &core)
    }

    /// The same for the usual `notify`.
    private mutating func append(
        _ prepared: borrowing PreparedCommands, _ index: Int, _ notice: CompactFact, name: StreamName, slot: UserSlot?,
        core: inout Core, random: inout RandomPool
    ) -> Seq {
        let isNewUser = slot == nil
        let slot = slot ?? core.newSlot(for: name)
        let seq = made.batch.nextSeq
        encode(prepared, index, .notified, stream: slot.stream, random: &random)
        core.tail.append(notice, key: prepared.entries[index].key)
        link(seq, to: slot, isNewUser: isNewUser, core: &core)
        return Seq(seq)
    }

    private mutating func encode(
        _ prepared: borrowing PreparedCommands, _ index: Int, _ kind: EventKind, stream: UInt32,
        random: inout RandomPool
    ) {
        made.batch.append(
            payload: RawSpan(_elements: prepared.payloads.span).extracting(prepared.entries[index].payload),
            kind: kind, stream: stream, recordedAt: made.now, occurredAt: prepared.commands[index].occurredAt,
            salt: prepared.salt(index) ?? random.nextSalt())
    }

    /// What a command comes to that depends on its user's state.
    mutating func decide(
        _ command: Command, head: UInt64, fingerprint: UInt64, slot: UserSlot?, core: inout Core
    ) throws -> Decision {
        guard let slot else {
            let nobody = GroupSource(
                stored: try core.pages(of: 0), batches: batches, keptFloor: core.keptFloor)
            return try TrayState().decide(
                command, head: head, fingerprint: fingerprint, hasher: core.hasher, source: nobody)
        }
        do {
            return try decide(command, head: head, fingerprint: fingerprint, of: slot, core: &core)
        } catch PackedError.damaged {
            slot.working = nil
            _ = try core.refold(slot)
            return try decide(command, head: head, fingerprint: fingerprint, of: slot, core: &core)
        }
    }

    private mutating func decide(
        _ command: Command, head: UInt64, fingerprint: UInt64, of slot: UserSlot, core: inout Core
    ) throws -> Decision {
        let box = try state(of: slot, core: &core)
        let source = try source(of: slot, core)
        return try box.state.decide(
            command, head: head, fingerprint: fingerprint, hasher: core.hasher, source: source)
    }

    /// The stream's state with every event of this transaction so far, and what can be read beside it.
    mutating func settled(_ slot: UserSlot, core: inout Core) throws -> (state: TrayState, stored: some StateSource) {
        let box = try state(of: slot, core: &core)
        return (box.state, try source(of: slot, core))
    }

    /// What can be read beside the stream's states.
    func source(of slot: UserSlot, _ core: borrowing Core) throws -> GroupSource {
        GroupSource(
            stored: try core.pages(of: slot.stream), batches: batches, keptFloor: core.keptFloor)
    }

    /// Appends an event that no command caused.
    mutating func append(_ body: Event.Body, to slot: UserSlot, core: inout Core, random: inout RandomPool) {
        // Of a command only its names and times go into the event, and this one has nothing but the user.
        let command = Command(user: slot.isTopic ? nil : slot.user, .seeTray())
        _ = append(
            command, body, fingerprint: 0, salt: nil, name: slot.name, slot: slot, core: &core, random: &random)
    }

    /// The stream's state with every event of this transaction so far.
    private mutating func state(of slot: UserSlot, core: inout Core) throws -> StateBox {
        let current = try core.current(slot)
        let mayHearTopics = (made.hasTopicEvents || written?.hasTopicEvents ?? false) && !current.state.topics.isEmpty
        guard slot.lastUnstored > core.head.seq || mayHearTopics else { return current }
        let working = slot.working ?? current.copy()
        if slot.working == nil { self.working.append(slot) }
        slot.working = nil
        try core.catchUp(working, of: slot, through: .max)
        slot.working = working
        return working
    }

    /// Makes the batch's newest event part of its user's tail.
    private mutating func link(_ fact: Fact, to slot: UserSlot, isNewUser: Bool, core: inout Core) -> Seq {
        if fact.kind == .undone || (fact.kind == .marked && fact.mark == Mark.restored.rawValue) {
            made.mayEndWaiting = true
        }
        core.tail.append(fact)
        link(fact.seq, to: slot, isNewUser: isNewUser, core: &core)
        return Seq(fact.seq)
    }

    /// Makes the tail's newest event the last one of its user.
    private mutating func link(_ seq: UInt64, to slot: UserSlot, isNewUser: Bool, core: inout Core) {
        made.journal.append(
            Decisions.Step(
                slot: slot, lastUnstored: slot.lastUnstored,
                isNewUser: isNewUser, lastTopicEvent: core.lastTopicEvent))
        if slot.isTopic {
            made.hasTopicEvents = true
            core.lastTopicEvent = seq
        }
        if slot.lastUnstored != 0 {
            core.tail.setNext(seq, after: slot.lastUnstored)
        } else {
            slot.firstUnstored = seq
        }
        slot.lastUnstored = seq
        if let box = slot.current, box.next == 0 { box.next = seq }
        if let box = slot.working, box.next == 0 { box.next = seq }
    }

    /// Takes the events of the transaction in the making from `seq` on back.
    mutating func rollBack(to seq: UInt64, core: inout Core) {
        made.rollBack(to: seq, core: &core)
        // Folded anew from what is left of the transaction, when needed.
        dropWorking()
    }

    /// Takes back what could not be written, and what was decided after it.
    mutating func rollBack(core: inout Core) {
        rollBack(to: made.batch.firstSeq, core: &core)
        written?.rollBack(to: core.head.seq + 1, core: &core)
        written = nil
    }

    /// Makes the events that were written the newest of the store: they are durable.
    mutating func publish(to core: inout Core) {
        guard let durable = written else { return }
        written = nil
        durable.publish(to: &core)
        // A state that has events of the transaction in the making as well waits for that.
        var later: [UserSlot] = []
        for slot in working {
            guard let state = slot.working else { continue }
            if slot.lastUnstored > core.head.seq {
                later.append(slot)
            } else {
                slot.working = nil
                core.setCurrent(state, of: slot)
            }
        }
        working = later
        spare = durable
    }

    /// What can be read of transactions that are not durable yet.
    private var batches: [RecordBatch] { (written.map { [$0.batch] } ?? []) + [made.batch] }

    /// Makes due what an item, which an undo brought back from being gone, was due at.
    mutating func addDue(_ entry: DueEntry, by seq: UInt64) { made.dues.append((seq, entry)) }

    mutating func setSettled(_ entries: [DueEntry]) { made.settled = entries }
}

extension RandomPool {
    fileprivate mutating func nextSalt() -> Salt {
        let (first, second) = next16()
        return Salt(first, second)
    }
}
