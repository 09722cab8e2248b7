import Foundation
import TestSupport
import Testing
@_spi(Operations) @_spi(JSON) @_spi(Replication) import Traylog

/// A process that follows another store's log, killed at any moment: it goes on from the stored position, with no event
/// twice and none left out.
@Suite struct KilledFollowerTests {
    @Test(arguments: seeds(1, nightly: 20))
    func aKilledFollowerGoesOnFromItsPosition(seed: UInt64) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "traylog-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        var random = SeededRandom(seed: seed ^ 0x66_6f6c_6c6f)
        var run = try ModelRun(seed: seed, mix: HistoryMix.typical.with(.all)) {
            try Store.open(directory + "/leader", options: .tiny(tailEvents: 64, isRelaxed: true))
        }
        try run.play(steps: 400, checkEvery: 400)
        let leader = try #require(run.store as? Store)
        let head = try await leader.log.head()
        var (reached, stops): (Seq, Int) = (0, 0)
        while reached < head {
            let child = FollowingChild(
                directory: directory, seed: random.next(), isRelaxed: random.chance(30),
                microsecondsToLive: random.pick([10_000, 50_000, 150_000]))
            await #expect(processExitsWith: .signal(SIGKILL)) { [child = child as FollowingChild] in try child.run() }
            guard FileManager.default.fileExists(atPath: StoreFiles.data(of: directory + "/follower")) else { continue }
            try within("seed \(seed), from \(reached)") {
                guard let found = try check(directory + "/follower", leader) else { return }
                try expectSame(true, found >= reached, "the head, \(found)")
                if found > reached, found < head { stops += 1 }
                reached = found
            }
        }
        #expect(stops > 0, "seed \(seed): no child was killed on the way")
        try Store.open(directory + "/follower", options: .tiny(tailEvents: 64, isRelaxed: false)).closing { follower in
            var comparison = try Comparison(follower, run.naive, seed: seed)
            try comparison.check(users: run.naive.users(), depth: .sample(4))
        }
        run.store.close()
    }

    /// - Returns: how far the follower has come; nil when it was killed before it was a store.
    private func check(_ path: String, _ leader: Store) throws -> Seq? {
        let follower: Store
        do throws(TraylogError) {
            follower = try Store.open(path, options: .tiny(tailEvents: 64, isRelaxed: false))
        } catch {
            guard case .failed(let failure) = error, failure.code == .notFound else { throw error }
            return nil
        }
        defer { follower.close() }
        let head = try follower.head()
        try expectSame(head.rawValue, try follower.sourcePosition()?.position ?? 0, "position")
        try expectSame(try leader.treeHead(asOf: .seq(head)), try follower.treeHead(), "tree head")
        return head
    }
}

/// The work of a child process until it is killed: it reads the leader's log and applies it, in groups of any size.
struct FollowingChild: Codable, Sendable {
    var directory: String
    var seed: UInt64
    var isRelaxed: Bool
    /// Random up to this, from the opening on.
    var microsecondsToLive: Int

    func run() throws {
        var random = SeededRandom(seed: seed)
        let life = random.between(0, microsecondsToLive)
        let leader = try StoreReader.open(directory + "/leader")
        let follower = try Store.open(
            directory + "/follower", options: .tiny(tailEvents: 8, isRelaxed: isRelaxed))
        killSelf(afterMicroseconds: life)
        // Never all of the log in one life, however fast the machine is.
        for _ in 0..<random.between(1, 12) {
            let position = Seq(try follower.sourcePosition()?.position ?? 0)
            let records = try leader.records(after: position, limit: random.between(1, 12))
            guard let last = records.last else { break }
            try follower.apply(
                records, expecting: position, source: SourcePosition(source: "leader", position: last.seq.rawValue))
        }
        while true { sleep(1) }
    }
}
