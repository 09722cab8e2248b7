import Traylog

/// Transactions of 1,000, durable, by a few callers: one transaction is encoded while the one before it is written.
struct BulkMeasure {
    static let callers = 4

    let setup: Setup
    let hasKeys: Bool

    init(_ setup: Setup, hasKeys: Bool = false) {
        self.setup = setup
        self.hasKeys = hasKeys
    }

    func run() async throws -> Figures {
        let store = try Store.open(setup.directory, options: setup.options)
        let batches = try makeBatches()
        let (watch, start) = (Stopwatch(), Stopwatch.processorSeconds)
        try await Self.append(batches, events: setup.events, keyed: hasKeys, to: store)
        let (seconds, processor) = (watch.seconds, Stopwatch.processorSeconds - start)
        guard try await store.log.head() == Seq(UInt64(setup.events)) else {
            throw BenchError("not every event was stored")
        }
        let closing = Stopwatch()
        await store.close()
        return Figures([
            "perSecond": Double(setup.events) / seconds, "seconds": seconds, "closeSeconds": closing.seconds,
            Metric.processorTime.key: processor * 1e9 / Double(setup.events),
        ])
    }

    /// Made beforehand: what is measured is the store, without a pause that a background flush could use, and not the
    /// making of strings.
    private func makeBatches() throws -> [[Command]] {
        var workload = setup.workload
        let batches = workload.batches(min(setup.events, Workload.pool), size: CasePlan.batch)
        guard batches.allSatisfy({ $0.allSatisfy { Workload.recordBytes(of: $0) == Workload.recordBytes } }) else {
            throw BenchError("the commands do not make records of \(Workload.recordBytes) bytes")
        }
        return batches
    }

    /// - Parameter keyed: each command gets a key of its own, by its caller.
    static func append(_ batches: [[Command]], events: Int, keyed: Bool = false, to store: Store) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for caller in 0..<callers {
                group.addTask {
                    for start in stride(from: caller * CasePlan.batch, to: events, by: callers * CasePlan.batch) {
                        var batch = batches[start / CasePlan.batch % batches.count]
                        if batch.count > events - start { batch.removeLast(batch.count - (events - start)) }
                        if keyed { for index in batch.indices { batch[index].key = "key-\(start + index)" } }
                        _ = try await store.perform(batch)
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
