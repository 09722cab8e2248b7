import Testing
import TestSupport
import Traylog
import TraylogDomain

/// The generator reaches the cases that it promises, and the comparison finds planted faults: neither may pass by doing nothing.
@Suite struct HistoryGeneratorTests {
    @Test func theSameSeedGivesTheSameHistory() {
        #expect(history(seed: 5, steps: 300).events == history(seed: 5, steps: 300).events)
        #expect(history(seed: 5, steps: 300).events != history(seed: 6, steps: 300).events)
    }

    @Test func randomNumbersAreThoseOfSplitMix64() {
        var random = SeededRandom(seed: 1_234_567)
        #expect([random.next(), random.next()] == [6_457_827_717_110_365_317, 3_203_168_211_198_807_973])
    }

    @Test func everyKindOfEventAndRefusalOccurs() {
        var kinds: Set<EventKind> = []
        var outcomes: [String: Int] = [:]
        var invalidFields: Set<String> = []
        for seed in UInt64(0)..<6 {
            var mix = (seed % 2 == 0 ? HistoryMix.typical : .crowded).with(.all)
            mix.invalidPercent = 10
            var naive = NaiveStore()
            var generator = HistoryGenerator(seed: seed, mix: mix)
            for _ in 0..<500 {
                let result = generator.advance(&naive)
                outcomes[name(of: result), default: 0] += 1
                if case .failure(.invalid(let field, _)) = result { invalidFields.insert(field) }
            }
            kinds.formUnion(naive.events.map(\.kind))
        }
        #expect(kinds == Set(EventKind.allCases).subtracting([.erased, .compacted, .held, .released, .lost, .audited]))
        let expected = [
            "appended", "unchanged", "duplicate", "invalid", "unknownItem", "itemGone", "notSnoozed", "upToBeyondHead",
            "unknownEvent", "notUndoable", "keyConflict", "wrongRevision", "alreadyActed",
        ]
        // An answer to an item that was edited since is rare here: AnswerModelTests has many.
        #expect(Set(outcomes.keys).subtracting(["changedSince"]) == Set(expected))
        #expect(outcomes["appended", default: 0] > 1_500, "\(outcomes)")
        #expect(outcomes["unchanged", default: 0] > 100, "\(outcomes)")
        #expect(invalidFields.isSuperset(of: ["user", "key", "items", "data", "title", "summaryArgument"]))
    }

    /// The eager states are a cache of the fold from scratch, at every seq.
    @Test(arguments: seeds(1, nightly: 40))
    func currentStatesEqualTheFoldFromTheFirstEvent(seed: UInt64) {
        var naive = NaiveStore()
        var generator = HistoryGenerator(seed: seed, mix: HistoryMix.typical.with(.all))
        var trays: [Seq: [String: Tray]] = [:]
        for _ in 0..<300 {
            generator.advance(&naive)
            trays[naive.head] = Dictionary(
                uniqueKeysWithValues: naive.current.keys.map { (String(reflecting: $0), naive.tray(of: $0.text)) })
        }
        for user in naive.users() {
            #expect(naive.state(of: user) == naive.state(of: user, asOf: naive.head))
            for (seq, tray) in trays {
                guard let then = tray[String(reflecting: Name(user))] else { continue }
                #expect(naive.tray(of: user, asOf: seq) == then, "seed \(seed), \(user) as of \(seq)")
            }
        }
    }

    private func history(seed: UInt64, steps: Int) -> NaiveStore {
        var naive = NaiveStore()
        var generator = HistoryGenerator(seed: seed, mix: HistoryMix.typical.with(.all))
        for _ in 0..<steps { generator.advance(&naive) }
        return naive
    }

    private func name(of result: Result<Receipt, Refusal>) -> String {
        switch result {
        case .success(.appended): "appended"
        case .success(.unchanged): "unchanged"
        case .success(.duplicate): "duplicate"
        case .failure(let refusal): refusal.code.rawValue
        }
    }
}
