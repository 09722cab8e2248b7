import Synchronization
import Testing
import Traylog

// Stand-ins with the signatures of swift-log 1.6 and swift-metrics 2.5, which the package does not depend on.

private struct Logger: Sendable {
    typealias Metadata = [String: String]
    let label: String
    func debug(_ message: String, metadata: Metadata? = nil) {}
    func error(_ message: String, metadata: Metadata? = nil) { told.withLock { $0.append(message) } }
}

private struct Counter: Sendable {
    let label: String
    func increment(by amount: Int) { counted.withLock { $0[label, default: 0] += amount } }
}

private struct Timer: Sendable {
    let label: String
    func recordNanoseconds(_ duration: Int64) { counted.withLock { $0[label, default: 0] += 1 } }
}

private let told = Mutex<[String]>([])
private let counted = Mutex<[String: Int]>([:])

// example: bridge to logs and metrics
private struct StoreTelemetry: StoreObserver {
    let logger = Logger(label: "traylog")
    let events = Counter(label: "traylog_events")
    let waits = Timer(label: "traylog_commit_wait")
    let writes = Timer(label: "traylog_commit_write")
    let queries = Timer(label: "traylog_query")

    func observe(_ activity: StoreActivity) {
        switch activity {
        case .committed(let count, _, let waited, let writing):
            events.increment(by: Int(count))
            waits.recordNanoseconds(Self.nanoseconds(waited))
            writes.recordNanoseconds(Self.nanoseconds(writing))
        case .queried(let waited, let running):
            queries.recordNanoseconds(Self.nanoseconds(waited + running))
        case .compacted(let dropped, let before, let after):
            logger.debug(
                "compacted", metadata: ["dropped": "\(dropped)", "bytes": "\(before) -> \(after)"])
        case .failed(let work, let error):
            logger.error("\(work.rawValue) failed: \(error)")
        default:
            logger.debug("\(activity)")
        }
    }

    private static func nanoseconds(_ duration: Duration) -> Int64 {
        duration.components.seconds * 1_000_000_000 + duration.components.attoseconds / 1_000_000_000
    }
}
// end

/// The Swift blocks of Docs/guides/logging.md.
@Suite struct LoggingExamples {
    @Test func aStoreTellsLogsAndMetrics() async throws {
        // example: observing a store's work
        var options = StoreOptions()
        options.observer = StoreTelemetry()
        let store = try Store.temporary(options: options)
        // end
        try await store.notify("ann", title: "Hi")
        _ = try await store.inbox(of: "ann")
        await store.close()
        StoreTelemetry().observe(
            .failed(.flush, .failed(StoreFailure(code: .diskFull, message: "full"))))
        #expect(counted.withLock { $0["traylog_events"] } == 1)
        #expect(counted.withLock { $0["traylog_query"] } == 1)
        #expect(told.withLock(\.self) == ["flush failed: full"])
    }
}
