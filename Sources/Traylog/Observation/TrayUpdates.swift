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
        private let watch: TrayWatch

        init(store: any TrayQueries, user: String, stopper: Stopper?) {
            watch = TrayWatch(store, user, stopper)
        }

        /// The next state, once it differs; nil at the end.
        mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(TraylogError) -> Tray? {
            while try watch.begins() {
                if watch.mustWait, await !watch.waits() { break }
                if try watch.asks() { await watch.ask() }
                if let tray = try watch.take() { return tray }
            }
            try watch.end()
            return nil
        }
    }
}

/// The part of a ``TrayUpdates`` iteration that needs no `await`.
///
/// It is an object, and has the trays: all that an asynchronous function holds over an `await` stays in its task's memory, and
/// thousands of tasks wait here.
private final class TrayWatch: @unchecked Sendable {
    // @unchecked: one task has the iterator, and waits while the task of `ask()` writes the answer.

    private typealias Answer = (tray: Tray, stream: UInt32)

    /// Kept, so that it stays open.
    private let store: any TrayQueries
    private let user: String
    private var following: Following
    private var signal: Signal?
    private var last: Tray?
    /// The answer of the store to the last question.
    private var answer: Result<Answer, TraylogError>?
    /// The stream of the tray's user; 0 while the user is unknown.
    private var stream: UInt32 = 0
    private var isErased = false
    private var isFirst = false

    init(_ store: any TrayQueries, _ user: String, _ stopper: Stopper?) {
        (self.store, self.user) = (store, user)
        following = Following(stopper)
    }

    /// Whether the iteration goes on; observes from the first call on.
    func begins() throws(TraylogError) -> Bool {
        guard !following.hasEnded else { return false }
        guard !isErased else { return try ending(.refused(.erased(user: user))) }
        isFirst = following.isNew
        do {
            signal = try following.signal(in: store.queries.source.directory) {
                [store, user] () throws(ThreadRefused) in try store.queries.hub.observe(user: user)
            }
        } catch {
            return try ending(error)
        }
        return signal != nil
    }

    /// Whether the state was shown that the store had at the beginning.
    var mustWait: Bool { !isFirst }

    /// Waits for a change; false at the end.
    func waits() async -> Bool { await signal?.wait() ?? false }

    /// Whether the tray is not in memory.
    func asks() throws(TraylogError) -> Bool {
        do throws(TraylogError) {
            answer = try store.queries.knownTrayAndStream(of: user).map { .success($0) }
        } catch {
            answer = .failure(error)
        }
        return answer == nil
    }

    /// Has another task ask for the tray: the memory that a task takes for a call stays with it.
    func ask() async {
        let queries = store.queries
        await Task { [user] in
            do throws(TraylogError) {
                answer = .success(
                    try await queries.pool.run { () throws(TraylogError) in
                        try queries.answer(.now, of: user) { (try $0.tray(), $0.stream.rawValue) }
                    })
            } catch {
                answer = .failure(error)
            }
        }.value
    }

    /// The tray, if it differs from the last one.
    func take() throws(TraylogError) -> Tray? {
        guard let answer, let signal else { return nil }
        self.answer = nil
        guard !Task.isCancelled, !signal.isEnded else {
            _ = try ending(nil)
            return nil
        }
        let found: Answer
        do throws(TraylogError) { found = try answer.get() } catch {
            _ = try ending(error)
            return nil
        }
        var tray = found.tray
        if stream != 0, found.stream != stream {
            isErased = true
            tray = Tray(user: user, asOf: tray.asOf)
        }
        stream = found.stream
        if let last, tray.asOf < last.asOf || tray.isSame(as: last) { return nil }
        last = tray
        return tray
    }

    func end() throws(TraylogError) { _ = try ending(nil) }

    private func ending(_ error: TraylogError?) throws(TraylogError) -> Bool {
        signal = nil
        if !following.hasEnded { try following.end(error) }
        return false
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
