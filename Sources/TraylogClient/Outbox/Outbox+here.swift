extension Outbox {
    /// The outbox's state, for a client that shares its thread and is on it.
    nonisolated func here<Answer: Sendable, Failure: Error>(
        _ body: @Sendable (isolated Outbox) throws(Failure) -> Answer
    ) throws(Failure) -> Answer {
        do {
            return try assumeIsolated { outbox in try body(outbox) }
        } catch {
            // `assumeIsolated` forgets the type of what it throws again.
            guard let failure = error as? Failure else { preconditionFailure("the closure throws nothing else") }
            throw failure
        }
    }
}
