import Testing
import TestSupport
@_spi(Operations) @testable import Traylog
@_spi(Operations) @testable import TraylogChecks
@testable import TraylogDomain

/// Several commands as one transaction.
@Suite struct BatchTests {
    @Test func fiveThousandCommandsAreOneTransaction() throws {
        try withStorePath { path in
            let commands = (0..<5_000).map { notify("user\($0 % 700)", "Title \($0)") }
            try withStore(path) { store in
                let receipts = try store.perform(commands)
                #expect(receipts == (1...5_000).map { .appended(Seq(UInt64($0))) })
                #expect(try store.head() == 5_000)
                #expect(Set(try store.events(limit: .max).elements.map(\.recordedAt)).count == 1)
                #expect(try store.users(limit: .max).elements.count == 700)
                #expect(try store.tray(of: "user3").total == 8)
                // The last command is refused, and nothing of all the others stays.
                let refused = commands + [Command(user: "nobody", .mark(.read, [.seq(1)]))]
                #expect(throws: TraylogError.refused(.unknownItem(.seq(1)))) { try store.perform(refused) }
                #expect(try store.head() == 5_000)
                #expect(try store.tray(of: "user3").total == 8)
            }
            #expect(try replay(path).identical)
        }
    }

    /// A batch is rolled back with all its effects on the writer's memory, whatever else is in the group.
    @Test(arguments: [1, 4, 200_000])
    func aRefusedBatchLeavesNoTraceOfItsNewUsers(tailEvents: Int) throws {
        try withStorePath { path in
            let refused = Command(user: "eve", .mark(.read, [.seq(1_000)]))
            try withStore(path, options(tailEvents: tailEvents, isRelaxed: true)) { store in
                _ = try store.perform(notify("ann"))
                for round in 0..<5 {
                    let batch = [
                        notify("new\(round)"), notify("ann", key: "k\(round)"), notify("newer\(round)"),
                        Command(user: "new\(round)", .seeTray()), Command(user: "ann", .markAll(.read)), refused,
                    ]
                    #expect(throws: TraylogError.self) { try store.perform(batch) }
                    #expect(
                        try store.users(limit: .max).elements == (0..<round).reduce(["ann"]) { $0 + ["newer\($1)"] })
                    #expect(try store.tray(of: "new\(round)").total == 0)
                    #expect(try store.history(of: "newer\(round)", limit: .max).elements.isEmpty)
                    // The key is free, and the first event of the newcomer finds a number of its own.
                    let head = try store.head().rawValue
                    #expect(try store.perform(notify("newer\(round)")) == .appended(Seq(head + 1)))
                    #expect(try store.perform(notify("ann", key: "k\(round)")) == .appended(Seq(head + 2)))
                    #expect(try store.tray(of: "newer\(round)").total == 1)
                    #expect(try store.tray(of: "ann").unread == UInt64(round + 2))
                }
            }
            #expect(try replay(path).identical)
            #expect(try findings(path).isEmpty)
        }
    }

    @Test func anEmptyBatchStoresNothing() throws {
        try withStorePath { path in
            let receipts = try withStore(path) { try $0.perform([]) }
            #expect(receipts.isEmpty)
        }
    }
}
