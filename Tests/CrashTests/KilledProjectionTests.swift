import Foundation
import Testing
import TestSupport
@_spi(Operations) import Traylog
import TraylogDomain

/// A process that embeds the store and projects its log, killed at any moment: value and position always agree.
@Suite struct KilledProjectionTests {
    @Test(arguments: seeds(1, nightly: 12))
    func aKilledProjectionIsTheFoldOfTheLogUpToItsPosition(seed: UInt64) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "traylog-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        var random = SeededRandom(seed: seed ^ 0x666f_6c64)
        var resumed = 0
        var round = 0
        // On a busy machine some rounds end before anything is stored: more of them, then.
        while round < sized(4, nightly: 60) || resumed == 0 {
            round += 1
            let child = ProjectingChild(
                directory: directory, seed: random.next(), isRelaxed: random.chance(30),
                milliseconds: random.pick([0, 0, 20]), microsecondsToLive: random.pick([20_000, 100_000, 400_000]))
            await #expect(processExitsWith: .signal(SIGKILL)) { [child = child as ProjectingChild] in try child.run() }
            guard FileManager.default.fileExists(atPath: StoreFiles.data(of: directory + "/store")) else { continue }
            resumed += try within("seed \(seed), round \(round)") { try check(directory + "/store") }
        }
    }

    /// - Returns: the number of projections that resume from a stored value.
    private func check(_ path: String) throws -> Int {
        let store = try Store.open(path)
        defer { store.close() }
        let events = try store.events(limit: .max).elements
        for stored in try store.storedProjections() {
            #expect(stored.damage == nil)
            #expect(stored.position.rawValue <= UInt64(events.count))
        }
        return try check(MainDigest.self, store, events) + check(SecondDigest.self, store, events)
            + check(Weighted<Growing>.self, store, events)
    }

    private func check<Value: Projection & Equatable>(
        _ type: Value.Type, _ store: Store, _ events: [Event]
    ) throws -> Int {
        let projector = try store.project(type)
        let origin = projector.progress.origin
        #expect(try projector.value() == Value.folded(events))
        projector.stop()
        switch origin {
        case .resumed: return 1
        case .new: return 0
        default: throw Difference(path: [Value.name], expected: "what was stored, or nothing", found: "\(origin)")
        }
    }
}

/// A value that soon needs more than one transaction, and shrinks now and then.
enum Growing: Weight {
    static let bytesPerEvent = 3_000
}

/// The work of a child process until it is killed: it appends, and folds, rebuilds and forgets three projections.
struct ProjectingChild: Codable, Sendable {
    var directory: String
    var seed: UInt64
    var isRelaxed: Bool
    /// Between two storings.
    var milliseconds: Int
    /// Random up to this, from the opening on.
    var microsecondsToLive: Int

    func run() throws {
        var random = SeededRandom(seed: seed)
        let life = random.between(0, microsecondsToLive)
        var options = StoreOptions()
        options.durability = isRelaxed ? .relaxed : .durable
        let store = try Store.open(directory + "/store", options: options)
        killSelf(afterMicroseconds: life)
        let main = try store.project(MainDigest.self, storedEveryMilliseconds: milliseconds)
        let second = try store.project(SecondDigest.self, storedEveryMilliseconds: milliseconds)
        var weighted = try store.project(Weighted<Growing>.self, storedEveryMilliseconds: milliseconds)
        while true {
            let count = random.between(1, 60)
            let user = random.chance(2) ? "shrink" : "user\(random.below(9))"
            _ = try store.perform((0..<count).map { Command(user: user, .notify(Content(title: "\($0)"))) })
            switch random.below(12) {
            case 0: try main.rebuild()
            case 1: try weighted.rebuild()
            case 2: _ = try second.value()
            case 3:
                weighted.stop()
                if random.chance(30) { try store.forgetProjection(named: "weighted") }
                weighted = try store.project(Weighted<Growing>.self, storedEveryMilliseconds: milliseconds)
            default: break
            }
        }
    }
}
