import Traylog

#if Logging
    import Logging
    import Metrics

    /// Logs and counts a store's work, with swift-log and swift-metrics.
    ///
    /// Failures of work in the background become errors in the log, because they are reported nowhere else. A clock behind the log is
    /// a warning; compactions are notices; all else is logged at level `debug`. These metrics are recorded, by the factory given or the program's (`MetricsSystem`):
    ///
    /// | label | kind | what |
    /// |---|---|---|
    /// | `traylog_events` | counter | events that became durable |
    /// | `traylog_commits` | counter | transactions that became durable |
    /// | `traylog_commit_wait` | timer | how long the first command of a transaction waited for its turn |
    /// | `traylog_commit_write` | timer | how long the transaction's file operations took, syncs included |
    /// | `traylog_query_wait`, `traylog_query` | timer | how long a query waited for a thread, and how long it then ran |
    /// | `traylog_flush` | timer | how long it took to bring stored states up to the log |
    /// | `traylog_failures` | counter, with the dimension `work` | failures in the background |
    ///
    /// The log holds no names of users and no content. A call costs about a microsecond, plus what the log handler and
    /// the metrics factory take: commands wait for them, so neither should call a network.
    ///
    /// ```swift
    /// var options = StoreOptions()
    /// options.observer = StoreTelemetry(logger: Logger(label: "traylog"))
    /// let store = try await Store.opened("trays", options: options)
    /// ```
    public struct StoreTelemetry: StoreObserver {
        private let logger: Logger
        private let factory: any MetricsFactory
        private let events: Counter
        private let commits: Counter
        private let waits: Timer
        private let writes: Timer
        private let queryWaits: Timer
        private let queries: Timer
        private let flushes: Timer

        /// Makes an observer for ``StoreOptions/observer``.
        ///
        /// - Parameters:
        ///   - logger: takes the messages, at its own level.
        ///   - factory: makes the metrics; the program's if it is left out, which must then be bootstrapped before.
        public init(logger: Logger, metrics factory: (any MetricsFactory)? = nil) {
            let factory = factory ?? MetricsSystem.factory
            self.logger = logger
            self.factory = factory
            events = Counter(label: "traylog_events", factory: factory)
            commits = Counter(label: "traylog_commits", factory: factory)
            waits = Timer(label: "traylog_commit_wait", factory: factory)
            writes = Timer(label: "traylog_commit_write", factory: factory)
            queryWaits = Timer(label: "traylog_query_wait", factory: factory)
            queries = Timer(label: "traylog_query", factory: factory)
            flushes = Timer(label: "traylog_flush", factory: factory)
        }

        /// Logs and counts the store's work.
        public func observe(_ activity: StoreActivity) {
            switch activity {
            case .committed(let count, let head, let waited, let writing):
                commits.increment()
                events.increment(by: Int64(clamping: count))
                waits.record(duration: waited)
                writes.record(duration: writing)
                logger.debug("committed", metadata: ["events": "\(count)", "head": "\(head)"])
            case .queried(let waited, let running):
                queryWaits.record(duration: waited)
                queries.record(duration: running)
            case .flushed(let writing):
                flushes.record(duration: writing)
                logger.debug("flushed", metadata: ["writing": "\(writing)"])
            case .ticked(let woken, let expired, let duration):
                logger.debug(
                    "ticked", metadata: ["woken": "\(woken)", "expired": "\(expired)", "duration": "\(duration)"])
            case .compacted(let dropped, let before, let after):
                logger.notice(
                    "compacted",
                    metadata: ["dropped": "\(dropped)", "bytesBefore": "\(before)", "bytesAfter": "\(after)"])
            case .rebuilt(let cause):
                logger.error("stored states were derived from the log again", metadata: ["after": "\(cause)"])
            case .clockBehind(let lag):
                logger.warning("the clock is behind the log: set it", metadata: ["by": "\(lag)"])
            case .failed(let work, let error):
                // Rare, so a counter for each kind of work is made when it first fails.
                Counter(label: "traylog_failures", dimensions: [("work", work.rawValue)], factory: factory).increment()
                logger.error("\(work.rawValue) failed, and is tried again", metadata: ["error": "\(error)"])
            @unknown default:
                logger.debug("\(activity)")
            }
        }
    }
#else
    /// Needs the package's trait `Logging`.
    @available(*, unavailable, message: "enable the trait: .package(url: …, from: …, traits: [\"Logging\"])")
    public struct StoreTelemetry {}
#endif
