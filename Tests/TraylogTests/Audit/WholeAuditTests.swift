import TestSupport
import Testing

@_spi(Operations) @_spi(JSON) @testable import Traylog
@_spi(Operations) @testable import TraylogAudit
@_spi(Operations) @_spi(JSON) @testable import TraylogChecks
@testable import TraylogDomain
@_spi(Operations) @_spi(JSON) import TraylogEvidence
@_spi(JSON) @testable import TraylogJSON

/// Reports of events that left the log, and the events of any report.
@Suite struct WholeAuditTests {
    private static let mix = HistoryMix.typical.with(.all)

    @Test(arguments: seeds(1, nightly: 80))
    func aReportWithArchivesEqualsTheReportBeforeCompaction(seed: UInt64) throws {
        try TestedStore.with(.atHand) { tested in
            let users = try tested.play(seed: seed, steps: 400, mix: Self.mix) + ["nobody"]
            let store = try tested.store
            var random = SeededRandom(seed: seed)
            let head = try store.head()
            let before = try users.map { try store.auditReport(of: $0, withTrays: true) }
            let entries = try before.map { report in
                try store.entries(of: report, report.steps.indices, withProofs: true, disclosed: true)
            }
            let directory = tested.path + "-archives"
            let middle = Seq(UInt64(random.between(2, Int(head.rawValue))))
            var dropped: UInt64 = 0
            for floor in [middle, head] {
                dropped += try store.compact(before: .seq(floor), archive: directory).dropped
                guard dropped > 0 else { continue }
                for (index, user) in users.enumerated() {
                    try compare(store, before[index], entries[index], user, head, directory, &random)
                }
            }
            #expect(dropped > 0, "seed \(seed)")
        }
    }

    private func compare(
        _ store: Store, _ before: AuditReport, _ entries: [AuditEntry], _ user: String, _ head: Seq,
        _ directory: String,
        _ random: inout SeededRandom
    ) throws {
        let archives = try store.archives(in: directory)
        let after = try store.auditReport(of: user, asOf: .seq(head), withTrays: true, including: archives)
        #expect(after.steps == before.steps, "\(user)")
        #expect(after.tray == before.tray && after.treeHead == before.treeHead)
        let found = try store.entries(of: after, after.steps.indices, withProofs: true, disclosed: true)
        #expect(found == entries, "\(user)")
        // A part of it, and one that ends below the floor.
        let from = random.between(1, Int(head.rawValue))
        let to = random.between(from, Int(head.rawValue))
        let part = try store.auditReport(
            of: user, from: .seq(Seq(UInt64(from))), to: .seq(Seq(UInt64(to))), including: archives)
        let wanted = before.steps.filter { (from...to).contains(Int($0.seq.rawValue)) }
        #expect(part.steps.map(\.seq) == wanted.map(\.seq) && part.steps.map(\.after) == wanted.map(\.after))
    }

    @Test func aChangedByteOfAReportOrOfAProofIsRefusedWhereverItIs() throws {
        try TestedStore.with(.atHand) { tested in
            let users = try tested.play(seed: 3, steps: 24, mix: Self.mix)
            let store = try tested.store
            let reports = try users.map { try store.auditReport(of: $0) }
            let report = try #require(reports.max { $0.steps.count < $1.steps.count })
            #expect(report.steps.count > 1)
            var head = JSONWriter()
            head.write(report.treeHead)
            var lines: [[UInt8]] = []
            func add(_ body: (inout JSONWriter) -> Void) {
                var writer = JSONWriter()
                body(&writer)
                lines.append(writer.bytes)
            }
            add { $0.write(report, isDisclosed: true) }
            for entry in try store.entries(of: report, report.steps.indices, withProofs: true, disclosed: true) {
                add { $0.write(entry) }
            }
            var chain = LineChain()
            for line in lines { chain.add(line) }
            lines.append(Array(#"{"chain":"\#(chain.hash.hex)"}"#.utf8))
            let seq = report.steps[1].seq
            let (proof, disclosure) = (try store.proof(of: seq), try store.disclosure(of: seq))
            var proved = JSONWriter()
            proved.write(proof, salt: disclosure?.salt, payload: disclosure?.payload)
            for file in [lines, [proved.bytes]] {
                #expect(try findings(file, head) == [])
                for (number, line) in file.enumerated() {
                    // In long tests each byte, otherwise each seventh.
                    for index in line.indices where (index + number).isMultiple(of: sized(23, nightly: 1)) {
                        for bit: UInt8 in [1, 32] {
                            var changed = file
                            changed[number][index] ^= bit
                            let isRefused = try !findings(changed, head).isEmpty
                            #expect(isRefused, "line \(number + 1), byte \(index), bit \(bit)")
                        }
                    }
                }
            }
        }
    }

    private func findings(_ lines: [[UInt8]], _ head: JSONWriter) throws -> [String] {
        var check = try HandedOutCheck(treeHeads: [String(decoding: head.bytes, as: UTF8.self)], publicKey: nil)
        for line in lines { check.add(line) }
        check.finish()
        return check.findings
    }
}
