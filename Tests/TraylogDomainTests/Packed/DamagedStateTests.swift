import TestSupport
import Testing

@testable import TraylogDomain

/// States that decode but come from no fold: queries and further folds may answer anything or throw, but must terminate.
@Suite struct DamagedStateTests {
    /// Returns random pages, whatever page was asked for.
    private struct RandomSource: StateSource {
        let pages: [ItemPage]
        let keyPages: [KeyIndex.Page]

        init(_ random: inout SeededRandom) {
            pages = (0..<4).map { _ in random.itemPage() }
            keyPages = (0..<4).map { _ in random.keyPage() }
        }

        func items(at position: UInt64) -> ItemPage? { pages[Int(position % 4)] }
        func keys(_ space: PageSpace, at identity: UInt64) -> KeyIndex.Page? { keyPages[Int(identity % 4)] }
        func events(from seq: UInt64) -> EventIndex.Page? { nil }
        func event(_ seq: UInt64) -> Event {
            Event(seq: Seq(seq), recordedAt: Timestamp(milliseconds: 0), user: "ann", body: .notified(Content()))
        }
    }

    @Test(arguments: UInt64(0)..<40)
    func damageNeverTraps(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<20 {
            let bytes = random.mutated(random.root().packed)
            guard var state = try? bytes.unpacked(TrayState.init(from:)) else { continue }
            let source = RandomSource(&random)
            _ = try? state.tray(of: "ann", asOf: 1, source: source)
            _ = try? state.threads(asOf: 1, limit: 3, cursor: nil, source: source)
            let query = InboxQuery(ItemFilter(text: "a"))
            _ = try? state.shownItems(query, of: "ann", hasher: Script.hasher, stored: source)
            for _ in 0..<100 {
                let fact = fact(after: state, &random)
                guard (try? state.apply(fact, stored: source)) != nil else { break }
            }
            _ = state.packed
            for page in state.pages { _ = page.packed }
        }
    }

    private func fact(after state: TrayState, _ random: inout SeededRandom) -> Fact {
        let seq = state.appliedSeq + 1
        var fact = Fact(seq: seq, kind: random.chance(60) ? .notified : random.pick(Array(EventKind.allCases)))
        fact.mark = UInt8(random.below(7))
        fact.category = random.pick(state.categories.map(\.category) + [.absent, .absent, random.name()])
        fact.thread = random.pick([0, 0, 1])
        fact.collapse = random.pick([0, 1, random.name()])
        fact.key = random.name()
        fact.target = random.pick([0, seq, .max, random.number()] + state.tail.entries.map(\.seq).prefix(3))
        fact.items = [random.number(), seq]
        return fact
    }
}
