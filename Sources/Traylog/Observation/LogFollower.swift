import TraylogDomain
import TraylogObservation
import TraylogPlatform

/// The sequence of ``TrayQueries/follow(from:stopper:)``.
struct LogFollower: AsyncSequence, Sendable {
    typealias Element = Event
    typealias Failure = TraylogError

    let store: any TrayQueries
    let first: Seq?
    let stopper: Stopper?

    /// Starts an iteration, for one task.
    func makeAsyncIterator() -> Iterator { Iterator(store: store, next: first, stopper: stopper) }

    /// Iterates over the events; for one task.
    struct Iterator: AsyncIteratorProtocol {
        /// Events in a chunk: a few megabytes at the largest.
        private static let chunk = 64

        /// Kept, so that it stays open.
        private let store: any TrayQueries
        private var following: Following
        /// The seq after the last event that was read; nil before the first look at the head.
        private var nextSeq: Seq?
        private var read: ArraySlice<Event> = []

        init(store: any TrayQueries, next: Seq?, stopper: Stopper?) {
            self.store = store
            following = Following(stopper)
            nextSeq = next.map { Swift.max($0, 1) }
        }

        /// The next event, once there is one; nil at the end.
        mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(TraylogError) -> Event? {
            guard !following.hasEnded else { return nil }
            do {
                if let event = try await event(isolation: actor) { return event }
                try following.end()
            } catch {
                try following.end(error)
            }
            return nil
        }

        private mutating func event(
            isolation actor: isolated (any Actor)?
        ) async throws(TraylogError) -> Event? {
            let signal = try following.signal(in: store.queries.source.directory) { [store] () throws(ThreadRefused) in
                try store.queries.hub.observeLog()
            }
            guard let signal else { return nil }
            if nextSeq == nil { nextSeq = try await store.log.head() + 1 }
            while let from = nextSeq, !Task.isCancelled, !signal.isEnded {
                if let event = read.popFirst() { return event }
                read = try await store.log.events(from: from, limit: Self.chunk).elements[...]
                if let last = read.last {
                    nextSeq = last.seq + 1
                } else {
                    guard await signal.wait() else { return nil }
                }
            }
            return nil
        }
    }
}
