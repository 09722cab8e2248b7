import Synchronization
import Testing
import Traylog

private let told = Mutex<[String]>([])

// example: an observer of one's own
private struct Failures: StoreObserver {
    let report: @Sendable (String) -> Void

    func observe(_ activity: StoreActivity) {
        guard case .failed(let work, let error) = activity else { return }
        report("\(work.rawValue) failed: \(error)")
    }
}
// end

private func print(_ line: String) { told.withLock { $0.append(line) } }

/// The Swift blocks of Docs/guides/logging.md.
///
/// Tools/embed runs its program.
@Suite struct LoggingExamples {
    @Test func anObserverHearsOfFailuresOnly() async throws {
        // example: observing a store's work
        var options = StoreOptions()
        options.observer = Failures { print($0) }
        let store = try Store.temporary(options: options)
        // end
        try await store.notify("ann", title: "Hi")
        _ = try await store.inbox(of: "ann")
        await store.close()
        options.observer?.observe(.failed(.flush, .failed(StoreFailure(code: .diskFull, message: "full"))))
        #expect(told.withLock(\.self) == ["flush failed: full"])
    }
}
