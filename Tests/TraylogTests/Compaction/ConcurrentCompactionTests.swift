import Foundation
import Testing
import TestSupport
import TraylogPlatform
@_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogDomain
@testable import TraylogQueries

/// Compactions and erasures while threads append and query.
@Suite struct ConcurrentCompactionTests {
    @Test func aCompactionThatCannotKeepUpChangesNothing() throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store in
                _ = try store.perform((0..<2_000).map { notify("user\($0 % 50)") })
                _ = try store.perform(Command(user: "user1", .markAll(.deleted)))
                let burst = (0..<5_200).map { notify("busy\($0 % 100)") }
                var (calls, rounds) = (0, 0)
                let failed = try failure {
                    try store.compact(before: .seq(2_001), archive: nil, isDryRun: false) { _, total throws in
                        calls += 1
                        // At the start, and between two rounds that copy what came meanwhile.
                        if total == 0 { rounds += 1 }
                        if calls == 1 || total == 0 { _ = try store.perform(burst) }
                    }
                }
                #expect(failed?.code == .busy && failed?.message.contains("faster") == true, "\(failed?.message ?? "")")
                #expect(rounds > 20)
                #expect(try store.statistics().floor == .zero)
                #expect(StoreFiles.leftovers(in: path) == [])
                #expect(try store.tray(of: "user1").total == 0)
                try store.checkInvariants()
            }
        }
    }

    @Test(arguments: seeds(1, nightly: 40))
    func duringCompactionsEveryReceiptIsInTheLogAndAnswersCoverAllEvents(seed: UInt64) throws {
        try withStorePath { path in
            let archive = path + "-archive"
            try withStore(path, Traffic.settings(seed)) { store in
                let traffic = Traffic(store, seed: seed)
                try traffic.run(steps: sized(60, nightly: 800)) { round, random in
                    let head = try traffic.gathered().head.rawValue
                    let floor = Seq(head * UInt64(random.pick([20, 60, 90, 99, 100])) / 100)
                    _ = try store.compact(before: .seq(floor), archive: round % 3 == 0 ? archive : nil)
                }
                let log = try traffic.gathered()
                try traffic.checkReceipts(log)
                let naive = try log.naive(store)
                var comparison = try Comparison(store, naive, seed: seed)
                try comparison.check(users: naive.users() + ["nobody"], depth: .sample(6))
            }
            #expect(try findings(path) == [], "seed \(seed)")
        }
    }

    @Test(arguments: seeds(1, nightly: 30))
    func erasuresBesideWritersLoseNothingElse(seed: UInt64) throws {
        try withStorePath { path in
            let archive = path + "-archive"
            try withStore(path, Traffic.settings(seed)) { store in
                let traffic = Traffic(store, seed: seed ^ 0x657261)
                try traffic.run(steps: sized(60, nightly: 800)) { round, random in
                    let log = try traffic.gathered()
                    guard random.chance(50) else {
                        let floor = Seq(log.head.rawValue * UInt64(random.pick([20, 60, 90, 100])) / 100)
                        _ = try store.compact(before: .seq(floor), archive: archive)
                        return
                    }
                    let users = try store.users(limit: .max).elements
                    if !users.isEmpty { _ = try store.erase(random.pick(users)) }
                }
                let log = try traffic.gathered()
                #expect(log.head == (try store.head()))
                try traffic.checkReceipts(log)
            }
            #expect(try findings(path) == [], "seed \(seed)")
            #expect(try replay(path, rebuild: true).identical)
            #expect(try findings(path) == [], "seed \(seed), after a rebuild")
        }
    }

    @Test(arguments: seeds(1, nightly: 10))
    func readersInAnotherProcessSeeNoErrorButTheFloor(seed: UInt64) async throws {
        try await withStorePath { path in
            let store = try Store.open(path, options: Traffic.settings(seed))
            defer { store.close() }
            _ = try await store.perform((0..<200).map { notify("user\($0 % 9)", "\($0)") })
            let compactor = startThread("compactor") {
                var random = SeededRandom(seed: seed)
                do {
                    for round in 0..<sized(4, nightly: 60) {
                        let commands = (0..<40).map { notify("user\($0 % 9)", "\(round)") }
                        let receipts = try store.perform(commands)
                        let items = receipts.prefix(30).compactMap(\.seq)
                        for (index, item) in items.enumerated() {
                            let mark = Command(user: "user\(index % 9)", .mark(.deleted, [.seq(item)]))
                            _ = try store.perform(mark)
                        }
                        let head = try store.head().rawValue
                        _ = try store.compact(before: .seq(Seq(head - UInt64(random.below(40)))))
                    }
                } catch {
                    Issue.record(error)
                }
                _ = FileManager.default.createFile(atPath: path + ".stop", contents: nil)
            }
            await #expect(processExitsWith: .success) { [path = path as String] in try watchUntilStopped(path) }
            compactor.join()
        }
    }
}

/// Asks a reader until a file says that it is enough.
private func watchUntilStopped(_ path: String) throws {
    let reader = try StoreReader.open(path)
    var (head, rounds) = (Seq.zero, 0)
    while !FileManager.default.fileExists(atPath: path + ".stop") {
        rounds += 1
        let user = "user\(rounds % 9)"
        let tray = try reader.tray(of: user)
        precondition(tray.asOf >= head, "\(tray.asOf) after \(head)")
        head = tray.asOf
        _ = try reader.inbox(of: user)
        _ = try reader.threads(of: user)
        let events = try reader.events(from: head, limit: 100).elements
        _ = try reader.history(of: user, limit: .max).elements
        let floor = try reader.statistics().floor
        // Each question is answered as of its own moment: between two of them a compaction may take the newest event.
        precondition(events.first?.seq == head || floor >= head, "\(head) is not there, and the floor is \(floor)")
        let moment = Moment.seq(max(floor, 1))
        do throws(TraylogError) {
            _ = try reader.inbox(of: user, asOf: moment)
        } catch {
            guard case .refused(.compacted(let later, _)) = error else { throw error }
            precondition(later > floor, "the floor moved meanwhile")
        }
    }
    precondition(rounds > 0)
    reader.close()
}
