/// How long something may take.
enum Deadline {
    /// What `body` returns; nil when it takes longer.
    ///
    /// It goes on then, and nobody waits for it.
    @discardableResult
    static func abandoning<Value: Sendable>(
        after time: Duration, _ body: @escaping @Sendable () async throws -> Value
    ) async -> Value? {
        let (answers, told) = AsyncStream.makeStream(of: Optional<Value>.self)
        let work = Task { told.yield(try? await body()) }
        let clock = Task {
            try await Task.sleep(for: time)
            told.yield(nil)
        }
        defer {
            work.cancel()
            clock.cancel()
        }
        return await answers.first { _ in true } ?? nil
    }

    /// What `body` returns; nil when it takes longer.
    ///
    /// It is cancelled then.
    static func within<Value: Sendable>(
        _ time: Duration, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value? {
        try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await Task.sleep(for: time)
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }
}
