import TraylogDomain

/// One user's tray: as it is now, then again whenever it has changed, in whatever process.
///
/// Two trays in a row always differ (in more than `asOf`), and none is older than the one before. The tray is computed
/// when it is asked for: whoever is slow gets the newest one and holds nothing up. Each iteration observes by itself.
///
/// It ends when the task is cancelled or the store is closed, and throws ``TraylogError`` when the tray cannot be read,
/// after which it has ended, too.
public struct TrayUpdates: AsyncSequence, Sendable {
    public typealias Element = Tray
    public typealias Failure = TraylogError

    let queries: Queries
    let user: String

    public func makeAsyncIterator() -> Iterator { Iterator(queries: queries, user: user) }

    public struct Iterator: AsyncIteratorProtocol {
        private let queries: Queries
        private let user: String
        private var observation: Observation?
        private var last: Tray?
        private var hasEnded = false

        init(queries: Queries, user: String) {
            self.queries = queries
            self.user = user
        }

        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(TraylogError) -> Tray? {
            guard !hasEnded else { return nil }
            do {
                if let tray = try await change(isolation: actor) { return tray }
            } catch .failed(let failure) where failure.code == .closed {
                // The end that was hoped for.
            } catch {
                end()
                throw error
            }
            end()
            return nil
        }

        /// The next tray that differs; nil at the end.
        private mutating func change(
            isolation actor: isolated (any Actor)?
        ) async throws(TraylogError) -> Tray? {
            var isFirst = observation == nil
            guard let observation = observation ?? queries.hub.observe(user: user) else { return nil }
            self.observation = observation
            while true {
                if isFirst {
                    isFirst = false
                } else {
                    guard await observation.signal.wait() else { return nil }
                }
                let tray = try await BlockingQueries(queries).tray(of: user)
                guard !Task.isCancelled, !observation.signal.isEnded else { return nil }
                if let last, tray.asOf < last.asOf || tray.isSame(as: last) { continue }
                last = tray
                return tray
            }
        }

        private mutating func end() {
            hasEnded = true
            observation = nil
        }
    }
}

extension Tray {
    /// Whether both show the same, whatever they are as of.
    func isSame(as other: Tray) -> Bool {
        var other = other
        other.asOf = asOf
        return self == other
    }
}
