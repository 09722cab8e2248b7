import Foundation
import Testing
import TestSupport
@_spi(Operations) @testable import Traylog
@testable import TraylogChecks
@testable import TraylogDomain

/// The report of a compaction says what became of the file, and a dry run says it before.
@Suite struct CompactionReportTests {
    enum Shape: CaseIterable, Sendable {
        case manySmallUsers, oneLargeUser, muchData, fewRemoved
    }

    private func command(_ number: Int, _ shape: Shape) -> Command {
        let user =
            switch shape {
            case .manySmallUsers: "user\(number % 3_000)"
            case .oneLargeUser: "ann"
            case .muchData, .fewRemoved: "user\(number % 50)"
            }
        var content = Content(title: "Number \(number)", body: "The body of number \(number)")
        if shape == .muchData, number % 7 == 0 { content.body = String(repeating: "much ", count: 1_500) }
        // The user's next one with the key supersedes it.
        if shape == .fewRemoved ? number % 100 == 0 : number % 3 != 0 { content.collapseKey = "c" }
        return Command(user: user, .notify(content), key: number % 2 == 0 ? "k\(number)" : nil)
    }

    private func fill(_ store: Store, _ shape: Shape, _ numbers: Range<Int>) throws {
        for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: 1_000) {
            let commands = (start..<min(start + 1_000, numbers.upperBound)).map { command($0, shape) }
            _ = try store.perform(commands)
        }
    }

    private func expectExplained(_ report: CompactionReport, _ comment: Comment) {
        let before = report.tables.reduce(0) { $0 + $1.bytesBefore } + report.freeBytesBefore
        let after = report.tables.reduce(0) { $0 + $1.bytesAfter } + report.freeBytesAfter
        // The header, LMDB's list of tables and its list of free pages.
        for (sum, whole) in [(before, report.bytesBefore), (after, report.bytesAfter)] {
            #expect(sum <= whole && whole - sum <= 16 * 4_096, comment)
        }
    }

    @Test(
        arguments: sized([.manySmallUsers, .muchData], nightly: Shape.allCases),
        sized([false], nightly: [false, true]))
    func aDryRunPredictsTheSizeWithinFivePercent(shape: Shape, isArchived: Bool) throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store throws in
                let thousand = sized(500, nightly: 1_000)
                try fill(store, shape, 0..<12 * thousand)
                // The second one compacts a compacted store.
                for (floor, end) in [(9 * thousand, 14 * thousand), (27 * thousand / 2, 15 * thousand)] {
                    let floor = Seq(UInt64(floor))
                    let comment = Comment("\(shape), archived: \(isArchived), floor \(floor)")
                    let archive = isArchived ? path + "-archives" : nil
                    let untouched = try store.statistics().tables.first { $0.name == "tree" }
                    let dry = try store.compact(before: .seq(floor), archive: archive, isDryRun: true)
                    #expect(try store.statistics().tables.first { $0.name == "tree" } == untouched, comment)
                    let report = try store.compact(before: .seq(floor), archive: archive)
                    #expect(report.dropped == dry.dropped && report.dropped > 20, comment)
                    let difference = Double(dry.bytesAfter) - Double(report.bytesAfter)
                    #expect(difference.magnitude <= 0.05 * Double(report.bytesAfter), comment)
                    for (table, predicted) in zip(report.tables, dry.tables) where table.bytesAfter > 40 * 4_096 {
                        let difference = Double(table.bytesAfter) - Double(predicted.bytesAfter)
                        #expect(table.name == predicted.name, comment)
                        #expect(difference.magnitude <= 0.05 * Double(table.bytesAfter), "\(table.name), \(comment)")
                    }
                    expectExplained(dry, comment)
                    expectExplained(report, comment)
                    let statistics = try store.statistics()
                    #expect(
                        report.bytesAfter == statistics.bytes && report.freeBytesAfter == statistics.freeBytes, comment)
                    for table in statistics.tables {
                        #expect(report.tables.first { $0.name == table.name }?.bytesAfter == table.bytes, comment)
                    }
                    try fill(store, shape, (end - 2 * thousand)..<end)
                }
            }
        }
    }

    @Test func aReportSaysWhetherItChangedNothing() async throws {
        let store = try Store.temporary(options: options(isRelaxed: true))
        func fields(_ report: CompactionReport) throws -> [String: Bool] {
            let known = ["dryRun": report.isDryRun, "notWorthIt": report.isGivenUp]
            let decoded = try JSONDecoder().decode(CompactionReport.self, from: Data(report.json.utf8))
            #expect(decoded == report)
            for (name, value) in known {
                #expect(report.json.contains("\"\(name)\":true") == value, "\(report.json)")
            }
            return known
        }
        let upkeep = store.upkeep
        // Nothing leaves.
        #expect(
            try fields(try await upkeep.compact(before: 0, isDryRun: true)) == ["dryRun": true, "notWorthIt": false])
        try await store.perform((0..<3_000).map { Command(user: "user \($0)", .notify(Content(title: "T"))) })
        // Every tray is kept as it was at the floor, and the one event that leaves saves less than that.
        try await store.mark(.deleted, 1, of: "user 0")
        let head = Moment.seq(try await store.log.head())
        let dry = try await upkeep.compact(before: head, isDryRun: true, onlyIfSmaller: true)
        #expect(try fields(dry) == ["dryRun": true, "notWorthIt": false] && !dry.isWorthIt)
        let given = try await upkeep.compact(before: head, onlyIfSmaller: true)
        #expect(try fields(given) == ["dryRun": false, "notWorthIt": true])
        #expect(try await store.log.head() == 3_001)
        #expect(try fields(try await upkeep.compact(before: head)) == ["dryRun": false, "notWorthIt": false])
        await store.close()
    }

    @Test func aCompactionOfManySmallTraysShrinksTheStore() throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store throws in
                let users = 2_000
                for round in 0..<10 {
                    var content = Content(
                        title: "T", body: "A message of round \(round) to somebody, in some more words")
                    // The next round's item supersedes it.
                    content.collapseKey = "c"
                    _ = try store.perform((0..<users).map { Command(user: "user\($0)", .notify(content)) })
                }
                let report = try store.compact(before: .seq(Seq(UInt64(users * 7 + 1))))
                #expect(report.dropped == UInt64(users * 6) && report.bytesAfter < report.bytesBefore)
                let tree = try #require(report.tables.first { $0.name == "tree" })
                #expect(tree.bytesBefore == 0 && tree.bytesAfter <= 40 * report.dropped)
            }
        }
    }

    @Test func aReplayAfterACompactionCountsTheEventsOfTheLog() throws {
        try withStorePath { path in
            let (head, dropped) = try withStore(path, options(isRelaxed: true)) { store throws in
                try fill(store, .manySmallUsers, 0..<12_000)
                let report = try store.compact(before: .seq(11_900))
                return (try store.head().rawValue, report.dropped)
            }
            let report = try replay(path)
            // All that are there but the `compacted` one, which is in no stream.
            #expect(report.identical && report.events == head - dropped - 1)
        }
    }
}
