import TraylogDomain

/// Where a replica's older rows lie, when it is not all in memory: packed pages of its state, and events.
package struct ReplicaRows: StatePages, Sendable {
    /// The bytes of the page with the greatest `first` at or below a number.
    let page: @Sendable (PageSpace, UInt64) throws -> [UInt8]?
    /// An event by its seq; nil when it is not there.
    let event: @Sendable (UInt64) throws -> Event?

    package init(
        page: @escaping @Sendable (PageSpace, UInt64) throws -> [UInt8]?,
        event: @escaping @Sendable (UInt64) throws -> Event?
    ) {
        self.page = page
        self.event = event
    }

    static let none = ReplicaRows(page: { _, _ in nil }, event: { _ in nil })

    package func items(at position: UInt64) throws -> ItemPage? {
        guard let bytes = try page(.items, position) else { return nil }
        var reader = PackedReader(bytes)
        return try ItemPage(from: &reader)
    }

    package func keys(_ space: PageSpace, at key: UInt64) throws -> KeyIndex.Page? {
        guard let bytes = try page(space, key) else { return nil }
        var reader = PackedReader(bytes)
        return try KeyIndex.Page(from: &reader)
    }

    package func events(from seq: UInt64) -> EventIndex.Page? { nil }
}

/// A replica as rows: what changed since it was opened or made.
package struct PackedReplica: Sendable {
    /// The state without its pages.
    package var root: [UInt8]
    package var pages: [(space: PageSpace, first: UInt64, bytes: [UInt8])] = []
    /// Pages that no longer belong to the state.
    package var obsolete: [(space: PageSpace, first: UInt64)] = []
}

extension TrayReplica {
    /// Opens a replica that was stored.
    ///
    /// - Parameter root: as ``packed()`` gave it. Pages and events are read when they are needed.
    /// - Throws: ``TraylogError/failed(_:)``, `damaged`.
    package init(
        user: String, root: [UInt8], rows: ReplicaRows, hasher: IdentityHasher
    ) throws(TraylogError) {
        do {
            var reader = PackedReader(root)
            let through = Seq(try reader.varint())
            let isSeenInSnapshot = try reader.byte() == 1
            var state = try TrayState(from: &reader)
            if isSeenInSnapshot { state.seenBy = ReplicaLog.seen }
            self.init(
                user: user, through: through, state: state,
                log: ReplicaLog(stored: rows, base: state, hasher: hasher))
        } catch {
            throw TraylogError(replica: error)
        }
    }

    /// The state in its stored form.
    ///
    /// It holds only what changed: the other rows that the replica was opened with stay valid, except the obsolete ones.
    package func packed() -> PackedReplica {
        var packed = PackedReplica(root: [])
        packed.root.appendVarint(through.rawValue)
        // A stored state names no event beyond its own, so the mark that something was seen in the snapshot is stored apart.
        let isSeenInSnapshot = state.seenBy == ReplicaLog.seen
        packed.root.append(isSeenInSnapshot ? 1 : 0)
        var root = state
        if isSeenInSnapshot { root.seenBy = 0 }
        root.pack(into: &packed.root)
        packed.obsolete = state.obsoletePages.map { (.items, $0.first) }
        for page in state.pages { packed.add(.items, page.first) { page.pack(into: &$0) } }
        for (space, index) in TrayState.keyIndexes {
            packed.obsolete += state[keyPath: index].obsolete.map { (space, $0.first) }
            for page in state[keyPath: index].pages { packed.add(space, page.first) { page.pack(into: &$0) } }
        }
        return packed
    }

    /// The events that stand for the items of a snapshot, by the numbers under which ``ReplicaRows`` must find them.
    package var snapshotEvents: [UInt64: Event] { log.events }

    /// The event that brought an item, as far as it is known.
    package func origin(of item: Seq) throws(TraylogError) -> Event {
        try answering { try log.event(item.rawValue) }
    }
}

extension PackedReplica {
    fileprivate mutating func add(_ space: PageSpace, _ first: UInt64, _ pack: (inout [UInt8]) -> Void) {
        var bytes: [UInt8] = []
        pack(&bytes)
        pages.append((space, first, bytes))
    }
}

extension TrayReplica {
    /// Decides a command of the user with the domain's rules, and folds in the event that it would cause.
    ///
    /// It is for showing at once what the store has yet to confirm: later events take the numbers of predicted ones, so
    /// that a copy of the replica is predicted on, never the replica itself.
    ///
    /// - Returns: whether anything changes.
    /// - Throws: ``TraylogError/refused(_:)``; ``TraylogError/refused(_:)``, `staleSnapshot` for an undo that cannot be
    ///   shown without the store.
    package mutating func predict(_ command: Command, at time: Timestamp) throws(TraylogError) -> Bool {
        var command = command
        command.key = nil
        let decision: Decision
        do {
            decision = try state.decide(
                command, head: through.rawValue, fingerprint: 0, hasher: log.hasher, source: log)
        } catch {
            throw TraylogError(replica: error)
        }
        guard case .append(let body, _) = decision else { return false }
        let seq = through + 1
        try apply([Event(seq: seq, recordedAt: time, user: user, body: body)], through: seq)
        return true
    }

    /// An item by its seq or key, in any state.
    ///
    /// - Throws: ``TraylogError/refused(_:)``: `unknownItem`.
    package func item(_ reference: ItemReference) throws(TraylogError) -> Item {
        try answering {
            let entry = try state.entry(of: reference, hasher: log.hasher, source: log)
            return try state.shown(entry, stored: log).item(from: log)
        }
    }
}

extension TrayReplica {
    /// Events in memory, in no order: those of the snapshot, or those folded in since the replica was opened from rows.
    package var memoryEvents: [Event] { Array(log.events.values) }
    /// How many there are.
    package var eventsSinceSnapshot: Int { log.events.count }
}
