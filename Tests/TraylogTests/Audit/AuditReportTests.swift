import Testing
import TestSupport
@_spi(Operations) @testable import Traylog
@testable import TraylogAudit
@testable import TraylogDomain

/// A report shows what queries of every single moment show.
@Suite struct AuditReportTests {
    private static let mix = HistoryMix.typical.with(.all)

    @Test(arguments: StoreWay.allCases, seeds(1, nightly: 40))
    func everyStepOfAReportIsWhatQueriesOfThatMomentSay(way: StoreWay, seed: UInt64) throws {
        try TestedStore.with(way) { tested in
            let users = try tested.play(seed: seed, steps: 150, mix: Self.mix)
            for user in users.prefix(3) + ["nobody"] {
                let report = try tested.ask { try $0.auditReport(of: user, withTrays: true) }
                try check(report, tested)
            }
        }
    }

    /// Against the tray after each event of the log.
    private func check(_ report: AuditReport, _ tested: TestedStore) throws {
        let head = try tested.store.head().rawValue
        let own = Set(try tested.store.history(of: report.user, limit: .max).elements.map(\.seq))
        var steps = report.steps[...]
        var before = try tested.store.tray(of: report.user, asOf: .seq(0))
        for seq in 1...head {
            let after = try tested.store.tray(of: report.user, asOf: .seq(Seq(seq)))
            if let step = steps.first, step.seq == Seq(seq) {
                steps.removeFirst()
                #expect(step.tray == after)
                #expect(counts(step.before) == counts(before))
                #expect(counts(step.after) == counts(after))
            } else {
                #expect(!own.contains(Seq(seq)), "the user's own event \(seq) is missing")
                var same = after
                same.asOf = before.asOf
                #expect(same == before, "event \(seq) changed the tray and is missing")
            }
            before = after
        }
        #expect(steps.isEmpty)
        #expect(report.tray == before)
        #expect(report.through == Seq(head))
    }

    private func counts(_ counts: TrayCounts) -> [Int] { [counts.unseen, counts.unread, counts.total] }
    private func counts(_ tray: Tray) -> [Int] { [tray.unseen, tray.unread, tray.total] }

    @Test(arguments: [StoreWay.atHand, .reader], seeds(1, nightly: 40))
    func aReportOfAPartEqualsThatPartOfTheWholeReport(way: StoreWay, seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        try TestedStore.with(way) { tested in
            let users = try tested.play(seed: 100 + seed, steps: 300, mix: Self.mix)
            let head = try tested.store.head().rawValue
            for user in users {
                let whole = try tested.ask { try $0.auditReport(of: user) }
                let from = UInt64(random.between(1, Int(head)))
                let to = UInt64(random.between(Int(from), Int(head)))
                let part = try tested.ask {
                    try $0.auditReport(of: user, from: .seq(Seq(from)), to: .seq(Seq(to)))
                }
                #expect(part.steps == whole.steps.filter { $0.seq >= Seq(from) && $0.seq <= Seq(to) })
                #expect(part.treeHead == whole.treeHead)
                let steps = try tested.ask {
                    try $0.auditSteps(of: user, from: .seq(Seq(from)), to: .seq(Seq(to)))
                }
                #expect(steps.steps == part.steps && steps.from == part.from && steps.before == part.before)
                let past = try tested.ask { try $0.auditReport(of: user, asOf: .seq(Seq(to))) }
                #expect(past.steps == whole.steps.filter { $0.seq <= Seq(to) })
                #expect(past.treeHead.size == to)
            }
        }
    }

    @Test(arguments: [false, true])
    func everyEventIsProvedAgainstTheOneTreeHead(isStored: Bool) throws {
        try TestedStore.with(.atHand) { tested in
            let users = try tested.play(seed: 7, steps: sized(250, nightly: 700), mix: Self.mix)
            if isStored { try tested.store.storeTree() }
            for user in users {
                let report = try tested.store.auditReport(of: user)
                let entries = try tested.store.entries(of: report, report.steps.indices, withProofs: true)
                #expect(entries.map(\.event.seq) == report.steps.map(\.seq))
                for entry in entries {
                    let proof = try #require(entry.proof)
                    #expect(
                        proof.isValid && proof.head == report.treeHead && proof.leaf?.seq == entry.event.seq.rawValue)
                    #expect(try proof == tested.store.proof(of: entry.event.seq))
                }
            }
        }
    }

    @Test func timesBoundAReportByWhenEventsWereRecorded() throws {
        try TestedStore.with(.atHand) { tested in
            for _ in 0..<3 { try tested.notify("ann") }
            let events = try tested.store.events(limit: .max).elements
            let first = events[0].recordedAt
            let later = Timestamp.at(events[2].recordedAt.milliseconds + 1)
            let store = try tested.store
            #expect(try store.auditReport(of: "ann", from: .time(first)).steps.count == 3)
            #expect(try store.auditReport(of: "ann", from: .time(later)).steps.isEmpty)
            #expect(try store.auditReport(of: "ann", to: .time(.at(first.milliseconds - 1))).steps.isEmpty)
            #expect(try store.auditReport(of: "ann", to: .time(later)).steps.count == 3)
            #expect(try store.auditReport(of: "ann", from: .time(.at(.min)), to: .time(.at(.max))).steps.count == 3)
            #expect(throws: TraylogError.refused(.invalid(field: "from", reason: "is after the later moment"))) {
                try store.auditReport(of: "ann", from: .seq(3), to: .seq(1))
            }
            #expect(try store.auditReport(of: "ann", from: .seq(9)).steps.isEmpty)
            #expect(throws: TraylogError.refused(.upToBeyondHead(9, head: 3, field: "to"))) {
                try store.auditReport(of: "ann", to: .seq(9))
            }
        }
    }
}
