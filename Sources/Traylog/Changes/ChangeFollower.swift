@_spi(Replication) import TraylogQueries
import TraylogDomain
import TraylogObservation
import TraylogPlatform

extension TrayQueries {
    /// A user's changes after `seq`, and then each new one when any process commits it.
    ///
    /// ```swift
    /// for try await changes in store.followChanges(of: "ann", after: 100) { print(changes.through) }
    /// ```
    ///
    /// The first element comes at once, even without events; each later one has some. The sequence keeps the store open,
    /// and ends when the store is closed.
    ///
    /// It follows one person: when that person is erased, it throws the refusal ``Refusal/erased(user:)``, and never goes on
    /// with the events of somebody else who got the name. A user without events is followed from the first one on.
    ///
    /// - Parameters:
    ///   - user: the user to follow.
    ///   - seq: the newest event that the caller already has.
    ///   - stream: the ``Changes/stream`` that `seq` was read from; nil, or 0, for the one that there is at the first look.
    ///   - stopper: ends the sequence earlier.
    @_spi(Replication) public func followChanges(
        of user: String, after seq: Seq = .zero, stream: UInt32? = nil, stopper: Stopper? = nil
    ) -> ChangeFollower {
        ChangeFollower(store: self, user: user, first: seq, stream: stream ?? 0, stopper: stopper)
    }
}

/// The changes of one user, in order and each once: first the existing ones, then each new one.
///
/// It reads pages on demand, so a slow reader takes no memory and delays nothing. It ends when the task is cancelled or
/// the store is closed. It throws ``TraylogError`` as ``TrayQueries/changes(of:after:history:limit:)`` does, or refused `erased` when the
/// user was erased, and then ends.
@_spi(Replication) public struct ChangeFollower: AsyncSequence, Sendable {
    /// The changes of some events, in order.
    public typealias Element = Changes
    /// The error that ends the sequence.
    public typealias Failure = TraylogError

    let store: any TrayQueries
    let user: String
    let first: Seq
    let stream: UInt32
    let stopper: Stopper?

    /// Starts an iteration, for one task.
    public func makeAsyncIterator() -> Iterator {
        Iterator(store: store, user: user, through: first, stream: stream, stopper: stopper)
    }

    /// Iterates over the changes; for one task.
    public struct Iterator: AsyncIteratorProtocol {
        /// Kept, so that it stays open.
        private let store: any TrayQueries
        private let user: String
        private var following: Following
        private var through: Seq
        /// The stream of the user; 0 while the user is unknown.
        private var stream: UInt32
        /// Whether the last page ended at the head.
        private var isAtHead = false

        init(store: any TrayQueries, user: String, through: Seq, stream: UInt32, stopper: Stopper?) {
            self.store = store
            self.stream = stream
            following = Following(stopper)
            self.user = user
            self.through = through
        }

        /// The next changes, once there are some; nil at the end.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(TraylogError) -> Changes? {
            guard !following.hasEnded else { return nil }
            do {
                if let changes = try await page(isolation: actor) { return changes }
                try following.end()
            } catch {
                try following.end(error)
            }
            return nil
        }

        private mutating func page(isolation actor: isolated (any Actor)?) async throws(TraylogError) -> Changes? {
            let isFirst = following.isNew
            let signal = try following.signal(in: store.queries.source.directory) {
                [store, user] () throws(ThreadRefused) in try store.queries.hub.observe(user: user)
            }
            guard let signal else { return nil }
            while true {
                if isAtHead { guard await signal.wait() else { return nil } }
                guard !Task.isCancelled, !signal.isEnded else { return nil }
                let changes = try await store.changes(of: user, after: through)
                guard stream == 0 || changes.stream == stream else { throw .refused(.erased(user: user)) }
                stream = changes.stream
                isAtHead = changes.isComplete
                through = changes.through
                if isFirst || !changes.events.isEmpty { return changes }
            }
        }
    }
}
