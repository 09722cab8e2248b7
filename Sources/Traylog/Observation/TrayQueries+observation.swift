import TraylogDomain

extension TrayQueries {
    /// A user's tray now, and then whenever it changes.
    ///
    /// ```swift
    /// for try await tray in store.trayUpdates(of: "ann") { badge = tray.unseen }
    /// ```
    ///
    /// Keep the store: the sequence ends when the store is closed, or given up.
    public func trayUpdates(of user: String) -> TrayUpdates { TrayUpdates(queries: queries, user: user) }

    /// The events of the log from `first` on, and then each new one.
    ///
    /// - Parameter first: may lie beyond the head; nil begins after the head as of the first event that is asked for.
    public func follow(from first: Seq? = nil) -> LogFollower { LogFollower(queries: queries, first: first) }
}
