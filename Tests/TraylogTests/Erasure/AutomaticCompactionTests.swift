import Foundation
import Testing
import TestSupport
@_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogDomain
@_spi(Operations) @testable import TraylogRewrite

@Suite struct AutomaticCompactionTests {
    private func policy(_ change: (inout CompactionPolicy) -> Void = { _ in }) -> CompactionPolicy {
        var policy = CompactionPolicy(keepDays: 0)
        policy.minimumBytes = 0
        change(&policy)
        return policy
    }

    private func fill(_ store: Store) throws {
        for index in 1...200 {
            _ = try store.perform(notify("ann", String(repeating: "x", count: 200)))
            _ = try store.perform(Command(user: "ann", .mark(.deleted, [.seq(Seq(UInt64(2 * index - 1)))])))
        }
    }

    @Test func oldEventsLeaveTheLogAutomatically() throws {
        try withStorePath { path in
            try withStore(path) { store in
                try fill(store)
                let report = try #require(try AutomaticCompaction(policy()).step(store.rewriter))
                #expect(report.dropped > 390)
                #expect(try store.tray(of: "ann").total == 0)
                #expect(try AutomaticCompaction(policy()).step(store.rewriter) == nil)
            }
            let report = try Verification.run(directory: path) { _, _ in }
            #expect(report.findings == [])
        }
    }

    private static let days = [
        (Int.min, Int64.max), (-106_751_991_168, .max), (-1, 86_401_000), (0, 1_000), (1, -86_399_000), (.max, .min),
        (106_751_991_167, -9_223_372_036_828_799_000), (106_751_991_168, .min),
    ]

    @Test(arguments: days)
    func aNumberOfDaysBeyondAllTimesMeansTheFirstOrTheLast(days: Int, milliseconds: Int64) {
        let now = Timestamp(milliseconds: 1_000)
        #expect(Moment.daysAgo(days, from: now) == .time(Timestamp(milliseconds: milliseconds)))
    }

    @Test func aCompactionTakesAnyNumberOfDays() throws {
        try withStorePath { path in
            try withStore(path) { store in
                try fill(store)
                for days in [Int.max, 106_751_991_168, 1] {
                    #expect(try store.compact(before: .daysAgo(days)).floor == 0)
                }
                #expect(try store.compact(before: .daysAgo(.min)).floor == 400)
            }
        }
    }

    @Test func youngEventsAndSmallFilesAreLeftAlone() throws {
        try withStorePath { path in
            try withStore(path) { store in
                try fill(store)
                let young = AutomaticCompaction(policy { ($0.keepDays, $0.freeShare) = (1, 1) })
                #expect(try young.step(store.rewriter) == nil)
                #expect(try AutomaticCompaction(policy { $0.minimumBytes = 1 << 40 }).step(store.rewriter) == nil)
            }
        }
    }

    @Test func freePagesAreGivenBackWithoutAnEvent() throws {
        try withStorePath { path in
            try withStore(path) { store in
                try fill(store)
                let head = try store.head()
                let shrinking = AutomaticCompaction(policy { ($0.keepDays, $0.freeShare) = (1, 0) })
                let report = try #require(try shrinking.step(store.rewriter))
                #expect(report.bytesAfter <= report.bytesBefore)
                #expect(report.dropped == 0)
                #expect(try store.head() == head)
                #expect(try store.history(of: "ann", limit: .max).elements.count == 400)
            }
        }
    }

    @Test func aStoreWithAPolicyOpensAndCloses() throws {
        try withStorePath { path in
            var settings = options()
            settings.compaction = policy()
            try withStore(path, settings) { store in try fill(store) }
            try withStore(path) { store in
                let head = try store.head()
                #expect(head >= 400)
            }
        }
    }
}
