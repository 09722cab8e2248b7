import TestSupport
import Testing
@_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogDomain

/// Several passes over the same events are one way from nothing to everything.
@Suite struct VerificationProgressTests {
    @Test func progressNeverGoesBackNorBeyondTheEnd() throws {
        try withStorePath { path in
            let thousands = sized(12, nightly: 30)
            try withStore(path, options(isRelaxed: true)) { store in
                for number in 0..<thousands {
                    _ = try store.perform((0..<1_000).map { notify("user\(($0 + number) % 40)", "item") })
                }
            }
            var told: [(done: UInt64, total: UInt64)] = []
            let report = try Verification.run(directory: path) { told.append(($0, $1)) }
            #expect(report.findings == [] && report.events == UInt64(thousands) * 1_000)
            let fractions = told.map { Double($0.done) / Double($0.total) }
            #expect(fractions == fractions.sorted())
            #expect(told.count > 3 && told.allSatisfy { $0.done <= $0.total })
            #expect((fractions.last ?? 0) > 0.9)
        }
    }
}
