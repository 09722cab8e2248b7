import Testing
import TestSupport
@_spi(Internals) @_spi(Operations) @testable import Traylog
@testable import TraylogDomain
@testable import TraylogWriter

/// Transactions with broadcasts that are refused, in one group with commands of subscribers.
@Suite struct RefusedBroadcastTests {
    /// A broadcast that never was must not count as one that was looked for: the next one has its seq.
    @Test func aSubscriberMissesNothingAfterARefusedTransaction() async throws {
        try await withStorePath { path in
            let store = try Store.open(path, options: options(isRelaxed: true))
            defer { store.close() }
            _ = try await store.perform(command("ann", .subscribe(topic: "news")))
            let shout = command(nil, .broadcast(topic: "news", Content(title: "To all")))
            let refused = Array(repeating: shout, count: 200) + [command("zoe", .mark(.read, [.seq(1)]))]
            for round in 1...sized(15, nightly: 1_000) {
                await withTaskGroup(of: Void.self) { group in
                    for caller in 0..<12 {
                        group.addTask { await Self.expectRefusal(store, refused) }
                        // Decided against ann's state, in the same group as the others or in another.
                        group.addTask { _ = try? await store.perform(command("ann", .unmute(.thread("t")))) }
                        group.addTask { _ = try? await store.perform(notify("zed\(caller)")) }
                    }
                }
                _ = try await store.perform(shout)
                let total = try await store.tray(of: "ann").total
                #expect(total == UInt64(round))
                guard total == UInt64(round) else { return }
            }
        }
    }

    /// It is looked for among all topics, but not by the writer, and no topic's state comes into memory.
    @Test(arguments: [false, true])
    func aRepeatedRetractionOfACompactedBroadcastIsADuplicate(isBlocking: Bool) async throws {
        try await withStorePath { path in
            var store = try Store.open(path, options: options(isRelaxed: true))
            for number in 0..<300 {
                _ = try await store.perform(command(nil, .broadcast(topic: "t\(number)", Content(title: "All"))))
            }
            let retract = Command(user: nil, .retract(.seq(7)), key: "k")
            let first = try #require(try await store.perform(retract).seq)
            let last = try #require(try await store.perform(notify("ann")).seq)
            let report = try await store.upkeep.compact(before: .seq(last))
            #expect(report.dropped > 0)
            await store.close()
            store = try Store.open(path, options: options(isRelaxed: true))
            await #expect(throws: TraylogError.self) { try await store.log.event(7) }
            if isBlocking {
                #expect(try synchronously { try store.perform(retract) } == .duplicate(first))
            } else {
                #expect(try await store.perform(retract) == .duplicate(first))
            }
            let source = try #require(store.queries.source as? LiveSource)
            #expect(source.memory.withLock { $0.store.directory.count } <= 2)
            for other in [
                Command(user: nil, .retract(.seq(7)), key: "other"), Command(user: nil, .retract(.seq(7))),
            ] {
                await #expect(throws: TraylogError.refused(.compacted(floor: last, archive: nil))) {
                    try await store.perform(other)
                }
            }
            // What the caller did not look for, the writer finds, too.
            let hasher = store.hasher
            let unlooked = PreparedCommands([retract], hasher: hasher)
            let outcome = Waiting.outcome { (answer: @escaping Waiting.Answer<[Result<Receipt, Refusal>]>) in
                store.writer.append(AppendRequest(unlooked, mode: .atomic, answer: answer))
            }
            #expect(try outcome.get() == [.success(.duplicate(first))])
            await store.close()
        }
    }

    private static func expectRefusal(_ store: Store, _ commands: [Command]) async {
        await #expect(throws: TraylogError.refused(.unknownItem(.seq(1)))) { try await store.perform(commands) }
    }

    @Test(arguments: StoreWay.allCases)
    func aRefusedTransactionLeavesNoSubscriptionOrBroadcast(way: StoreWay) throws {
        try TestedStore.with(way) { store in
            try store.act("ann", .subscribe(topic: "old"))
            let head = try store.store.head()
            let refused = [
                command(nil, .broadcast(topic: "new", Content(expiresAt: .at(5))), key: "k"),
                command("ann", .subscribe(topic: "new")), command("bob", .subscribe(topic: "new")),
                command(nil, .broadcast(topic: "new", Content())), command(nil, .broadcast(topic: "old", Content())),
                command("ann", .markAll(.read)), command("ann", .snooze(.seq(5), until: .at(5))),
                command("ann", .mark(.read, [.seq(99)])),
            ]
            #expect(throws: TraylogError.refused(.unknownItem(.seq(99)))) { try store.store.perform(refused) }
            #expect(try store.ask { try $0.head() } == head)
            #expect(try store.tick(10) == TickReport(head: head))
            #expect(try store.ask { try $0.users(limit: .max).elements } == ["ann"])
            #expect(try store.inbox("ann").isEmpty)
            let first = try store.broadcast("new", key: "k")
            let second = try store.broadcast("old")
            #expect(first.rawValue == head.rawValue + 1)
            #expect(try store.inbox("ann") == [second])
        }
    }
}
