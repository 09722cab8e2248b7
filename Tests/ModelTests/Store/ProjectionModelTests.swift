import Foundation
import Testing
import TestSupport
@_spi(Operations) import Traylog
import TraylogDomain

/// Random histories with projections that come and go: a value is always the fold of the log's first events.
@Suite struct ProjectionModelTests {
    @Test(arguments: seeds(2, nightly: 200))
    func aProjectionIsTheFoldOfTheLogUpToItsPosition(seed: UInt64) throws {
        try withTemporaryDirectory { directory in
            var history = ProjectedHistory(seed: seed, directory: directory + "/store")
            for _ in 0..<8 { try history.session() }
        }
    }
}

/// One store that is opened, written, projected and closed again and again.
private struct ProjectedHistory {
    private let seed: UInt64
    private let directory: String
    private var random: SeededRandom
    private var generator: HistoryGenerator
    private var naive = NaiveStore()

    init(seed: UInt64, directory: String) {
        self.seed = seed
        self.directory = directory
        random = SeededRandom(seed: ~seed)
        generator = HistoryGenerator(seed: seed, mix: .typical)
    }

    mutating func session() throws {
        var options = StoreOptions()
        options.durability = .relaxed
        options.tailEvents = random.pick([1, 20, 100_000])
        let store = try Store.open(directory, options: options)
        defer { store.close() }
        var main = try start(MainDigest.self, store)
        let second = try start(SecondDigest.self, store)
        for _ in 0..<random.between(1, 30) {
            try append(store)
            let head = try store.head()
            switch random.below(8) {
            case 0: expect(try main.value(), at: head, store)
            case 1: expect(try second.value(), at: head, store)
            case 2:
                let seq = Seq(UInt64(random.between(0, Int(head.rawValue))))
                #expect(try second.value(through: seq).last >= seq.rawValue, "seed \(seed)")
            case 3: try main.rebuild()
            case 4:
                main.stop()
                if random.chance(50) { try store.forgetProjection(named: "digest") }
                main = try start(MainDigest.self, store)
            case 5: check(try store.projected(MainDigest.self), store)
            default: check(main.latest, store)
            }
        }
        if random.chance(50) { second.stop() }
        check(second.latest, store)
        #expect(main.progress.failure == nil && second.progress.failure == nil, "seed \(seed)")
    }

    private mutating func start<Value: Projection>(_ type: Value.Type, _ store: Store) throws -> Projector<Value> {
        try store.project(type, storedEveryMilliseconds: random.pick([0, 1, 1_000]))
    }

    private mutating func append(_ store: Store) throws {
        for _ in 0..<random.between(1, 12) {
            guard case .command(let command) = generator.next(given: naive) else { continue }
            _ = naive.perform(command, now: generator.now)
            // The reason of the refusal does not matter here.
            do { _ = try store.perform(command) } catch TraylogError.refused {}
        }
    }

    private func expect<Label>(_ value: LogDigest<Label>, at head: Seq, _ store: Store) {
        do {
            // The store ticks by itself, so that the value may hold events that came after the question.
            #expect(value.last >= head.rawValue, "seed \(seed)")
            let events = try store.events(limit: Int(value.last)).elements
            #expect(value == LogDigest<Label>.folded(events), "seed \(seed), \(head)")
        } catch {
            Issue.record("seed \(seed): \(error)")
        }
    }

    private func check<Label>(_ projected: Projected<LogDigest<Label>>, _ store: Store) {
        do {
            let events = try store.events(limit: Int(projected.position.rawValue)).elements
            #expect(events.count == Int(projected.position.rawValue), "seed \(seed)")
            #expect(projected.value == LogDigest<Label>.folded(events), "seed \(seed), \(projected.position)")
        } catch {
            Issue.record("seed \(seed): \(error)")
        }
    }
}
