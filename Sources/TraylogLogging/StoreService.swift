import Traylog

#if Logging
    import ServiceLifecycle

    /// A store as a service of swift-service-lifecycle: it closes the store when the program shuts down.
    ///
    /// Put it before the services that use the store: a `ServiceGroup` shuts down the last one first, so that the store is
    /// closed after nobody needs it any more.
    ///
    /// ```swift
    /// let store = try await Store.opened("trays")
    /// let group = ServiceGroup(
    ///     services: [StoreService(store), worker], gracefulShutdownSignals: [.sigterm], logger: logger)
    /// try await group.run()
    /// ```
    public struct StoreService: Service {
        private let store: Store

        /// Makes a service that closes `store` at shutdown.
        public init(_ store: Store) {
            self.store = store
        }

        /// Waits for the shutdown or for cancellation, then closes the store, and returns once it is closed.
        public func run() async throws {
            // In both cases appended events are stored, and the file is closed in order.
            try? await gracefulShutdown()
            await store.close()
        }
    }
#else
    /// Needs the package's trait `Logging`.
    @available(*, unavailable, message: "enable the trait: .package(url: …, from: …, traits: [\"Logging\"])")
    public struct StoreService {}
#endif
