import HTTPTypes
import HummingbirdTesting
import Logging
import Synchronization
import Testing

@testable import TraylogServer

/// Keeps what an app's handler of swift-log is given.
private final class RecordedLog: Sendable {
    static let shared: RecordedLog = {
        let log = RecordedLog()
        LoggingSystem.bootstrap { _ in Handler(log: log) }
        return log
    }()

    private let entries = Mutex<[String]>([])

    func entry(containing text: String) -> String? { entries.withLock { $0.first { $0.contains(text) } } }

    private struct Handler: LogHandler {
        let log: RecordedLog
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            log.entries.withLock { $0.append("\(event.level) \(event.metadata?.description ?? "")") }
        }
    }
}

struct LogTests {
    @Test func anAppsLogHandlerIsGivenTheRequestsWithoutNamesOfUsers() async throws {
        let log = RecordedLog.shared
        try await ServedStore.with { store async throws in
            let answer = try await store.send(.get, "/v1/users/ann/tray")
            let id = try #require(answer.headers[HTTPField.Name("X-Request-Id")!])
            let entry = try #require(log.entry(containing: id))
            #expect(entry.hasPrefix("info "))
            #expect(entry.contains(#""method":"GET","route":"/v1/users/{u}/tray","status":200"#))
            #expect(!entry.contains("ann"))
        }
        try await ServedStore.with(parts: [], { $0.logsUsers = true }) { store async throws in
            let answer = try await store.send(.get, "/v1/users/ann/tray")
            let id = try #require(answer.headers[HTTPField.Name("X-Request-Id")!])
            #expect(log.entry(containing: id)?.contains(#""user":"ann""#) == true)
        }
    }
}
