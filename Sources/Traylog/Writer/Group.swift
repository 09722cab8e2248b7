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
    mutating func perform(_ command: Command, core: inout Core, random: inout RandomPool) throws -> Receipt {
        guard let user = command.user else { throw Refusal.ofStoreWithoutBroadcasts(command.action) }
        let slot = try core.slot(of: user)
        let head = batch.nextSeq - 1
        if let body = try command.decideBlindly(head: head) {
            return .appended(append(command, body, 0, slot: slot, core: &core, random: &random))
        }
        let fingerprint = command.key == nil ? 0 : CommandFingerprint.of(command)
        let decision = try decide(command, head: head, fingerprint: fingerprint, slot: slot, core: &core)
        switch decision {
        case .unchanged: return .unchanged
        case .duplicate(let seq): return .duplicate(seq)
        case .append(let body):
            return .appended(append(command, body, fingerprint, slot: slot, core: &core, random: &random))
        }
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

    private mutating func append(
        _ command: Command, _ body: Event.Body, _ fingerprint: UInt64, slot existing: UserSlot?,
        core: inout Core, random: inout RandomPool
    ) -> Seq {
        let user = command.user ?? ""
        let slot = existing ?? core.newSlot(for: user)
        let seq = batch.nextSeq
        let (first, second) = random.next16()
        batch.append(
            command, body: body, kind: body.kind, fingerprint: fingerprint, stream: slot.stream, recordedAt: now,
            salt: Salt(first, second))
        journal.append(
            Step(
                slot: slot, firstUnstored: slot.firstUnstored, lastUnstored: slot.lastUnstored,
                isNewUser: existing == nil))
        let fact = Fact(seq: seq, body: body, key: command.key, hasher: core.hasher)
        core.tail.append(Tail.Entry(stream: slot.stream, fact: fact))
        if slot.lastUnstored != 0 { core.tail[slot.lastUnstored].next = seq } else { slot.firstUnstored = seq }
        slot.lastUnstored = seq
        if let box = slot.current, box.next == 0 { box.next = seq }
        if let box = slot.working, box.next == 0 { box.next = seq }
        return Seq(seq)
    }

    /// Takes the events from `seq` on back.
    mutating func rollBack(to seq: UInt64, core: inout Core) {
        let kept = Int(seq - batch.firstSeq)
        for step in journal[kept...].reversed() {
            let slot = step.slot
            slot.firstUnstored = step.firstUnstored
            slot.lastUnstored = step.lastUnstored
            if step.lastUnstored != 0 { core.tail[step.lastUnstored].next = 0 }
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
