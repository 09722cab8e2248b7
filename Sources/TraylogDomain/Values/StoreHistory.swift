/// The events that a store shares with its copies.
///
/// A copy of a store, such as a backup, has the same events as the store up to the moment at which it was made. Once both are
/// written to, they diverge: event 120 of one is not event 120 of the other. So a copy begins a new history when
/// it is opened for writing. To go on from a seq later, keep its ``mark(at:)`` with it, and check with ``holds(_:at:)`` whether it
/// still names the same event.
///
/// ```swift
/// let seq = try await store.log.head()
/// let mark = try await store.storeHistory().mark(at: seq)
/// // Later, perhaps after a restore:
/// let isSameEvent = try await store.storeHistory().holds(mark, at: seq)
/// ```
@_spi(Replication) public struct StoreHistory: Hashable, Sendable {
    /// The point at which a copy diverged.
    public struct Fork: Hashable, Sendable {
        /// Random, and never 0.
        package let id: UInt64
        /// The last event that the copy shares with the store that it was copied from.
        public let after: Seq

        /// The name of the history that began here: digits and letters, at most 13.
        public var mark: String { String(id, radix: 36) }

        package init(id: UInt64, after: Seq) { (self.id, self.after) = (id, after) }
    }

    /// Ascending; empty in a store that is not a copy.
    ///
    /// At most 256: if a store was restored more often, the oldest are forgotten, and positions from before count as
    /// lost.
    public private(set) var forks: [Fork] = []

    package static let mostForks = 256

    /// The history of a store that is not a copy.
    public init() {}

    /// - Returns: nil for forks out of order, or with an id that no fork has.
    package init?(_ forks: [Fork]) {
        guard forks.count <= Self.mostForks, forks.allSatisfy({ $0.id > 0 }),
            zip(forks, forks.dropFirst()).allSatisfy({ $0.after < $1.after })
        else { return nil }
        self.forks = forks
    }

    /// Goes its own way from here on.
    package mutating func fork(after head: Seq, id: UInt64) {
        // Nothing arrived since, so nobody can have seen the difference.
        if forks.last?.after == head { forks.removeLast() }
        if forks.count == Self.mostForks { forks.removeFirst() }
        forks.append(Fork(id: id, after: head))
    }

    /// The name of this history, among all copies of the store; empty in a store that is not a copy.
    ///
    /// A mark that differs from the last one you saw means that the store was restored, even if no event was lost.
    /// A mark has at most 13 characters, letters and digits only. Marks do not say which of two histories is later.
    public var mark: String { forks.last?.mark ?? "" }

    /// The history in which event `seq` was stored: 0 for the one that every store begins with.
    package func id(at seq: Seq) -> UInt64 { forks.last { $0.after < seq }?.id ?? 0 }

    /// Names the history in which event `seq` was stored; empty for the one that every store begins with.
    public func mark(at seq: Seq) -> String { forks.last { $0.after < seq }?.mark ?? "" }

    /// Whether event `seq` of the history with this mark is event `seq` of this store.
    ///
    /// A seq beyond the head is held if the store's next events will be of that history, too.
    ///
    /// - Parameter mark: ``mark(at:)`` of the store when the event was read.
    public func holds(_ mark: String, at seq: Seq) -> Bool {
        guard let index = index(of: mark) else { return false }
        return index == forks.count || seq <= forks[index].after
    }

    /// The fork that ended the history with a mark: the number of forks for one that goes on, nil for one that is not known.
    private func index(of mark: String) -> Int? {
        mark.isEmpty ? 0 : forks.firstIndex { $0.mark == mark }.map { $0 + 1 }
    }

    /// - Throws: ``Refusal/rewound(_:lastShared:)``.
    package func check(_ id: UInt64?, at seq: Seq) throws(Refusal) {
        guard let id else { return }
        let mark = id == 0 ? "" : String(id, radix: 36)
        guard !holds(mark, at: seq) else { return }
        throw .rewound(seq, lastShared: lastShared(with: mark))
    }

    /// - Throws: ``Refusal/rewound(_:lastShared:)`` unless both histories have the same event.
    package func check(_ other: StoreHistory, at seq: Seq) throws(Refusal) {
        guard !holds(other.mark(at: seq), at: seq) else { return }
        throw .rewound(seq, lastShared: lastShared(with: other))
    }

    /// The last event that two diverged stores share; nil if one of them continues where the other ends.
    public func lastShared(with other: StoreHistory) -> Seq? {
        let common = zip(forks, other.forks).prefix { $0 == $1 }.count
        return [forks, other.forks].compactMap { $0.count > common ? $0[common].after : nil }.min()
    }

    /// The last event that this store shares with the history of a mark; nil if it knows no such history, or goes on with it.
    public func lastShared(with mark: String) -> Seq? {
        index(of: mark).flatMap { $0 < forks.count ? forks[$0].after : nil }
    }
}

extension Cursor {
    /// The cursor with the name of the history that its item belongs to.
    package func within(_ history: StoreHistory) -> Cursor { Cursor(before: before, history: history.id(at: before)) }
}
