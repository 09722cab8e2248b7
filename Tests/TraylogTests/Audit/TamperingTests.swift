import Testing
import TestSupport
@_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogAudit
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogDomain

/// Whatever an insider changes in the file, a tree head that was kept elsewhere tells, and the first place is named: the
/// event, or the 256 below a stored node among which it is.
@Suite struct TamperingTests {
    private static let seeds: UInt64 = sized(1, nightly: 40)

    /// A store with events of many kinds, some of them large; more than a tile of them.
    private func withStoreToTamper(
        seed: UInt64, stores: Bool = true, _ body: (String, TreeHead) throws -> Void
    ) throws {
        var random = SeededRandom(seed: seed)
        let size = UInt64(random.between(520, 900))
        try withStorePath { path in
            let head = try withStore(path, options(isRelaxed: true)) { store throws in
                var stored = UInt64(0)
                while try store.head().rawValue < size {
                    do {
                        _ = try store.perform((0..<40).map { _ in command(&random) })
                    } catch TraylogError.refused { continue }
                    // In pieces.
                    if stores, try store.head().rawValue > stored + 200 { stored = try store.storeTree().size }
                }
                if stores { try store.storeTree() }
                return try store.treeHead()
            }
            try body(path, head)
        }
    }

    private func command(_ random: inout SeededRandom) -> Command {
        let user = "u\(random.below(5))"
        let time = random.chance(20) ? Timestamp.at(Int64(random.below(1 << 40))) : nil
        let action: Command.Action =
            switch random.below(20) {
            case 0: .seeTray()
            case 1: .markAll(.read, ItemFilter())
            case 2: .mute(.thread("t\(random.below(3))"))
            case 3: .subscribe(topic: "rel")
            case 4: .broadcast(topic: "rel", Content(title: "To all"))
            case 5: .notify(Content(body: String(repeating: "long ", count: random.between(500, 2_000))))
            default: .notify(Content(thread: "t\(random.below(3))", title: "A title", body: "And a body"))
            }
        if case .broadcast = action { return Command(user: nil, action) }
        return Command(user: user, action, occurredAt: time)
    }

    private func verify(_ path: String, _ heads: [TreeHead]) throws -> VerificationReport {
        let kept = try heads.map { head in
            try KeptTreeHead("{\"treeSize\":\(head.size),\"rootHash\":\"\(head.root.hex)\"}")
        }
        return try Verification.run(directory: path, treeHeads: kept) { _, _ in }
    }

    @Test(arguments: Tampering.allCases)
    func theFirstTamperedPlaceIsNamed(kind: Tampering) throws {
        for seed in 0..<Self.seeds {
            try withStoreToTamper(seed: 1_000 + seed) { path, head in
                let sound = try verify(path, [head])
                #expect(sound.findings.isEmpty && sound.extends == [true], "seed \(seed)")
                var first: UInt64 = 0
                try RawStore.change(path) { raw in
                    var tamperer = Tamperer(raw: raw, head: head.size, random: SeededRandom(seed: seed))
                    first = try tamperer.perform(kind)
                }
                let report = try verify(path, [head])
                #expect(report.extends == [!kind.changesTheLog], "seed \(seed)")
                let named = report.firstDifference
                if first <= head.size / 256 * 256 || !kind.changesTheLog {
                    let tile = (first - 1) / 256 * 256 + 1
                    #expect(
                        named.map { $0 >= tile && $0 < tile + 256 } == true, "seed \(seed): \(first), \(named ?? 0)")
                } else {
                    // The nodes end before it: only an event that is missing or cannot be read is named.
                    #expect(named.map { $0 >= first } ?? true, "seed \(seed)")
                }
                let words = named.map { ["event \($0)", "events \($0)"] } ?? ["from 1 to \(head.size)"]
                #expect(report.findings.contains { finding in words.contains { finding.contains($0) } }, "seed \(seed)")
            }
        }
    }

    /// Nothing beside the log tells where, but further tree heads do.
    @Test func aTreeThatWasForgedAlongIsNotBelieved() throws {
        for seed in 0..<Self.seeds {
            try withStoreToTamper(seed: 2_000 + seed, stores: false) { path, head in
                var random = SeededRandom(seed: seed)
                let seq = UInt64(random.between(100, 400))
                let (before, after) = try withReader(path) { reader throws in
                    try (reader.treeHead(asOf: .seq(Seq(seq - 1))), reader.treeHead(asOf: .seq(Seq(seq))))
                }
                try RawStore.change(path) { raw in
                    let tamperer = Tamperer(raw: raw, head: head.size, random: random)
                    _ = try tamperer.changeSalt(seq)
                }
                // Made by the store itself, from the changed log.
                try withStore(path) { _ = try $0.storeTree() }
                let alone = try verify(path, [head])
                #expect(alone.extends == [false] && alone.firstDifference == nil)
                #expect(alone.findings.contains { $0.contains("from 1 to \(head.size)") }, "\(alone.findings)")
                let more = try verify(path, [head, before, after])
                #expect(more.extends == [false, true, false])
                #expect(more.findings.contains { $0.contains("from \(seq) to \(seq)") }, "\(more.findings)")
            }
        }
    }

    @Test func aLogThatOnlyGrewExtendsEveryTreeHeadOfItsOwn() throws {
        try withStoreToTamper(seed: 3) { path, _ in
            let heads = try withReader(path) { reader throws in
                try stride(from: UInt64(0), through: reader.head().rawValue, by: 37).map {
                    try reader.treeHead(asOf: .seq(Seq($0)))
                }
            }
            let report = try verify(path, heads.reversed())
            #expect(report.findings.isEmpty)
            #expect(!report.extends.contains(false))
        }
    }

    @Test func aTreeHeadOfAnotherLogIsNotExtended() throws {
        try withStoreToTamper(seed: 4) { path, head in
            let other = TreeHead(size: head.size, root: .ofEmptyTree)
            let later = TreeHead(size: head.size + 5, root: head.root)
            let report = try verify(path, [head, other, later])
            #expect(report.extends == [true, false, false])
            #expect(report.findings.count == 2)
            #expect(report.findings.last?.contains("ends with event \(head.size)") == true)
        }
    }
}
