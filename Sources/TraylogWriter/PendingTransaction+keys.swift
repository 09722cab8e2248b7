import TraylogDomain
import TraylogStates

extension PendingTransaction {
    /// The event that a `notify` with this key brought before; nil when the key is new.
    ///
    /// Only the keys of the user's events matter here, and the tail knows those of the events that no state holds yet. So
    /// none has to be folded in for it, and most users' events are folded together when their states are stored.
    ///
    /// - Throws: ``Refusal`` `keyConflict`.
    mutating func duplicate(
        _ prepared: borrowing PreparedCommands, _ index: Int, of stream: LiveStream, store: inout LiveStore
    ) throws -> Seq? {
        // True of nearly all new keys: neither the state nor the tail has to be looked at.
        if store.isNew(prepared.entries[index].key, in: stream) { return nil }
        guard let key = prepared.commands[index].key else { return nil }
        let entry = prepared.entries[index]
        guard let seqs = try carriers(of: entry.key, in: stream, store: &store) else {
            guard case .duplicate(let seq) = try decide(prepared, index, of: stream, store: &store) else { return nil }
            return seq
        }
        guard !seqs.isEmpty,
            let carrier = try TrayState.carrier(
                of: key, among: seqs, source: source(store.snapshot().pages(of: .absent, asOf: 0), store))
        else { return nil }
        guard carrier.fingerprint == entry.fingerprint else {
            throw Refusal.keyConflict(key: key, seq: Seq(carrier.seq))
        }
        return Seq(carrier.seq)
    }

    /// The user's events with keys of an identity; nil when only the state can tell.
    private func carriers(of key: Identity, in stream: LiveStream, store: inout LiveStore) throws -> [UInt64]? {
        guard let cached = try stream.states.pending ?? store.folded(stream),
            let waiting = store.carriers(of: key, from: store.next(for: cached, of: stream))
        else { return nil }
        do {
            let source = try source(of: stream.number, cached, store)
            let seqs = try cached.state.keys.seqs(of: key.rawValue) { try source.keys(.keys, at: $0) } + waiting.seqs
            try store.noteLookup(stream, cached.state.keys, looked: waiting.looked) {
                try source.keys(.keys, at: $0)
            }
            return seqs
        } catch PackedError.damaged {
            return nil
        }
    }

    /// The topic in which a command with a key was performed before; nil when it was in none.
    ///
    /// As a rule the caller has looked (``PreparedCommands/prepareTopics(_:)``); but not where a compaction took the broadcast since,
    /// or a stored state is damaged.
    ///
    /// - Complexity: O(topics).
    func topic(
        thatAnswered command: Command, _ fingerprint: UInt64, _ store: inout LiveStore
    ) throws -> StreamName? {
        guard let key = command.key else { return nil }
        let identity = store.hasher.identity(of: key, as: .key)
        let names = store.tables.derived.names
        for topic in try store.snapshot().read({ try names.topics(in: $0) }) {
            guard let stream = try store.stream(ofTopic: topic) else { continue }
            let cached = try store.current(stream)
            let source = try source(of: stream.number, cached, store)
            let seqs = try cached.state.keys.seqs(of: identity.rawValue) { try source.keys(.keys, at: $0) }
            guard let carrier = try TrayState.carrier(of: key, among: seqs, source: source) else { continue }
            if carrier.fingerprint == fingerprint { return stream.name }
        }
        return nil
    }
}
