import TestSupport
import Testing
import TraylogPlatform
@_spi(Operations) @testable import Traylog

/// Holding and releasing a user, by many callers at once.
@Suite struct HoldTests {
    private func kinds(_ store: Store) throws -> [EventKind] {
        var filter = EventFilter()
        filter.user = "ann"
        filter.kinds = [.held, .released]
        return try store.events(matching: filter, limit: 1_000).elements.map(\.kind)
    }

    @Test func aHoldByManyAtOnceIsOneEvent() throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store in
                for round in 1...sized(20, nightly: 300) {
                    let receipts = Monitor<[Receipt]>([])
                    let threads = (0..<4).map { _ in
                        startThread("holder") {
                            guard let receipt = try? store.blocking.hold("ann") else { return }
                            receipts.withLock { $0.append(receipt) }
                        }
                    }
                    for _ in 0..<20 { _ = try store.perform(notify("ann")) }
                    for thread in threads { thread.join() }
                    let answers = receipts.withLock(\.self)
                    #expect(answers.count == 4 && answers.count { $0 == .unchanged } == 3, "round \(round): \(answers)")
                    _ = try store.blocking.release("ann")
                    #expect(try kinds(store).count == 2 * round)
                }
            }
        }
    }

    @Test func holdsAndReleasesOfManyTasksTakeTurnsInTheLog() async throws {
        try await withStorePath { path in
            let store = try Store.open(path, options: options(isRelaxed: true))
            await withTaskGroup(of: Void.self) { group in
                for task in 0..<8 {
                    group.addTask {
                        for _ in 0..<sized(25, nightly: 500) {
                            if task.isMultiple(of: 2) {
                                _ = try? await store.upkeep.hold("ann")
                            } else {
                                _ = try? await store.upkeep.release("ann")
                            }
                        }
                    }
                }
            }
            var filter = EventFilter()
            filter.user = "ann"
            let kinds = try await store.log.events(matching: filter, limit: 1_000).elements.map(\.kind)
            #expect(!kinds.isEmpty)
            for (index, kind) in kinds.enumerated() { #expect(kind == (index.isMultiple(of: 2) ? .held : .released)) }
            await store.close()
        }
    }
    @Test func whoIsHeldIsKnownFromNewEventsAlone() throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store in
                var random = SeededRandom(seed: 1)
                // Two of the names only look alike.
                let users = ["ann", "bob", "caf\u{E9}", "cafe\u{301}"]
                var known = LegalHolds()
                for _ in 0..<60 {
                    let user = random.pick(users)
                    if random.chance(50) {
                        _ = try store.blocking.hold(user)
                    } else {
                        _ = try? store.blocking.release(user)
                    }
                    if random.chance(30) { continue }
                    known = try store.blocking.legalHolds(since: known)
                    #expect(try known.through == store.blocking.legalHolds().through)
                    #expect(try known.events == store.blocking.legalHolds().events)
                    for user in users {
                        #expect(try known.hold(of: user) == store.blocking.hold(of: user))
                        #expect(try known.names.contains(Array(user.utf8)) == store.blocking.isHeld(user))
                    }
                }
            }
        }
    }
}
