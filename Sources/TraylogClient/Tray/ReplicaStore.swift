import TraylogDomain
import TraylogPlatform
@_spi(Replication) import TraylogReplica

/// The replica in the device's storage.
///
/// It stores a state with its pages, and the events after it, which are folded again at opening. From time
/// to time the state is rewritten to include those events.
struct ReplicaStore: Sendable {
    private enum Row {
        static let root: UInt64 = 1
        static let meta: UInt64 = 2
    }

    let storage: CheckedStorage
    /// Items whose content is kept.
    let itemLimit: Int
    /// Events after the stored state, at most.
    static let eventLimit = 1_000
    /// Higher numbers are not seqs: they stand for data of a snapshot that has no event.
    private static let firstOther: UInt64 = 1 << 60

    // MARK: Opening

    /// The stored replica; nil when there is none.
    ///
    /// - Throws: ``DeviceFailure/Code/damaged`` when it cannot be used and must be fetched again.
    func open() throws(DeviceFailure) -> (replica: TrayReplica, meta: ReplicaMeta)? {
        guard let bytes = try storage.value(Row.meta, in: .state) else { return nil }
        do {
            let meta = try ReplicaMeta(bytes)
            var replica = try replica(meta)
            var events: [Event] = []
            var fault: (any Error)?
            try storage.forEach(in: .events, from: (replica.snapshotSeq + 1).rawValue) { key, value in
                guard key < Self.firstOther, fault == nil else { return }
                do {
                    events.append(try Event(wire: WireObject(Array(value.get().dropFirst()))))
                } catch {
                    fault = error
                }
            }
            if let fault { throw fault }
            try replica.apply(events, through: meta.through)
            return (replica, meta)
        } catch let failure as DeviceFailure where failure.code != .damaged {
            throw failure
        } catch {
            throw DeviceFailure(.damaged, "The replica cannot be used and is fetched anew: \(error)")
        }
    }

    /// The stored state without the events after it.
    private func replica(_ meta: ReplicaMeta) throws -> TrayReplica {
        guard let root = try storage.value(Row.root, in: .state) else { throw WireFault("the state is missing") }
        return try TrayReplica(user: meta.user, root: root, rows: rows, hasher: meta.hasher)
    }

    /// Pages and events are read when they are needed.
    private var rows: ReplicaRows {
        let storage = storage
        return ReplicaRows(
            page: { space, number in
                guard let table = DeviceTable(space) else { return nil }
                return try storage.row(atOrBelow: number, in: table)?.value
            },
            event: { seq in
                guard let bytes = try storage.value(seq, in: .events) else { return nil }
                return try Event(wire: WireObject(Array(bytes.dropFirst())))
            })
    }

    // MARK: Writing

    /// Replaces the stored replica by a snapshot, in one transaction.
    func replace(by pages: [TraySnapshot], _ meta: ReplicaMeta) throws -> TrayReplica {
        let replica = try TrayReplica(pages, hasher: meta.hasher)
        var withoutContent: Set<UInt64> = []
        for part in pages.lazy.flatMap(\.items) where !part.hasContent { withoutContent.insert(part.item.seq.rawValue) }
        var changes = DeviceTable.allCases.filter { $0 != .outbox }.map { DeviceChange.clear($0) }
        for (number, event) in replica.snapshotEvents {
            changes.append(Self.row(number, event, hasContent: !withoutContent.contains(number)))
        }
        changes += Self.changes(replica.packed())
        changes.append(.put(.state, key: Row.meta, value: meta.bytes))
        try storage.write(changes)
        return try self.replica(meta)
    }

    /// Stores events that were folded in, and how far the replica is now.
    ///
    /// - Returns: the replica to go on with.
    func save(_ replica: TrayReplica, _ events: [Event], _ meta: ReplicaMeta) throws -> TrayReplica {
        var changes = events.map { Self.row($0.seq.rawValue, $0, hasContent: true) }
        changes.append(.put(.state, key: Row.meta, value: meta.bytes))
        guard replica.eventsSinceSnapshot >= Self.eventLimit else {
            try storage.write(changes)
            return replica
        }
        changes += Self.changes(replica.packed())
        for event in replica.memoryEvents where !event.staysInState {
            changes.append(.remove(.events, key: event.seq.rawValue))
        }
        changes += try contentsBeyondLimit()
        try storage.write(changes)
        return try self.replica(meta)
    }

    func save(_ meta: ReplicaMeta) throws(DeviceFailure) {
        try storage.write([.put(.state, key: Row.meta, value: meta.bytes)])
    }

    /// The data beside the tray, for when the rest is damaged.
    func openMeta() -> ReplicaMeta? {
        (try? storage.value(Row.meta, in: .state)).flatMap { $0 }.flatMap { try? ReplicaMeta($0) }
    }

    private static func changes(_ packed: PackedReplica) -> [DeviceChange] {
        var changes: [DeviceChange] = [.put(.state, key: Row.root, value: packed.root)]
        for page in packed.obsolete {
            if let table = DeviceTable(page.space) { changes.append(.remove(table, key: page.first)) }
        }
        for page in packed.pages {
            if let table = DeviceTable(page.space) { changes.append(.put(table, key: page.first, value: page.bytes)) }
        }
        return changes
    }

    private static func row(_ number: UInt64, _ event: Event, hasContent: Bool) -> DeviceChange {
        .put(.events, key: number, value: [hasContent ? 1 : 0] + Array(event.json.utf8))
    }

    // MARK: Contents

    /// Whether title, body and data of an item are here.
    func hasContent(_ item: Seq) throws(DeviceFailure) -> Bool {
        try storage.value(item.rawValue, in: .events)?.first == 1
    }

    /// Whether any item is here without its content.
    ///
    /// - Complexity: O(items).
    func lacksContents() throws(DeviceFailure) -> Bool {
        var isMissing = false
        try storage.forEach(in: .events) { key, value in
            if !isMissing, key < Self.firstOther, (try? value.get())?.first == 0 { isMissing = true }
        }
        return isMissing
    }

    /// Adds the contents of items that were fetched from the server.
    func add(_ items: [Item], to replica: TrayReplica) throws {
        var changes: [DeviceChange] = []
        for item in items where try storage.value(item.seq.rawValue, in: .events)?.first == 0 {
            var event = try replica.origin(of: item.seq)
            // Edits since are applied again when it is shown, with the same result.
            event.body = item.topic.map { .broadcast(topic: $0, item.content) } ?? .notified(item.content)
            (event.actor, event.occurredAt) = (item.actor, item.occurredAt)
            changes.append(Self.row(item.seq.rawValue, event, hasContent: true))
        }
        if !changes.isEmpty { try storage.write(changes) }
    }

    /// The changes that leave the contents of the oldest items out, beyond the limit.
    private func contentsBeyondLimit() throws -> [DeviceChange] {
        var full: [UInt64] = []
        try storage.forEach(in: .events) { key, value in
            if key < Self.firstOther, (try? value.get())?.first == 1 { full.append(key) }
        }
        guard full.count > itemLimit else { return [] }
        return try full.dropLast(itemLimit).compactMap { number in
            guard let bytes = try storage.value(number, in: .events) else { return nil }
            var event = try Event(wire: WireObject(Array(bytes.dropFirst())))
            guard let content = event.content else { return nil }
            let rest = Content(
                thread: content.thread, category: content.category, summaryArgument: content.summaryArgument,
                summaryCount: content.summaryCount, isSilent: content.isSilent, collapseKey: content.collapseKey,
                actions: content.actions)
            if case .broadcast(let topic, _) = event.body {
                event.body = .broadcast(topic: topic, rest)
            } else {
                event.body = .notified(rest)
            }
            return Self.row(number, event, hasContent: false)
        }
    }
}

extension ReplicaMeta {
    var hasher: IdentityHasher { IdentityHasher(key0: secret[0], key1: secret[1]) }

    static func newSecret() -> [UInt64] {
        (0..<2).map { _ in SystemRandom.number() }
    }
}

extension DeviceTable {
    init?(_ space: PageSpace) {
        switch space {
        case .items: self = .items
        case .keys: self = .keys
        case .collapseKeys: self = .collapseKeys
        case .moved: self = .moved
        case .voided: self = .voided
        case .tallies: self = .tallies
        case .events: return nil
        }
    }
}

extension Event {
    /// Whether a state names the event, so that it is looked up after it was folded in.
    fileprivate var staysInState: Bool {
        switch kind {
        case .notified, .broadcast, .edited, .snoozed, .traySeen, .muted, .acted: true
        default: false
        }
    }
}
