import TraylogDomain
import TraylogQueries

extension BlockingQueries {
    /// The events of a user that were undone, each with the `undone` that voided it.
    ///
    /// - Throws: ``TraylogError/failed(_:)``.
    /// - Complexity: O(events undone), however long the user's history is.
    @available(*, noasync, message: "use `await store.voidedEvents`; this call blocks a thread that tasks share")
    @_spi(Operations) public func voidedEvents(of user: String) throws(TraylogError) -> [Seq: Seq] {
        try queries.answer(.now, of: user) { now in
            var voided: [Seq: Seq] = [:]
            for voiding in try now.state.voidings(stored: now.pages) {
                voided[Seq(voiding.event)] = Seq(voiding.undone)
            }
            return voided
        }
    }
}

extension TrayQueries {
    /// The same, while the task waits.
    ///
    /// ```swift
    /// for (event, undo) in try await store.voidedEvents(of: "ann") { print("\(event) was undone by \(undo)") }
    /// ```
    @_spi(Operations) public func voidedEvents(of user: String) async throws(TraylogError) -> [Seq: Seq] {
        try await asking { store throws(TraylogError) in try store.voidedEvents(of: user) }
    }
}
