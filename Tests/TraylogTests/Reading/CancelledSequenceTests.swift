import Testing

@_spi(Replication) @testable import Traylog

/// A sequence that ends has given everything; a part ends with an error.
@Suite struct CancelledSequenceTests {
    @Test(arguments: [1, 150, 256, 257, 999])
    func aSequenceOfACancelledTaskThrowsInsteadOfEndingEarly(after count: Int) async throws {
        let store = try Store.temporary()
        _ = try await store.perform((0..<1_000).map { .notify("u\($0)", title: "x") }, mode: .each)
        await expectCancelled(after: count) { store.log.allEvents() }
        await expectCancelled(after: count) { store.log.allEvents(newestFirst: true) }
        await expectCancelled(after: count) { store.allUsers() }
        await store.close()
    }

    @Test func aSequenceThatGaveEverythingEndsEvenWhenItsTaskIsCancelled() async throws {
        let store = try Store.temporary()
        _ = try await store.perform((0..<300).map { .notify("u\($0)", title: "x") }, mode: .each)
        let task = Task {
            var events = 0
            for try await _ in store.log.allEvents() {
                events += 1
                if events == 300 { unsafe withUnsafeCurrentTask { unsafe $0?.cancel() } }
            }
            return events
        }
        #expect(try await task.value == 300)
        await store.close()
    }

    @Test func aStopperForgetsSequencesThatHaveEnded() async throws {
        let store = try Store.temporary()
        try await store.notify("ann", title: "x")
        let stopper = Stopper()
        for _ in 0..<50 {
            for try await _ in store.trayUpdates(of: "ann", stopper: stopper) { break }
            for try await _ in store.follow(from: 1, stopper: stopper) { break }
            for try await _ in store.followChanges(of: "ann", stopper: stopper) { break }
        }
        #expect(stopper.count == 0)
        var iterator = store.trayUpdates(of: "ann", stopper: stopper).makeAsyncIterator()
        _ = try await iterator.next()
        #expect(stopper.count == 1)
        stopper.stop()
        #expect(try await iterator.next() == nil && stopper.count == 0)
        await store.close()
    }

    private func expectCancelled<Sequence: AsyncSequence & Sendable>(
        after count: Int, _ sequence: @escaping @Sendable () -> Sequence
    ) async {
        let task = Task {
            var elements = 0
            for try await _ in sequence() {
                elements += 1
                if elements == count { unsafe withUnsafeCurrentTask { unsafe $0?.cancel() } }
            }
        }
        let error = await #expect(throws: TraylogError.self) { try await task.value }
        guard case .failed(let failure) = error else { return #expect(Bool(false)) }
        #expect(failure.code == .cancelled)
    }
}
