import Foundation
import TestSupport
import Testing

@_spi(Operations) @_spi(Replication) @testable import Traylog
@testable import TraylogDomain
@testable import TraylogStates

/// A copy of a store that is opened for writing begins a history of its own, however the copy was made.
@Suite struct HistoryTests {
    private func append(_ count: Int, to path: String, _ settings: StoreOptions = options()) throws {
        try withStore(path, settings) { store in
            for number in 0..<count { _ = try store.perform(notify("ann", "\(number)")) }
        }
    }

    private func history(_ path: String) throws -> StoreHistory { try withReader(path) { try $0.storeHistory() } }

    private func forks(_ path: String) throws -> [Seq] { try history(path).forks.map(\.after) }

    /// Puts the files of an environment where they were before, without making new ones.
    private func put(_ files: [String: Data], in path: String) throws {
        for (name, bytes) in files {
            let file = try FileHandle(forWritingTo: URL(filePath: "\(path)/data-1/\(name)"))
            try file.truncate(atOffset: 0)
            try file.write(contentsOf: bytes)
            try file.close()
        }
    }

    private func files(_ path: String) throws -> [String: Data] {
        var files: [String: Data] = [:]
        for name in ["data.mdb", "journal"] {
            files[name] = FileManager.default.contents(atPath: "\(path)/data-1/\(name)")
        }
        return files
    }

    @Test(arguments: [false, true])
    func aStoreThatIsReopenedInItsPlaceKeepsItsHistory(isRelaxed: Bool) throws {
        try withStorePath { path throws in
            for _ in 0..<3 { try append(2, to: path, options(isRelaxed: isRelaxed)) }
            #expect(try forks(path).isEmpty)
            #expect(try withReader(path) { try $0.head() } == 6)
        }
    }

    @Test func aStoreThatIsMovedKeepsItsHistory() throws {
        try withStorePath { path throws in
            try append(2, to: path)
            try FileManager.default.moveItem(atPath: path, toPath: path + "-moved")
            try append(2, to: path + "-moved")
            #expect(try forks(path + "-moved").isEmpty)
        }
    }

    @Test func aBackupForksWhenItIsOpenedForWriting() throws {
        try withStorePath { path throws in
            try append(3, to: path)
            _ = try withReader(path) { try $0.backup(to: path + "-copy") }
            #expect(try forks(path + "-copy").isEmpty)
            try append(2, to: path + "-copy")
            #expect(try forks(path + "-copy") == [3])
            // It is the store now; opened again, it goes on.
            try append(2, to: path + "-copy")
            #expect(try forks(path + "-copy") == [3])
            #expect(try forks(path).isEmpty)
        }
    }

    @Test func aCopiedDirectoryForksWhenItIsOpenedForWriting() throws {
        try withStorePath { path throws in
            try append(3, to: path)
            try FileManager.default.copyItem(atPath: path, toPath: path + "-copy")
            try append(1, to: path + "-copy")
            #expect(try forks(path + "-copy") == [3])
        }
    }

    @Test func twoCopiesOfOneBackupHaveDifferentHistories() throws {
        try withStorePath { path throws in
            try append(3, to: path)
            for copy in ["-a", "-b"] {
                _ = try withReader(path) { try $0.backup(to: path + copy) }
                try append(1, to: path + copy)
            }
            #expect(try history(path + "-a").mark(at: 4) != history(path + "-b").mark(at: 4))
            #expect(try history(path + "-a").mark(at: 3) == history(path + "-b").mark(at: 3))
        }
    }

    @Test func anOlderDataFileInThePlaceOfTheNewerOneForks() throws {
        try withStorePath { path throws in
            try append(3, to: path)
            let old = try files(path)
            try append(3, to: path)
            try put(old, in: path)
            try append(5, to: path)
            #expect(try forks(path) == [3])
        }
    }

    @Test func aRelaxedStoreThatWasNotClosedForks() throws {
        try withStorePath { path throws in
            let store = try Store.open(path, options: options(isRelaxed: true))
            _ = try store.perform([notify("ann"), notify("ann")])
            let killed = try files(path)
            store.close()
            try put(killed, in: path)
            try append(1, to: path)
            #expect(try forks(path) == [2])
        }
    }

    @Test func anIncrementalBackupStaysACopyUntilItIsOpenedForWriting() throws {
        try withStorePath { path throws in
            try append(3, to: path)
            _ = try withReader(path) { try $0.backup(to: path + "-copy") }
            try append(2, to: path)
            _ = try withReader(path) { try $0.updateBackup(in: path + "-copy") }
            #expect(try forks(path + "-copy").isEmpty)
            try append(1, to: path + "-copy")
            #expect(try forks(path + "-copy") == [5])
            try append(1, to: path)
            #expect(throws: TraylogError.self) {
                try withReader(path) { try $0.updateBackup(in: path + "-copy") }
            }
        }
    }

    @Test func aRestoredExportBeginsTheHistoryOfANewStore() throws {
        try withStorePath { path throws in
            try append(3, to: path)
            try restore(try exported(path), to: path + "-restored")
            try append(1, to: path + "-restored")
            #expect(try forks(path + "-restored").isEmpty)
            _ = try withReader(path + "-restored") { try $0.backup(to: path + "-copy") }
            try append(1, to: path + "-copy")
            #expect(try forks(path + "-copy") == [4])
        }
    }

    @Test func compactionErasureAndRebuildKeepTheHistory() throws {
        try withStorePath { path throws in
            try append(3, to: path)
            _ = try withReader(path) { try $0.backup(to: path + "-copy") }
            try append(3, to: path + "-copy")
            let before = try history(path + "-copy")
            try withStore(path + "-copy") { store in
                _ = try store.perform(notify("bob"))
                _ = try store.perform([Command(user: "ann", .mark(.deleted, [.seq(1)]))])
                _ = try store.compact(before: .seq(6))
                try store.erase("bob")
            }
            _ = try replay(path + "-copy", rebuild: true)
            #expect(try history(path + "-copy") == before)
            try append(1, to: path + "-copy")
            #expect(try history(path + "-copy") == before)
            #expect(try findings(path + "-copy").isEmpty)
        }
    }

    // MARK: What names a history

    @Test func changesAreRefusedAfterAnEventThatTheCopyLacks() throws {
        try withStorePath { path throws in
            try append(2, to: path)
            _ = try withReader(path) { try $0.backup(to: path + "-copy") }
            try append(3, to: path)
            let (early, late) = try withReader(path) { reader in
                (try reader.changes(of: "ann", limit: 2), try reader.changes(of: "ann"))
            }
            try append(9, to: path + "-copy")
            try withStore(path + "-copy") { store in
                let lost = TraylogError.refused(.rewound(5, lastShared: 2))
                #expect(throws: lost) {
                    try store.changes(of: "ann", after: late.through, history: late.history)
                }
                let next = try store.changes(of: "ann", after: early.through, history: early.history)
                #expect(next.events.first?.seq == 3 && next.through == 11)
                #expect(try store.changes(of: "ann", after: next.through, history: next.history).events.isEmpty)
                #expect(try store.version(of: "ann") != withReader(path) { try $0.version(of: "ann") })
            }
        }
    }

    @Test func aVersionIsTheSameWhereACopyHasTheSameEvents() throws {
        try withStorePath { path throws in
            try append(2, to: path)
            _ = try withReader(path) { try $0.backup(to: path + "-copy") }
            let before = try withReader(path) { try $0.version(of: "ann") }
            try withStore(path + "-copy") { _ = try $0.perform(notify("bob")) }
            #expect(try withReader(path + "-copy") { try $0.version(of: "ann") } == before)
        }
    }

    @Test func cursorsOfItemsThatTheCopyLacksAreRefused() throws {
        try withStorePath { path throws in
            try append(4, to: path)
            _ = try withReader(path) { try $0.backup(to: path + "-copy") }
            try append(4, to: path)
            typealias Cursors = (
                inbox: TraylogDomain.Cursor?, threads: TraylogDomain.Cursor?, snapshot: SnapshotCursor?
            )
            func cursors(limit: Int) throws -> Cursors {
                try withStore(path) { store in
                    _ = try store.perform(Command(user: "ann", .notify(Content(thread: "t", title: "A"))))
                    let (inbox, threads) = (
                        try store.inbox(of: "ann", InboxQuery(limit: limit)), try store.threads(of: "ann", limit: 1)
                    )
                    return (inbox.next, threads.next, try store.snapshot(of: "ann", limit: 1).next)
                }
            }
            let (late, early) = (try cursors(limit: 2), try cursors(limit: 8))
            try append(20, to: path + "-copy")
            try withStore(path + "-copy") { store in
                func isRewound(_ body: () throws -> Void) -> Bool {
                    do {
                        try body()
                        return false
                    } catch TraylogError.refused(.rewound(_, lastShared: 4)) {
                        return true
                    } catch {
                        return false
                    }
                }
                let (inbox, threads, snapshot) = (
                    try #require(late.inbox), try #require(late.threads), try #require(late.snapshot)
                )
                #expect(isRewound { _ = try store.inbox(of: "ann", InboxQuery(cursor: inbox)) })
                #expect(isRewound { _ = try store.threads(of: "ann", cursor: threads) })
                #expect(isRewound { _ = try store.snapshot(of: "ann", cursor: snapshot) })
                let rest = try store.inbox(of: "ann", InboxQuery(cursor: early.inbox))
                #expect(rest.elements.map(\.seq) == [2, 1])
            }
        }
    }

    @Test func anArchiveOfEventsThatARestoreLostIsRefused() throws {
        try withStorePath { path throws in
            let (archives, copy) = (path + "-archives", path + "-copy")
            try withStore(path) { store in
                _ = try store.perform((0..<6).map { notify("ann", "\($0)") })
                _ = try store.perform([Command(user: "ann", .mark(.deleted, [.seq(1), .seq(2)])), notify("ann")])
                try store.blocking.backup(to: copy)
                #expect(try store.compact(before: .seq(8), archive: archives).dropped > 0)
            }
            // The copy has these events, too.
            _ = try withReader(copy) { try $0.archives(in: archives) }
            try withStore(path) { store in
                _ = try store.perform((0..<6).map { notify("ann", "later \($0)") })
                _ = try store.perform([Command(user: "ann", .mark(.deleted, [.seq(10), .seq(11)])), notify("ann")])
                #expect(try store.compact(before: .seq(17), archive: archives).dropped > 0)
            }
            try withStore(copy) { store in
                _ = try store.perform((0..<20).map { notify("ann", "instead \($0)") })
                let failure = try failure { try store.archives(in: archives) }
                #expect(failure?.code == .foreignFile && failure?.message.contains("restored from a copy") == true)
            }
            _ = try withReader(path) { try $0.archives(in: archives) }
        }
    }

    /// Histories of copies of copies: what somebody read is valid in a store exactly if the store has the same event.
    @Test(arguments: seeds(1, nightly: 40))
    func aMarkIsHeldExactlyWhereTheEventIsTheSame(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        try withStorePath { path throws in
            var stores = [path + "-0"]
            try append(random.between(1, 5), to: stores[0])
            var read: [(seq: Seq, mark: String, records: [LogRecord])] = []
            for _ in 0..<30 {
                let store = random.pick(stores)
                switch random.below(3) {
                case 0:
                    try append(random.between(1, 4), to: store)
                case 1 where stores.count < 8:
                    let copy = "\(path)-\(stores.count)"
                    _ = try withReader(store) { try $0.backup(to: copy) }
                    stores.append(copy)
                    if random.chance(70) { try append(random.between(0, 3), to: copy) }
                default:
                    try withReader(store) { reader in
                        let (history, head) = (try reader.storeHistory(), try reader.head())
                        let seq = Seq(UInt64(random.between(1, Int(head.rawValue))))
                        read.append(
                            (seq, history.mark(at: seq), try reader.records(after: 0, limit: Int(seq.rawValue))))
                    }
                }
            }
            for store in stores {
                try withReader(store) { reader in
                    let (history, head) = (try reader.storeHistory(), try reader.head())
                    for place in read where place.seq <= head {
                        let own = try reader.records(after: 0, limit: Int(place.seq.rawValue))
                        let holds = history.holds(place.mark, at: place.seq)
                        #expect(holds == (own == place.records), "seed \(seed), \(store), event \(place.seq)")
                        guard !holds, let last = history.lastShared(with: place.mark) else { continue }
                        let count = Int(last.rawValue)
                        #expect(own.prefix(count) == place.records.prefix(count), "seed \(seed), \(store), \(last)")
                    }
                }
            }
        }
    }
}
