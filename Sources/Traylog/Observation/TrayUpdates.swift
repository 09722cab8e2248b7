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
    /// let following = Task { for try await event in store.follow() { print(event.json) } }
    /// following.cancel()
    /// ```
    ///
    /// It reads small chunks on demand, so a slow reader takes no memory and delays nothing. It waits for events for ever, and the
    /// loop ends without an error when its task is cancelled, when `stopper` stops it, or when the store is closed; `break` leaves it
    /// after an event. If an event cannot be read, it throws ``TraylogError`` and ends.
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
    /// let stopper = Stopper()
    /// for try await event in store.follow(after: 100, stopper: stopper) {
    ///     print(event.json)
    ///     if event.seq == 200 { stopper.stop() }
    /// }
    /// ```
    ///
    /// It ends as ``follow(from:stopper:)`` does.
    public func follow(
        after position: Seq, stopper: Stopper? = nil
    ) -> some AsyncSequence<Event, TraylogError> & Sendable {
        follow(from: position + 1, stopper: stopper)
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
        private let watch: TrayWatch

        init(store: any TrayQueries, user: String, stopper: Stopper?) {
            watch = TrayWatch(store, user, stopper)
        }

        /// The next state, once it differs; nil at the end.
        mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(TraylogError) -> Tray? {
            while watch.begins() {
                if let signal = watch.awaited, await !signal.wait() { break }
                if !watch.looks() { await watch.asks() }
                if watch.hasNews() { return watch.tray }
            }
            try watch.end()
            return nil
        }
    }
}

/// The part of a ``TrayUpdates`` iteration that needs no `await`.
///
/// It is an object, and has the tray: all that an asynchronous function holds over an `await` stays in its task's memory, and
/// thousands of tasks wait here. For the same reason none of its methods is inlined: their variables took 2 KB of each task.
private final class TrayWatch: @unchecked Sendable {
    // @unchecked: one task has the iterator, and waits while the task of `asks()` writes the answer.

    /// Kept, so that it stays open.
    private let store: any TrayQueries
    private let user: String
    private var following: Following
    private var signal: Signal?
    /// The last one that differed from the one before.
    private(set) var tray: Tray?
    /// The error that ends the iteration.
    private var failure: TraylogError?
    /// The stream of the tray's user; 0 while the user is unknown.
    private var stream: UInt32 = 0
    private var isErased = false
    private var isFirst = false
    /// Whether the tray was not shown yet.
    private var isNew = false

    init(_ store: any TrayQueries, _ user: String, _ stopper: Stopper?) {
        (self.store, self.user) = (store, user)
        following = Following(stopper)
    }

    /// Whether the iteration goes on; observes from the first call on.
    @inline(never)
    func begins() -> Bool {
        guard !following.hasEnded, failure == nil else { return false }
        guard !isErased else {
            failure = .refused(.erased(user: user))
            return false
        }
        isFirst = following.isNew
        do throws(TraylogError) {
            signal = try following.signal(in: store.queries.source.directory) {
                [store, user] () throws(ThreadRefused) in try store.queries.hub.observe(user: user)
            }
        } catch {
            failure = error
            return false
        }
        return signal != nil
    }

    /// The signal that there may be a change; nil at the beginning, where the present state is shown.
    var awaited: Signal? { isFirst ? nil : signal }

    /// Looks at the tray if it is in memory.
    ///
    /// - Returns: whether it is.
    @inline(never)
    func looks() -> Bool {
        do throws(TraylogError) {
            guard let (tray, stream) = try store.queries.knownTrayAndStream(of: user) else { return false }
            note(tray, stream)
        } catch {
            failure = error
        }
        return true
    }

    /// Has another task ask for the tray: the memory that a task takes for a call stays with it.
    @inline(never)
    func asks() async {
        let queries = store.queries
        await Task { [user] in
            do throws(TraylogError) {
                let (tray, stream) = try await queries.pool.run { () throws(TraylogError) in
                    try queries.answer(.now, of: user) { (try $0.tray(), $0.stream.rawValue) }
                }
                note(tray, stream)
            } catch {
                failure = error
            }
        }.value
    }

    @inline(never)
    private func note(_ found: Tray, _ foundStream: UInt32) {
        var found = found
        if stream != 0, foundStream != stream {
            isErased = true
            found = Tray(user: user, asOf: found.asOf)
        }
        stream = foundStream
        if let tray, found.asOf < tray.asOf || found.isSame(as: tray) { return }
        (tray, isNew) = (found, true)
    }

    /// Whether the tray differs from the one that was shown last.
    @inline(never)
    func hasNews() -> Bool {
        guard !Task.isCancelled, signal?.isEnded == false else {
            // This is the end, whatever the store answered.
            failure = nil
            return false
        }
        defer { isNew = false }
        return isNew && failure == nil
    }

    @inline(never)
    func end() throws(TraylogError) {
        let error = failure
        (signal, tray, failure) = (nil, nil, nil)
        if !following.hasEnded { try following.end(error) }
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
