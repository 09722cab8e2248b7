import Testing
import TestSupport
import TraylogPlatform
@_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogDomain
@testable import TraylogLog
@testable import TraylogWriter

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

    private static let large = "\"" + String(repeating: "x", count: 60_000) + "\""
    private static let largeCommands: [Command] = [
        Command(user: "ann", .notify(Content(title: "t", data: large))),
        Command(user: nil, .broadcast(topic: "news", Content(title: "t", data: large))),
        Command(
            user: "ann",
            .edit(
                .seq(1),
                {
                    var edit = ContentEdit()
                    edit.data = .set(large)
                    return edit
                }())),
        Command(user: "ann", .mark(.read, (1...1_000).map { .seq(Seq(UInt64($0))) })),
    ]

    @Test(arguments: largeCommands)
    func aTransactionIsBoundedWhateverTheCommandsAre(command: Command) {
        let hasher = IdentityHasher(key0: 1, key1: 2)
        var queue = WriterQueue()
        for _ in 0..<1_000 {
            queue.appends.append(AppendRequest(PreparedCommands([command], hasher: hasher), mode: .atomic) { _ in })
        }
        let taken = queue.takeAppends()
        let bytes = command.largestEventBytes
        #expect(bytes > 5_000)
        #expect(taken.count * bytes <= Writer.groupBytes + bytes && (taken.count + 2) * bytes >= Writer.groupBytes)
        let others = queue.takeAppends(besides: 1, Writer.groupBytes - bytes / 2)
        #expect(others.isEmpty)
    }

    @Test func everyWindowOfALargeRequestFindsItsStreams() throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store in
                // Newcomers of one window are known in the next one.
                let commands = (0..<1_000).map { notify("user\($0 % 300)", "\($0)") }
                let receipts = try store.perform(commands)
                #expect(receipts == (1...1_000).map { .appended(Seq(UInt64($0))) })
                for user in [0, 99, 100, 299] {
                    #expect(try store.tray(of: "user\(user)").total == (user < 100 ? 4 : 3))
                }
                #expect(try store.users(limit: .max).elements.count == 300)
            }
            #expect(try replay(path).identical)
        }
    }

    @Test(arguments: seeds(5, nightly: 200))
    func aBatchKnowsItsSizeAfterEachChange(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var batch = RecordBatch(firstSeq: 7)
        var sizes: [Int] = []
        for _ in 0..<200 {
            if random.chance(20), !sizes.isEmpty {
                let kept = random.below(sizes.count)
                batch.truncate(from: 7 + UInt64(kept))
                sizes.removeLast(sizes.count - kept)
            } else {
                let payload = [UInt8](repeating: 5, count: random.pick([20, 200, 3_000, 9_000]))
                let before = batch.byteCount
                batch.append(
                    payload: RawSpan(_elements: payload.span), kind: .notified, stream: 1,
                    revision: UInt32(sizes.count + 1), recordedAt: .at(1), occurredAt: nil, salt: Salt(1, 2))
                sizes.append(batch.byteCount - before)
                #expect(sizes.last ?? 0 >= payload.count, "seed \(seed)")
            }
            #expect(batch.byteCount == sizes.reduce(0, +), "seed \(seed)")
        }
        batch.reset(firstSeq: 1)
        #expect(batch.byteCount == 0)
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
