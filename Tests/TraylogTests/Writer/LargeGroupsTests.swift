import Testing
import TestSupport
import TraylogPlatform
@_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogDomain

/// Large batches of many callers, which fill transactions and flush states at the same time.
@Suite struct LargeGroupsTests {
    private static let callers = 4
    private static let batchCommands = 700

    @Test func aLargeGroupIsStoredWholeAndSeesEarlierDecisions() throws {
        try withStorePath { path in
            let store = try Store.open(path, options: options(tailEvents: 3_000, cacheBytes: 200_000))
            let isOver = Monitor(false)
            let reader = startThread("reader") { look(store, until: isOver) }
            let runs = Monitor<[ClosedRange<UInt64>]>([])
            let threads = (0..<Self.callers).map { caller in
                startThread("caller") {
                    for round in 0..<sized(4, nightly: 10) {
                        do { try append(to: store, caller, round, runs) } catch { Issue.record(error) }
                    }
                }
            }
            for thread in threads { thread.join() }
            isOver.withLock { $0 = true }
            reader.join()
            // Every event belongs to one batch, and each batch is one piece of the log.
            let sorted = runs.withLock { $0.sorted { $0.lowerBound < $1.lowerBound } }
            var next: UInt64 = 1
            for run in sorted {
                #expect(run.lowerBound == next)
                next = run.upperBound + 1
            }
            #expect(try store.head().rawValue == next - 1)
            store.close()
            #expect(try replay(path).identical)
        }
    }

    /// Users are everybody's, keys are the caller's: half of them come a second time in the next round.
    private func append(
        to store: Store, _ caller: Int, _ round: Int, _ runs: borrowing Monitor<[ClosedRange<UInt64>]>
    ) throws {
        var commands = (0..<Self.batchCommands).map { index in
            let number = round * Self.batchCommands / 2 + index
            return notify("user\(number % 97)", "Title", key: "\(caller)-\(number)")
        }
        commands[13] = Command(user: "user\(round)", .markAll(.read))
        commands[17] = Command(user: nil, .broadcast(topic: "news", Content(title: "Round \(round)")))
        commands[19] = Command(user: "user\(round)", .subscribe(topic: "news"))
        let receipts = try store.perform(commands)
        let seqs = receipts.compactMap { if case .appended(let seq) = $0 { seq.rawValue } else { nil } }
        let first = try #require(seqs.first)
        let last = try #require(seqs.last)
        #expect(last - first + 1 == UInt64(seqs.count))
        let repeated = receipts.count { if case .duplicate = $0 { true } else { false } }
        #expect(round == 0 ? repeated == 0 : repeated >= Self.batchCommands / 2 - 3)
        runs.withLock { $0.append(first...last) }
        #expect(try store.tray(of: "user\(round)").asOf.rawValue >= last)
    }

    private func look(_ store: Store, until isOver: borrowing Monitor<Bool>) {
        var (head, total): (Seq, Int) = (.zero, 0)
        while !isOver.withLock({ $0 }) {
            do {
                let tray = try store.tray(of: "user5")
                #expect(tray.total >= total && tray.asOf >= head && tray.unread <= tray.total)
                (head, total) = (try store.head(), tray.total)
                let newest = try store.inbox(of: "user7").elements.first?.seq ?? .zero
                #expect(try newest <= store.head())
            } catch {
                Issue.record(error)
                return
            }
        }
    }

    @Test func aGroupAnswersCommandsWithoutEvents() throws {
        try withStorePath { path in
            try withStore(path, options(tailEvents: 3_000)) { store in
                let commands = (0..<Self.batchCommands).map { notify("user\($0 % 50)", key: "k\($0)") }
                let first = try store.perform(commands)
                let threads = (0..<Self.callers).map { _ in
                    startThread("caller") {
                        for _ in 0..<6 {
                            let again = try? store.perform(commands)
                            #expect(again == first.map { .duplicate($0.seq ?? .zero) })
                        }
                    }
                }
                for thread in threads { thread.join() }
                #expect(try store.head().rawValue == UInt64(Self.batchCommands))
            }
        }
    }

    @Test func aFailedGroupLeavesNothingAndSparesOthers() throws {
        try withStorePath { path in
            var options = options(tailEvents: 2_000)
            options.mapSizeBytes = 2 << 20
            let acknowledged = Monitor<(events: UInt64, failures: Int)>((0, 0))
            let store = try Store.open(path, options: options)
            let threads = (0..<Self.callers).map { caller in
                startThread("caller") {
                    for round in 0..<12 {
                        let commands = (0..<Self.batchCommands).map { index in
                            notify("user\((index * 31 + round * 17 + caller) % 900)", "Title \(round)")
                        }
                        let receipts = try? store.perform(commands)
                        acknowledged.withLock { $0.events += UInt64(receipts?.count ?? 0) }
                        if receipts == nil { acknowledged.withLock { $0.failures += 1 } }
                    }
                }
            }
            for thread in threads { thread.join() }
            let (events, failures) = acknowledged.withLock { $0 }
            #expect(failures > 0 && events > UInt64(Self.batchCommands))
            #expect(try store.head().rawValue == events)
            store.close()
            options.mapSizeBytes = 64 << 20
            let reopened = try Store.open(path, options: options)
            #expect(try reopened.head().rawValue == events)
            _ = try reopened.perform((0..<Self.batchCommands).map { notify("new\($0)") })
            reopened.close()
            let report = try replay(path)
            #expect(report.identical)
            #expect(report.events == events + UInt64(Self.batchCommands))
        }
    }
}
