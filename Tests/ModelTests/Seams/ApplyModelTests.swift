import TestSupport
import Testing
@_spi(Operations) @_spi(Replication) import Traylog

/// Random histories that one store decides, applied to others in groups of any size.
@Suite struct ApplyModelTests {
    @Test(arguments: seeds(1, nightly: 150))
    func aFollowerHasTheSameBytesRootAndAnswers(seed: UInt64) throws {
        try follow(seed, .typical, rounds: 5, steps: 70)
    }

    @Test(arguments: seeds(1, nightly: 60))
    func aFollowerOfALargeTrayHasTheSameBytesRootAndAnswers(seed: UInt64) throws {
        try follow(seed, .heavy, rounds: 2, steps: 300)
    }

    @Test(arguments: seeds(1, nightly: 80))
    func aFollowerThatTakesOverDecidesAsTheLeaderWould(seed: UInt64) throws {
        try withTemporaryDirectory { directory in
            var run = try ModelRun(seed: seed, mix: HistoryMix.typical.with(.all)) {
                try Store.open(directory + "/0", options: .tiny())
            }
            // Whoever decided so far hands over to an empty store, which decides from then on.
            for next in 1...3 {
                try run.play(steps: sized(30, nightly: 60), checkEvery: sized(30, nightly: 60))
                let records = try #require(run.store as? Store).records(after: 0, limit: .max, bytes: .max)
                let follower = try Store.open("\(directory)/\(next)", options: .tiny())
                try follower.apply(records, expecting: 0)
                run.goOn(with: follower)
            }
            try run.finish()
        }
    }
}

private func follow(_ seed: UInt64, _ mix: HistoryMix, rounds: Int, steps: Int) throws {
    try withTemporaryDirectory { directory in
        var random = SeededRandom(seed: seed &+ 4_711)
        let steps = halved(steps)
        var run = try ModelRun(seed: seed, mix: mix.with(.all)) {
            try Store.open(directory + "/leader", options: .tiny())
        }
        var follower = try Store.open(directory + "/follower", options: .tiny())
        for round in 0..<rounds {
            try run.play(steps: steps, checkEvery: steps, reopenPercent: 20)
            let leader = try #require(run.store as? Store)
            try within("seed \(seed), round \(round)") {
                while try follower.head() < leader.head() {
                    let head = try follower.head()
                    let records = try leader.records(
                        after: head, limit: random.pick([1, 2, 7, 100]), bytes: random.pick([1, 3_000, 1 << 20]))
                    let root = random.chance(20) ? try leader.treeHead(asOf: .seq(head)).root : nil
                    let last = records[records.count - 1].seq
                    try follower.apply(
                        records, expecting: head, root: root,
                        source: SourcePosition(source: "log", position: last.rawValue))
                    try follower.checkInvariants()
                    if random.chance(10) {
                        follower.close()
                        follower = try Store.open(directory + "/follower", options: .tiny())
                        try expectSame(last.rawValue, follower.sourcePosition()?.position ?? 0, "position")
                    }
                }
                try expectSame(try leader.treeHead(), try follower.treeHead(), "tree head")
                try expectSame(
                    try leader.records(after: 0, limit: .max, bytes: .max),
                    try follower.records(after: 0, limit: .max, bytes: .max), "records")
                var comparison = try Comparison(follower, run.naive, seed: random.next())
                try comparison.check(users: run.naive.users() + ["nobody"], depth: .sample(3))
            }
        }
        follower.close()
        let replay = try Replay.run(directory: directory + "/follower") { _, _ in }
        try within("seed \(seed)") { try expectSame(nil, replay.difference, "replay") }
        run.store.close()
    }
}
