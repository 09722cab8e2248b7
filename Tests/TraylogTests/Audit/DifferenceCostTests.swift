@_spi(Operations) import TraylogQueries
@_spi(Operations) import TraylogChecks
import Foundation
import Testing
import TestSupport
@_spi(Operations) @testable import Traylog
@testable import TraylogDomain

/// Long histories are compared in a time that grows with them, and say how far they are.
@Suite struct DifferenceCostTests {
    /// Notifications in 50 threads, every tenth event marks one of them as read.
    private func withHistory(_ count: Int, _ body: (Store) throws -> Void) throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store in
                for start in stride(from: 0, to: count, by: 1_000) {
                    _ = try store.perform(
                        (start..<start + 1_000).map { index in
                            let thread = "t\(index % 50)"
                            return index % 10 == 9
                                ? Command(user: "big", .markAll(.read, ItemFilter(thread: .named(thread))))
                                : Command(user: "big", .notify(Content(thread: thread)))
                        })
                }
                try body(store)
            }
        }
    }

    @Test func aDifferenceOfALongHistoryTakesAsMuchLongerAsItIsLonger() throws {
        /// Processor time, the least of three, so that other work on the machine counts little.
        func cost(_ count: Int) throws -> Double {
            var times: [Double] = []
            try withHistory(count) { store in
                for _ in 0..<3 {
                    let start = clock()
                    let difference = try store.view.difference(of: "big", from: .seq(0))
                    times.append(Double(clock() - start))
                    #expect(difference.steps.count == count && difference.items.count == count * 9 / 10)
                }
            }
            return times.min() ?? 0
        }
        let count = sized(2_000, nightly: 3_000)
        let (short, long) = (try cost(count), try cost(4 * count))
        // Four times as much; sixteen times, if each mark looked at every item.
        #expect(long < 9 * short, "\(count) events: \(short), \(4 * count): \(long)")
    }

    @Test func progressGoesUpToTheEndAndNotBeyond() throws {
        try withHistory(2_000) { store in
            var told: [(done: UInt64, total: UInt64)] = []
            _ = try store.view.difference(of: "big", from: .seq(500), to: .seq(1_600)) { told.append(($0, $1)) }
            #expect(told.count >= 4 && told.allSatisfy { $0.done <= $0.total && $0.total == 1_100 })
            #expect(told.map(\.done) == told.map(\.done).sorted())
        }
    }
}
