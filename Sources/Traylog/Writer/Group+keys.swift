import TraylogDomain

extension Group {
    /// When waiting events were looked through so many times, that took as long as it takes to fold them in.
    private static let looksPerFold = 64

    /// The event that a `notify` with a key has brought already; nil when it is new.
    ///
    /// Only the keys of the user's events matter here, and the tail knows those of the events that no state holds yet. So
    /// none has to be folded in for it, and most users' events are folded together when their states are stored.
    ///
    /// - Throws: ``Refusal`` `keyConflict`.
    mutating func duplicate(
        _ prepared: borrowing PreparedCommands, _ index: Int, of slot: UserSlot, core: inout Core
    ) throws -> Seq? {
        guard let key = prepared.commands[index].key else { return nil }
        let entry = prepared.entries[index]
        // So it is with nearly every key that is new, and neither the state nor the tail has to be looked at.
        // Asked again, as a command just before it may have brought the key.
        if core.tail.keyFilter.covers(slot.keysRound), !places.mayHaveUsedKey(index),
            !core.tail.keyFilter.mayHold(entry.key)
        {
            return nil
        }
        guard let seqs = try carriers(of: entry.key, in: slot, core: &core) else {
            let decision = try decide(
                prepared.commands[index], head: made.batch.nextSeq - 1, fingerprint: entry.fingerprint, slot: slot,
                core: &core)
            if case .duplicate(let seq) = decision { return seq }
            return nil
        }
        guard !seqs.isEmpty,
            let carrier = try TrayState.carrier(of: key, among: seqs, source: source(of: slot, core))
        else { return nil }
        guard carrier.fingerprint == entry.fingerprint else {
            throw Refusal.keyConflict(key: key, seq: Seq(carrier.seq))
        }
        return Seq(carrier.seq)
    }

    /// The user's events with keys of an identity; nil when only the state can tell.
    private mutating func carriers(of key: UInt64, in slot: UserSlot, core: inout Core) throws -> [UInt64]? {
        guard let box = try slot.working ?? core.folded(slot),
            let waiting = core.tail.carriers(of: key, from: box.next)
        else { return nil }
        do {
            // What can be read beside the state is put together only if something has to be read.
            var seqs = try box.state.keys.seqs(of: key) { identity in
                try source(of: slot, core).keys(.keys, at: identity)
            }
            seqs += waiting.seqs
            try putKeys(of: slot, box, into: &core)
            slot.looks += waiting.looked
            if waiting.looked > 0, slot.looks > Group.looksPerFold * waiting.looked, slot.working == nil {
                slot.looks = 0
                _ = try core.current(slot)
            }
            return seqs
        } catch PackedError.damaged {
            return nil
        }
    }

    /// Puts all keys of the user into the filter, once looking them up has cost as much as that costs.
    private mutating func putKeys(of slot: UserSlot, _ box: StateBox, into core: inout Core) throws {
        slot.keyLookups &+= 1
        guard core.tail.keyFilter.isComplete, !core.tail.keyFilter.covers(slot.keysRound),
            UInt64(slot.keyLookups) > box.state.keys.pageCount
        else { return }
        let entries = try box.state.keys.entries { try source(of: slot, core).keys(.keys, at: $0) }
        for entry in entries { core.tail.keyFilter.insert(entry.identity) }
        slot.keysRound = core.tail.keyFilter.round(withEventsFrom: box.next)
        slot.keyLookups = 0
    }

    /// The topic in which a command with a key was performed before; nil when it was in none.
    ///
    /// - Complexity: O(topics).
    func topic(thatAnswered command: Command, _ fingerprint: UInt64, _ core: inout Core) throws -> StreamName? {
        guard let key = command.key else { return nil }
        let identity = core.hasher.identity(of: key, as: .key)
        let names = core.tables.names(core.generation)
        for topic in try core.snapshot().read({ try names.topics(in: $0) }) {
            guard let slot = try core.slot(ofTopic: topic) else { continue }
            let box = try core.current(slot)
            let source = try source(of: slot, core)
            let seqs = try box.state.keys.seqs(of: identity) { try source.keys(.keys, at: $0) }
            guard let carrier = try TrayState.carrier(of: key, among: seqs, source: source) else { continue }
            if carrier.fingerprint == fingerprint { return slot.name }
        }
        return nil
    }
}
