import Testing
import TestSupport
@_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogDomain

/// Commits that fail while batches of states are on their way, one in the transaction and one prepared.
@Suite struct FullMapTests {
    @Test func exactlyTheAcknowledgedEventsSurviveAFullMap() throws {
        try withStorePath { path in
            var options = StoreOptions()
            options.mapSizeBytes = 1 << 20
            options.tailEvents = 400
            var acknowledged: UInt64 = 0
            let store = try Store.open(path, options: options)
            for round in 0..<200 {
                let commands = (0..<100).map { notify("user\(($0 * 31 + round * 17) % 900)", "Title \(round)") }
                if let receipts = try? store.perform(commands) { acknowledged += UInt64(receipts.count) }
            }
            #expect(acknowledged > 400)
            #expect(acknowledged < 20_000)
            #expect(try store.head().rawValue == acknowledged)
            store.close()
            options.mapSizeBytes = 64 << 20
            let reopened = try Store.open(path, options: options)
            #expect(try reopened.head().rawValue == acknowledged)
            _ = try reopened.perform(notify("one more", "Title"))
            reopened.close()
            let report = try Replay.run(directory: path) { _, _ in }
            #expect(report.difference == nil)
            #expect(report.events == acknowledged + 1)
        }
    }
}
