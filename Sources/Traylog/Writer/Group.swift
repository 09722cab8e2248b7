import TraylogDomain
import TraylogLMDB
import TraylogLog

/// One transaction in the making: commands decided against the state after the last commit and each other, their
/// events encoded, nothing visible yet.
///
/// Every change of ``Core`` is written down, so that a refused batch or a failed commit leaves no trace.
struct Group {
    private(set) var batch: RecordBatch
    private var journal: [Step] = []
    private var now = Timestamp(milliseconds: .min)
    /// Where the users of the commands that are decided next were last seen.
    private var places = SlotPlaces()

    /// One event's changes, for taking it back.
    private struct Step {
        let slot: UserSlot
        let firstUnstored: UInt64
        let lastUnstored: UInt64
        let isNewUser: Bool
    }

    init() {
        batch = RecordBatch(firstSeq: 1)
    }

    var isEmpty: Bool { batch.isEmpty }

    /// Starts the next transaction, at the head.
    mutating func begin(_ core: borrowing Core, now: Timestamp) {
        batch.reset(firstSeq: core.head.seq + 1)
        journal.removeAll(keepingCapacity: true)
        // A clock that steps back is clamped, so that times never decrease along the log.
        self.now = max(now, core.head.recordedAt)
    }

    /// Decides a command and, if it comes to an event, makes it part of the transaction.
    ///
    /// - Throws: ``Refusal``, and failures to read; nothing changed then.
    mutating func perform(
        _ prepared: borrowing PreparedCommands, _ index: Int, core: inout Core, random: inout RandomPool
    ) throws -> Receipt {
        if index % SlotPlaces.capacity == 0 { places = core.places(of: prepared, from: index) }
        if !prepared.refusals.isEmpty, let refusal = prepared.refusals[index] { throw refusal }
        let user = prepared.commands[index].user
        guard let user else { throw Refusal.ofStoreWithoutBroadcasts(prepared.commands[index].action) }
        let slot = try core.slot(of: user, identity: prepared.entries[index].user, at: places[index])
        if let notice = prepared.entries[index].notice {
            return .appended(append(prepared, index, notice, user: user, slot: slot, core: &core, random: &random))
        }
        if prepared.commands[index].key == nil, let fact = prepared.fact(index) {
            return .appended(append(prepared, index, fact, user: user, slot: slot, core: &core, random: &random))
        }
        let command = prepared.commands[index]
        let head = batch.nextSeq - 1
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
                return .appended(append(prepared, index, fact, user: user, slot: slot, core: &core, random: &random))
            }
            let isNewUser = slot == nil
            let slot = slot ?? core.newSlot(for: user)
            let seq = batch.nextSeq
            batch.append(
                command, body: body, kind: body.kind, fingerprint: prepared.entries[index].fingerprint,
                stream: slot.stream, recordedAt: now, salt: prepared.salt(index) ?? random.nextSalt())
            let fact = Fact(seq: seq, body: body, key: command.key, hasher: core.hasher)
            return .appended(link(fact, to: slot, isNewUser: isNewUser, core: &core))
        }
    }

    /// Appends an event that was encoded before its turn came.
    private mutating func append(
        _ prepared: borrowing PreparedCommands, _ index: Int, _ fact: Fact, user: String, slot: UserSlot?,
        core: inout Core, random: inout RandomPool
    ) -> Seq {
        let isNewUser = slot == nil
        let slot = slot ?? core.newSlot(for: user)
        var fact = fact
        fact.seq = batch.nextSeq
        encode(prepared, index, fact.kind, stream: slot.stream, random: &random)
        return link(fact, to: slot, isNewUser: isNewUser, core: &core)
    }

    /// The same for the usual `notify`.
    private mutating func append(
        _ prepared: borrowing PreparedCommands, _ index: Int, _ notice: CompactFact, user: String, slot: UserSlot?,
        core: inout Core, random: inout RandomPool
    ) -> Seq {
        let isNewUser = slot == nil
        let slot = slot ?? core.newSlot(for: user)
        let seq = batch.nextSeq
        encode(prepared, index, .notified, stream: slot.stream, random: &random)
        core.tail.append(notice)
        link(seq, to: slot, isNewUser: isNewUser, core: &core)
        return Seq(seq)
    }

    private mutating func encode(
        _ prepared: borrowing PreparedCommands, _ index: Int, _ kind: EventKind, stream: UInt32,
        random: inout RandomPool
    ) {
        batch.append(
            payload: RawSpan(_elements: prepared.payloads.span).extracting(prepared.entries[index].payload),
            kind: kind, stream: stream, recordedAt: now, occurredAt: prepared.commands[index].occurredAt,
            salt: prepared.salt(index) ?? random.nextSalt())
    }

    private func decide(
        _ command: Command, head: UInt64, fingerprint: UInt64, slot: UserSlot?, core: inout Core
    ) throws -> Decision {
        guard let slot else {
            let nobody = GroupSource(stored: core.pages(of: 0, limit: .max), batch: batch)
            return try TrayState().decide(
                command, head: head, fingerprint: fingerprint, hasher: core.hasher, source: nobody)
        }
        let box = try state(of: slot, core: &core)
        let source = GroupSource(stored: core.pages(of: slot.stream, limit: box.state.appliedSeq), batch: batch)
        return try box.state.decide(
            command, head: head, fingerprint: fingerprint, hasher: core.hasher, source: source)
    }

    /// The user's state with every event of this transaction so far.
    private func state(of slot: UserSlot, core: inout Core) throws -> StateBox {
        let current = try core.current(slot)
        guard slot.lastUnstored >= batch.firstSeq else { return current }
        let working = slot.working ?? current.copy()
        slot.working = nil
        try core.catchUp(working, of: slot, through: .max)
        slot.working = working
        return working
    }

    /// Makes the batch's newest event part of its user's tail.
    private mutating func link(_ fact: Fact, to slot: UserSlot, isNewUser: Bool, core: inout Core) -> Seq {
        core.tail.append(fact)
        link(fact.seq, to: slot, isNewUser: isNewUser, core: &core)
        return Seq(fact.seq)
    }

    /// Makes the tail's newest event the last one of its user.
    private mutating func link(_ seq: UInt64, to slot: UserSlot, isNewUser: Bool, core: inout Core) {
        journal.append(
            Step(
                slot: slot, firstUnstored: slot.firstUnstored, lastUnstored: slot.lastUnstored,
                isNewUser: isNewUser))
        if slot.lastUnstored != 0 {
            core.tail.setNext(seq, after: slot.lastUnstored)
        } else {
            slot.firstUnstored = seq
        }
        slot.lastUnstored = seq
        if let box = slot.current, box.next == 0 { box.next = seq }
        if let box = slot.working, box.next == 0 { box.next = seq }
    }

    /// Takes the events from `seq` on back.
    mutating func rollBack(to seq: UInt64, core: inout Core) {
        let kept = Int(seq - batch.firstSeq)
        for step in journal[kept...].reversed() {
            let slot = step.slot
            slot.firstUnstored = step.firstUnstored
            slot.lastUnstored = step.lastUnstored
            if step.lastUnstored != 0 { core.tail.setNext(0, after: step.lastUnstored) }
            if let box = slot.current, box.next >= seq { box.next = 0 }
            // Folded anew from what is left of the transaction, when needed.
            slot.working = nil
            if step.isNewUser {
                core.remove(slot)
                core.nextStream -= 1
            }
        }
        journal.removeSubrange(kept...)
        core.tail.truncate(from: seq)
        batch.truncate(from: seq)
    }

    /// Makes the transaction's events the newest of the store: it is durable.
    mutating func publish(to core: inout Core) {
        guard !batch.isEmpty else { return }
        core.head.seq = batch.nextSeq - 1
        core.head.recordedAt = now
        for step in journal {
            core.unstored.insert(step.slot.stream)
            if step.isNewUser {
                step.slot.isCommitted = true
                core.unnamed.append(step.slot)
            }
            if let working = step.slot.working {
                step.slot.working = nil
                core.setCurrent(working, of: step.slot)
            }
        }
    }
}

extension RandomPool {
    fileprivate mutating func nextSalt() -> Salt {
        let (first, second) = next16()
        return Salt(first, second)
    }
}

extension Refusal {
    /// Why a command without user is refused, as long as nothing is broadcast.
    fileprivate static func ofStoreWithoutBroadcasts(_ action: Command.Action) -> Refusal {
        switch action {
        case .edit(let item, _), .retract(let item): .unknownItem(item)
        default: .invalid(field: "kind", reason: "this version of Traylog does not perform it yet")
        }
    }
}

/// What a decision may read: the file, and the events of the transaction that is being made.
private struct GroupSource: StateSource {
    let stored: StoredPages
    let batch: RecordBatch

    func items(at position: UInt64) throws -> ItemPage? { try stored.items(at: position) }
    func keys(at identity: UInt64) throws -> KeyIndex.Page? { try stored.keys(at: identity) }
    func collapseKeys(at identity: UInt64) throws -> KeyIndex.Page? { try stored.collapseKeys(at: identity) }

    func event(_ seq: UInt64) throws -> Event {
        if let event = try batch.event(seq) { return event }
        return try stored.event(seq)
    }
}
