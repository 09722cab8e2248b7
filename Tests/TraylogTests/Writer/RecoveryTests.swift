import Testing
import TestSupport
@_spi(Operations) @testable import Traylog
@testable import TraylogChecks
@testable import TraylogDomain
@testable import TraylogQueries

/// A store recovers after its writer was killed.
@Suite struct RecoveryTests {
    @Test func theUnflushedTailIsFoldedBeforeTheFirstAnswer() throws {
        // An idle writer flushes; one that is killed late enough for that is tried again.
        for _ in 0..<20 {
            let isDone = try withStorePath { path in
                let writer = try AppendingProcess(store: path)
                for index in 0..<300 { try writer.say(notify("user\(index % 5)", key: "k\(index)").jsonLine + "\n") }
                for _ in 0..<300 { _ = writer.hear() }
                writer.kill()
                let unflushed = try withReader(path) { reader in
                    try expectFilled(reader)
                    return try reader.statistics().unflushed
                }
                try withStore(path) { store throws in
                    #expect(try store.users(limit: .max).elements == (0..<5).map { "user\($0)" })
                    #expect(try store.perform(notify("user3", key: "k3")) == .duplicate(4))
                    try expectFilled(store)
                }
                #expect(try withReader(path) { try $0.statistics().unflushed } == 0)
                #expect(try replay(path).identical)
                return unflushed == 300
            }
            if isDone { return }
        }
        Issue.record("every writer had flushed before it was killed")
    }

    private func expectFilled(_ store: some BlockingQueries) throws {
        #expect(try store.head() == 300)
        for user in 0..<5 {
            let tray = try store.tray(of: "user\(user)")
            #expect(tray.total == 60 && tray.unseen == 60 && tray.newest == Seq(UInt64(296 + user)))
        }
    }

    @Test func aCleanCloseLeavesNoTail() throws {
        try withStorePath { path in
            try withStore(path) { store in
                for index in 0..<100 { _ = try store.perform(notify("user\(index % 7)")) }
            }
            #expect(try withReader(path) { try $0.statistics().unflushed } == 0)
        }
    }
}
