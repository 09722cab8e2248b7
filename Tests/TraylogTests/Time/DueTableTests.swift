import Testing
import TestSupport
import TraylogLMDB
@_spi(Internals) @_spi(Operations) @testable import Traylog
@testable import TraylogChecks
@testable import TraylogDomain
@testable import TraylogQueries
@testable import TraylogWriter

/// The stored due rows, and the rows that a tick looks at.
@Suite struct DueTableTests {
    @Test func aTickOfNothingStoresNothing() throws {
        try TestedStore.with(.evicted) { store throws in
            #expect(try store.tick(1_000) == TickReport())
            try store.notify("ann", Content(expiresAt: .at(10)))
            #expect(try store.tick(9) == TickReport(head: 1))
            store.close()
            let before = try withReader(store.path) { try $0.statistics().tables }
            #expect(try store.tick(9) == TickReport(head: 1))
            store.close()
            #expect(try withReader(store.path) { try $0.statistics().tables } == before)
        }
    }

    @Test func dueRowsAreGoneAfterTheirTick() throws {
        try TestedStore.with(.atHand) { store throws in
            for index in 0..<20 { try store.notify("ann", Content(expiresAt: .at(Int64(index)))) }
            for item in 1...3 { try store.act("ann", .snooze(.seq(Seq(UInt64(item))), until: .at(50))) }
            try store.act("ann", .retract(.seq(9)))
            #expect(try rows(store) == 23)
            #expect(try store.tick(9).expired == 9)
            #expect(try rows(store) == 13)
            #expect(try store.tick(49).expired == 10)
            // Of items that have expired meanwhile.
            #expect(try rows(store) == 3)
            #expect(try store.tick(50) == TickReport(head: store.store.head()))
            #expect(try rows(store) == 0)
        }
    }

    @Test func theDueRowOfADeletedItemStaysUntilItIsRestored() throws {
        try TestedStore.with(.atHand) { store throws in
            try store.notify("ann")
            try store.act("ann", .snooze(.seq(1), until: .at(5)))
            try store.act("ann", .mark(.deleted, [.seq(1)]))
            for _ in 0..<2 {
                _ = try store.tick(10)
                #expect(try rows(store) == 1)
            }
            try store.act("ann", .mark(.restored, [.seq(1)]))
            #expect(try store.tick(10).woken == 1)
            #expect(try rows(store) == 0)
        }
    }

    /// Users without due events are not even looked up.
    @Test func aTickLoadsOnlyThoseWhoHaveSomethingDue() throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store throws in
                let far = (0..<2_000).map { command("user\($0)", .notify(Content(expiresAt: .at(1_000_000)))) }
                _ = try store.perform(far)
                _ = try store.perform(
                    [3, 500, 1_999].map { command("user\($0)", .notify(Content(expiresAt: .at(5)))) })
            }
            try withStore(path, options(isRelaxed: true)) { store throws in
                #expect(try store.tick(now: .at(10)) == TickReport(expired: 3, head: 2_006))
                let source = try #require(store.queries.source as? LiveSource)
                #expect(source.memory.withLock { $0.store.directory.count } == 3)
                #expect(try store.statistics().entries(of: "due") == 2_000)
            }
        }
    }

    /// Some 500 rows share a transaction; those of one item and time are never parted.
    @Test func aTickOfManyItemsIsInOrderAcrossItsTransactions() throws {
        try withStorePath { path in
            let users = (0..<700).map { "user\(($0 * 37) % 700)" }
            try withStore(path, options(tailEvents: 300, isRelaxed: true)) { store throws in
                _ = try store.perform(users.map { command($0, .subscribe(topic: "news")) })
                _ = try store.perform((0..<450).map { command("ann", .notify(Content(expiresAt: .at(Int64($0 % 7))))) })
                let item = try #require(try store.perform(command(nil, .broadcast(topic: "news", Content()))).seq)
                _ = try store.perform(users.map { command($0, .snooze(.seq(item), until: .at(6))) })
                let head = try store.head()
                #expect(
                    try store.tick(now: .at(6))
                        == TickReport(woken: 700, expired: 450, head: Seq(head.rawValue + 1_150)))
                let events = try store.events(from: Seq(head.rawValue + 1), limit: .max).elements
                let expired = events.prefix(450).map(\.body)
                let expected = (701...1_150).sorted { (($0 - 701) % 7, $0) < (($1 - 701) % 7, $1) }
                #expect(expired == expected.map { .expired(item: Seq(UInt64($0))) })
                #expect(events.dropFirst(450).map { $0.user ?? "" } == users.sorted { Name($0) < Name($1) })
                #expect(try store.statistics().entries(of: "due") == 0)
            }
            #expect(try replay(path).identical)
        }
    }

    @Test func dueRowsSurviveAKilledWriterAndARebuild() throws {
        try withStorePath { path in
            let writer = try AppendingProcess(store: path)
            let commands = [
                command("ann", .notify(Content(title: "Soon", expiresAt: .at(10)))), notify("ann"),
                command("ann", .snooze(.seq(2), until: .at(20))), command("ann", .subscribe(topic: "news")),
                command(nil, .broadcast(topic: "news", Content(expiresAt: .at(30)))),
                command("ann", .snooze(.seq(5), until: .at(25))),
                command("ann", .notify(Content(expiresAt: .at(15)))), command("ann", .retract(.seq(7))),
            ]
            for command in commands { try writer.say(command.jsonLine + "\n") }
            for _ in commands { #expect(writer.hear()?.contains("appended") == true) }
            writer.kill()
            try withStore(path) { store throws in
                #expect(try store.tick(now: .at(10)) == TickReport(expired: 1, head: 9))
            }
            try withStore(path) { store throws in
                #expect(try store.tick(now: .at(20)) == TickReport(woken: 1, head: 10))
            }
            _ = try replay(path, rebuild: true)
            // Only what still holds.
            #expect(try withReader(path) { try $0.statistics().entries(of: "due") } == 2)
            try withStore(path) { store throws in
                #expect(try store.tick(now: .at(29)) == TickReport(woken: 1, head: 11))
                #expect(try store.tick(now: .at(30)) == TickReport(expired: 1, head: 12))
                #expect(try store.inbox(of: "ann").elements.map(\.seq) == [2])
            }
            #expect(try replay(path).identical)
        }
    }

    private func rows(_ store: TestedStore) throws -> UInt64 { try store.store.statistics().entries(of: "due") }
}

extension StoreStatistics {
    fileprivate func entries(of table: String) -> UInt64 { tables.first { $0.name == table }?.entries ?? 0 }
}
