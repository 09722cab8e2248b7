import TestSupport
import Testing
@_spi(Operations) @testable import Traylog
@testable import TraylogDomain

/// Each stream counts its events, whatever happens to the log.
@Suite struct RevisionTests {
    private func revisions(_ events: [Event]) -> [UInt64] { events.map(\.revision) }

    private func command(_ user: String?, _ action: Command.Action, expecting revision: UInt64? = nil) -> Command {
        Command(user: user, action, expectedRevision: revision)
    }

    private func broadcast(_ topic: String = "news") -> Command {
        command(nil, .broadcast(topic: topic, Content(title: "All")))
    }

    @Test func usersAndTopicsCountTheirOwnEvents() throws {
        let store = try Store.temporary(options: options())
        defer { store.close() }
        var edit = ContentEdit()
        edit.title = .set("Everyone")
        _ = try store.perform([
            broadcast(), command("ann", .subscribe(topic: "news")), notify("bob"), broadcast(),
            command(nil, .edit(.seq(1), edit)), notify("ann"), command("ann", .unsubscribe(topic: "news")),
            command("bob", .subscribe(topic: "old")),
        ])
        let events = try store.events(from: 1, limit: .max).elements
        #expect(revisions(events) == [1, 1, 1, 2, 3, 2, 3, 2])
        #expect(events[1].body == .subscribed(topic: "news", topicRevision: 1))
        #expect(events[6].body == .unsubscribed(topic: "news", topicRevision: 3))
        #expect(events[7].body == .subscribed(topic: "old", topicRevision: 0))
        #expect(try store.tray(of: "ann").revision == 3)
        #expect(try store.tray(of: "ann", asOf: .seq(6)).revision == 2)
        #expect(try store.tray(of: "nobody").revision == 0)
    }

    @Test(arguments: [1, 200_000])
    func compactionBackupExportAndRestoreKeepRevisions(tailEvents: Int) throws {
        try withStorePath { path in
            let before = try withStore(path, options(tailEvents: tailEvents)) { store in
                for index in 0..<40 {
                    _ = try store.perform(notify(index % 3 == 0 ? "bob" : "ann", key: "k\(index)"))
                    if index % 4 == 0 { _ = try store.perform(broadcast()) }
                    if index == 7 { _ = try store.perform(command("ann", .subscribe(topic: "news"))) }
                    if index % 5 == 4 {
                        _ = try store.perform(command("ann", .mark(.deleted, [.key("k\(index / 3 * 3 - 2)")])))
                    }
                }
                return try store.events(from: 1, limit: .max).elements
            }
            #expect(try restore(exported(path), to: path + "-restored").head == Seq(UInt64(before.count)))
            #expect(try withReader(path + "-restored") { try $0.events(from: 1, limit: .max).elements } == before)
            try withStore(path, options(tailEvents: tailEvents)) { store in
                #expect(try store.compact(before: .seq(45)).dropped > 0)
                let after = try store.events(from: 1, limit: .max).elements
                #expect(after.dropLast().allSatisfy(before.contains))
                #expect(after.last?.kind == .compacted && after.last?.revision == 0)
                let (ann, news) = (try store.tray(of: "ann").revision, before.last { $0.user == nil }?.revision ?? 0)
                #expect(ann == before.last { $0.user == "ann" }?.revision)
                _ = try store.perform([notify("ann"), broadcast()])
                let newest = try store.events(from: 1, limit: .max).elements.suffix(2)
                #expect(revisions(Array(newest)) == [ann + 1, news + 1])
                try store.backup(to: path + "-copy")
            }
            #expect(try findings(path).isEmpty)
            try withStore(path + "-copy") { store in
                let ann = try store.tray(of: "ann").revision
                _ = try store.perform(notify("ann"))
                #expect(try store.tray(of: "ann").revision == ann + 1)
            }
            #expect(try findings(path + "-copy").isEmpty)
        }
    }

    @Test(arguments: [1, 200_000])
    func anErasureKeepsRevisionsAndANameUsedAgainBeginsAtOne(tailEvents: Int) throws {
        try withStorePath { path in
            try withStore(path, options(tailEvents: tailEvents)) { store in
                _ = try store.perform([notify("ann"), notify("bob"), notify("ann"), notify("bob"), notify("ann")])
                _ = try store.erase("ann")
                let erased = try store.history(of: "erased-1", limit: .max).elements
                #expect(revisions(erased) == [1, 2, 3, 4] && erased.last?.kind == .erased)
                #expect(try store.tray(of: "ann").revision == 0)
                _ = try store.perform([notify("ann"), notify("bob")])
                let newest = try store.events(from: 1, limit: .max).elements.suffix(2)
                #expect(revisions(Array(newest)) == [1, 3])
            }
            #expect(try findings(path).isEmpty)
            #expect(try replay(path).identical)
            try withStore(path) { store in
                _ = try store.perform(notify("ann"))
                #expect(try store.tray(of: "ann").revision == 2)
            }
        }
    }
}
