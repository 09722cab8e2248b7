@_spi(Operations) import Traylog
import TraylogDomain

/// Plays a random history on a store and on the naive model, and compares them as it goes.
///
/// Every difference names the seed and the step, which are enough to play it again.
///
/// ```swift
/// var run = ModelRun(seed: 7, mix: .typical) { try Store.open(directory) }
/// try run.play(steps: 500, checkEvery: 50)
/// try run.finish()
/// ```
package struct ModelRun {
    package let seed: UInt64
    package private(set) var naive = NaiveStore()
    package private(set) var store: any StoreUnderTest
    private let open: () throws -> any StoreUnderTest
    private var generator: HistoryGenerator
    private var random: SeededRandom
    private var step = 0

    package init(seed: UInt64, mix: HistoryMix, open: @escaping () throws -> any StoreUnderTest) throws {
        self.seed = seed
        self.open = open
        store = try open()
        generator = HistoryGenerator(seed: seed, mix: mix)
        random = SeededRandom(seed: ~seed)
    }

    /// Plays steps one at a time; after every `checkEvery` of them the answers for some users are compared.
    ///
    /// - Parameter reopenPercent: how often the store is closed and opened before a comparison.
    package mutating func play(steps: Int, checkEvery: Int, reopenPercent: Int = 0) throws {
        for _ in 0..<steps {
            step += 1
            let next = generator.next(given: naive)
            try within("seed \(seed), step \(step)") {
                try within("\(next)") { try perform(next) }
                guard step % checkEvery == 0 else { return }
                if random.chance(reopenPercent) { try reopen() }
                try check(someUsers(3), depth: .sample(12))
            }
        }
    }

    /// Plays steps in batches of up to `size`, each as one transaction or, in turns, as one group.
    package mutating func playBatches(_ batches: Int, size: Int, checkEvery: Int) throws {
        for batch in 1...batches {
            step += 1
            // The commands are drawn from a copy that moves on, so that later ones meet earlier ones. All of them happen at
            // one time, as in the store: what one schedules must not have passed when a later one is drawn.
            let now = generator.now
            var ahead = naive
            var commands: [Command] = []
            for _ in 0..<random.between(1, size) {
                guard case .command(let command) = generator.next(given: ahead) else { continue }
                commands.append(command)
                _ = ahead.perform(command, now: now)
            }
            try within("seed \(seed), batch \(step)") {
                if random.chance(60) { try performTransaction(commands, now) } else { try submit(commands, now) }
                if batch % checkEvery == 0 { try check(someUsers(3), depth: .sample(8)) }
            }
        }
    }

    /// Compacts both, then compares some answers.
    ///
    /// - Parameters:
    ///   - percent: where the floor goes, of the log.
    ///   - steps: how many are played whenever the compaction says how far it is, at most.
    package mutating func compact(atPercent percent: Int, archive: String? = nil, playing steps: Int = 0) throws {
        step += 1
        guard let store = store as? any CompactedStore else { preconditionFailure("only a store can be compacted") }
        let head = naive.head.rawValue
        let floor = Seq(head * UInt64(percent) / 100)
        try within("seed \(seed), step \(step), compaction to \(floor)") {
            let before = Set(try store.events(from: 1, limit: .max).elements.map(\.seq))
            var run = self
            var found: (any Error)?
            let report = try within("compact") {
                do {
                    return try store.compact(before: floor, archive: archive) {
                        guard steps > 0, found == nil else { return }
                        run.naive.nextFloor = floor
                        do { try run.play(steps: run.random.between(0, steps), checkEvery: .max) } catch {
                            found = error
                        }
                    }
                } catch {
                    throw found ?? error
                }
            }
            if let found { throw found }
            self = run
            guard floor > max(naive.floor, 1) else {
                return try expectSame(head, try store.head().rawValue, "head without a compaction")
            }
            let dropped = before.subtracting(try store.events(from: 1, limit: .max).elements.map(\.seq))
            try expectSame(UInt64(dropped.count), report.dropped, "dropped")
            let left = naive.superfluous(below: floor).subtracting(naive.dropped).subtracting(dropped)
            try expectSame([], left.sorted(), "events that nobody needs and that are still there")
            naive.compact(to: floor, dropped: dropped, archive: report.archive, now: generator.now)
            try check(someUsers(3), depth: .sample(12))
        }
    }

    /// - Parameter body: runs while the store is closed.
    package mutating func reopen(after body: () throws -> Void = {}) throws {
        store.close()
        try within("seed \(seed), after step \(step)") { try body() }
        store = try open()
    }

    /// Goes on with another store, which holds the same events.
    package mutating func goOn(with other: any StoreUnderTest) {
        store.close()
        store = other
    }

    /// Compares all users with every query, then releases the store.
    package mutating func finish(users: Int = .max, depth: Comparison.Depth = .full) throws {
        try within("seed \(seed), after step \(step)") {
            try check(users == .max ? naive.users() + ["nobody"] : someUsers(users), depth: depth)
        }
        store.close()
    }
}

extension ModelRun {
    private mutating func perform(_ next: HistoryStep) throws {
        switch next {
        case .command(let command):
            let expected = naive.perform(command, now: generator.now)
            let found = try outcome { () throws(TraylogError) in try store.perform(command) }
            try expectSame(comparable(expected), comparable(found), "result")
            try store.checkInvariants()
        case .tick(let time):
            naive.tick(time, now: generator.now)
            try store.advance(to: time)
            try store.checkInvariants()
        }
    }

    private mutating func performTransaction(_ commands: [Command], _ now: Timestamp) throws {
        let before = try store.head()
        let expected = naive.perform(commands, now: now)
        let found = try outcome { () throws(TraylogError) in try store.perform(commands) }
        try expectSame(comparable(expected), comparable(found), "transaction of \(commands.count)")
        try store.checkInvariants()
        if case .failure = expected { try expectSame(before, try store.head(), "head after a refused transaction") }
    }

    private mutating func submit(_ commands: [Command], _ now: Timestamp) throws {
        let stopAtRefusal = random.chance(50)
        var expected: [Result<Receipt, Refusal>] = []
        for command in commands {
            expected.append(naive.perform(command, now: now))
            if case .failure = expected.last, stopAtRefusal { break }
        }
        let found = try store.submit(commands, stopAtRefusal: stopAtRefusal)
        try expectSame(expected.map(comparable), found.map(comparable), "group of \(commands.count)")
        try store.checkInvariants()
    }

    private mutating func check(_ users: [String], depth: Comparison.Depth) throws {
        var comparison = try Comparison(store, naive, seed: random.next())
        try comparison.check(users: users, depth: depth)
    }

    private mutating func someUsers(_ count: Int) -> [String] {
        let users = naive.users()
        // The first name is the heavy user's.
        return [generator.users[0]] + (0..<count - 1).map { _ in users.isEmpty ? "nobody" : random.pick(users) }
    }

    /// A refusal is an answer; everything else that a store throws ends the run.
    private func outcome<Value>(_ body: () throws(TraylogError) -> Value) throws -> Result<Value, Refusal> {
        do throws(TraylogError) {
            return .success(try body())
        } catch {
            guard case .refused(let refusal) = error else { throw error }
            return .failure(refusal)
        }
    }

    /// The result without the reason of an `invalid`, which is free text.
    private func comparable<Value>(_ result: Result<Value, Refusal>) -> Result<Value, Refusal> {
        result.mapError { refusal in
            guard case .invalid(let field, _) = refusal else { return refusal }
            return .invalid(field: field, reason: "")
        }
    }
}
