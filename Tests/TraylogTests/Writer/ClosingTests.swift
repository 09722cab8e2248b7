import Foundation
import Testing
import TestSupport
import TraylogPlatform
@_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogDomain

/// Closing a store that others are using.
@Suite struct ClosingTests {
    @Test(arguments: seeds(1, nightly: 100))
    func everyBusyCallerGetsAReceiptThatHoldsOrHearsThatItIsClosed(seed: UInt64) async throws {
        try await withStorePath { path in
            var random = SeededRandom(seed: seed)
            let store = try Store.open(path, options: options(tailEvents: random.pick([1, 20, 200_000])))
            let receipts = Monitor<[String: Seq]>([:])
            let threads = (0..<8).map { thread in
                startThread("caller") {
                    for round in 0... {
                        let key = "\(thread)-\(round)"
                        do throws(TraylogError) {
                            guard let seq = try store.perform(notify("user\(round % 5)", key: key)).seq else {
                                continue
                            }
                            receipts.withLock { $0[key] = seq }
                        } catch {
                            expectIsClosed(error, seed)
                            return
                        }
                    }
                }
            }
            let tasks = (0..<8).map { task in
                Task {
                    for round in 0... {
                        let key = "task \(task)-\(round)"
                        do throws(TraylogError) {
                            guard let seq = try await store.perform(notify("user7", key: key)).seq else { continue }
                            receipts.withLock { $0[key] = seq }
                        } catch {
                            expectIsClosed(error, seed)
                            return
                        }
                    }
                }
            }
            try await Task.sleep(for: .milliseconds(random.below(60)))
            // Two at once, and one afterwards.
            let closer = startThread("closer") { store.close() }
            await store.close()
            closer.join()
            await store.close()
            for thread in threads { thread.join() }
            for task in tasks { await task.value }

            try expectClosed(store)
            try withStore(path) { reopened in
                let events = try reopened.events(limit: .max).elements
                let stored = Dictionary(
                    uniqueKeysWithValues: events.compactMap { event in
                        event.key.map { ($0, event.seq) }
                    })
                // Whoever got no receipt heard of it, so nothing else is there either.
                #expect(stored == receipts.withLock { $0 }, "seed \(seed)")
                #expect(events.map(\.seq.rawValue) == Array(1..<UInt64(events.count + 1)))
            }
            #expect(try replay(path).identical, "seed \(seed)")
        }
    }

    private func expectClosed(_ store: Store) throws {
        #expect(try failure { try store.perform(notify("ann")) }?.code == .closed)
        #expect(try failure { try store.perform([notify("ann"), notify("ann")]) }?.code == .closed)
        #expect(try failure { try store.tray(of: "user1") }?.code == .closed)
        #expect(try failure { try store.inbox(of: "user1") }?.code == .closed)
        #expect(try failure { try store.threads(of: "user1") }?.code == .closed)
        #expect(try failure { try store.history(of: "user1", limit: .max).elements }?.code == .closed)
        #expect(try failure { try store.events(limit: .max).elements }?.code == .closed)
        #expect(try failure { try store.users(limit: .max).elements }?.code == .closed)
        #expect(try failure { try store.head() }?.code == .closed)
        #expect(try failure { try store.statistics() }?.code == .closed)
    }

    @Test func aClosedReaderSaysSo() throws {
        try withStorePath { path in
            _ = try withStore(path) { try $0.perform(notify("ann")) }
            let reader = try StoreReader.open(path)
            #expect(try reader.tray(of: "ann").total == 1)
            reader.close()
            reader.close()
            #expect(try failure { try reader.tray(of: "ann") }?.code == .closed)
            #expect(try failure { try reader.head() }?.code == .closed)
            #expect(try failure { try reader.users(limit: .max).elements }?.code == .closed)
        }
    }

    @Test func aStoreThatIsDroppedIsClosed() throws {
        try withStorePath { path in
            for round in 1...3 {
                _ = try Store.open(path).perform(notify("ann"))
                #expect(try withReader(path) { try $0.tray(of: "ann").total } == UInt64(round))
            }
        }
    }
}

private func expectIsClosed(_ error: TraylogError, _ seed: UInt64) {
    guard case .failed(let failure) = error, failure.code == .closed else {
        Issue.record("seed \(seed): \(error)")
        return
    }
}
