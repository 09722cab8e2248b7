import TraylogDomain
import TraylogObservation
import TraylogPlatform

extension TrayQueries {
    /// A user's tray now, and again whenever it changes.
    ///
    /// ```swift
    /// for try await tray in store.trayUpdates(of: "ann") { print(tray.unseen) }
    /// ```
    ///
    /// Consecutive trays always differ in more than `asOf`, and none is older than the one before. The tray is computed on demand,
    /// so a slow reader skips to the newest one and delays nothing. Each iteration observes separately.
    ///
    /// The sequence keeps the store open, and ends when the store is closed or the task is cancelled. If the tray cannot be read, it
    /// throws ``TraylogError`` and ends. It shows the tray of one person: when that person is erased, the tray becomes empty,
    /// and then the sequence throws the refusal ``Refusal/erased(user:)``. It never shows the tray of somebody else who got the name.
    ///
    /// - Parameters:
    ///   - user: the tray's owner.
    ///   - stopper: ends the sequence earlier.
    public func trayUpdates(of user: String, stopper: Stopper? = nil) -> some AsyncSequence<Tray, TraylogError>
        & Sendable
    {
        TrayUpdates(store: self, user: user, stopper: stopper)
    }

    /// The events of the log from `first` on, each once and in order, and then each new one when any process commits it.
    ///
    /// ```swift
    /// for try await event in store.follow() { print(event.json) }
    /// ```
    ///
    /// It reads small chunks on demand, so a slow reader takes no memory and delays nothing. It ends when the task is cancelled
    /// or the store is closed. If an event cannot be read, it throws ``TraylogError`` and ends.
    ///
    /// - Parameters:
    ///   - first: may be beyond the head; nil begins after the head at the time of the first `next()`.
    ///   - stopper: ends the sequence earlier.
    public func follow(from first: Seq? = nil, stopper: Stopper? = nil) -> some AsyncSequence<Event, TraylogError>
        & Sendable
    {
        LogFollower(store: self, first: first, stopper: stopper)
    }

    /// The events of the log after `position`, and then each new one; for going on where an earlier run stopped.
    ///
    /// ```swift
    /// for try await event in store.follow(after: 100) { print(event.json) }
    /// ```
    public func follow(after position: Seq) -> some AsyncSequence<Event, TraylogError> & Sendable {
        follow(from: position + 1)
    }
}

/// The sequence of ``TrayQueries/trayUpdates(of:stopper:)``.
struct TrayUpdates: AsyncSequence, Sendable {
    typealias Element = Tray
    typealias Failure = TraylogError

    let store: any TrayQueries
    let user: String
    let stopper: Stopper?

    /// Starts an iteration, for one task.
    func makeAsyncIterator() -> Iterator { Iterator(store: store, user: user, stopper: stopper) }

    /// Iterates over the states of the tray; for one task.
    struct Iterator: AsyncIteratorProtocol {
        /// Kept, so that it stays open.
        private let store: any TrayQueries
        private let user: String
        private var following: Following
        private var last: Tray?
        /// The stream of the tray's user; 0 while the user is unknown.
        private var stream: UInt32 = 0
        private var isErased = false

        init(store: any TrayQueries, user: String, stopper: Stopper?) {
            self.store = store
            self.user = user
            following = Following(stopper)
        }

        /// The next state, once it differs; nil at the end.
        mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(TraylogError) -> Tray? {
            guard !following.hasEnded else { return nil }
            do {
                if let tray = try await change(isolation: actor) { return tray }
                try following.end()
            } catch {
                try following.end(error)
            }
            return nil
        }

        /// The next tray that differs; nil at the end.
        private mutating func change(
            isolation actor: isolated (any Actor)?
        ) async throws(TraylogError) -> Tray? {
            guard !isErased else { throw .refused(.erased(user: user)) }
            var isFirst = following.isNew
            let signal = try following.signal(in: store.queries.source.directory) {
                [store, user] () throws(ThreadRefused) in try store.queries.hub.observe(user: user)
            }
            guard let signal else { return nil }
            while true {
                if isFirst {
                    isFirst = false
                } else {
                    guard await signal.wait() else { return nil }
                }
                var (tray, newStream) = try await store.trayAndStream(of: user)
                guard !Task.isCancelled, !signal.isEnded else { return nil }
                if stream != 0, newStream != stream {
                    isErased = true
                    tray = Tray(user: user, asOf: tray.asOf)
                }
                stream = newStream
                if let last, tray.asOf < last.asOf || tray.isSame(as: last) {
                    if isErased { throw .refused(.erased(user: user)) }
                    continue
                }
                last = tray
                return tray
            }
        }
    }
}

extension Tray {
    /// Whether both trays are equal except for `asOf` and `revision`.
    func isSame(as other: Tray) -> Bool {
        var other = other
        (other.asOf, other.revision) = (asOf, revision)
        return self == other
    }
}
