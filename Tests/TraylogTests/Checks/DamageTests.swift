import Foundation
import Synchronization
import Testing
import TestSupport
@testable import TraylogLMDB
@_spi(Internals) @_spi(Operations) @_spi(Replication) @testable import Traylog
@testable import TraylogChecks
@testable import TraylogDomain
@testable import TraylogLog
@testable import TraylogQueries
@testable import TraylogStates
@testable import TraylogWriter

/// Damage is named and never returned as data, and is repaired where the log allows it.
@Suite struct DamageTests {
    /// 300 items of "ann" and 20 of "bob", everything flushed; event 7 is ann's.
    private func withFilledStore(_ body: (String) throws -> Void) throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store in
                for index in 0..<300 {
                    _ = try store.perform(notify("ann", "Title \(index)", key: "k\(index)"))
                    if index % 15 == 0 { _ = try store.perform(notify("bob", key: "k\(index)")) }
                }
            }
            try body(path)
        }
    }

    private enum StateDamage: CaseIterable {
        case flippedByte, cutOff, garbage, empty
    }

    @Test(arguments: [0, 1, 2, 3])
    func aDamagedStateIsNamedAndMendedFromTheLog(kind: Int) throws {
        let kind = StateDamage.allCases[kind]
        try withFilledStore { path in
            try RawStore.change(path) { raw in
                let root = StateTable.key(try raw.stream(of: "ann"), .root, 0)
                try raw.change(raw.states, root) { value in
                    switch kind {
                    case .flippedByte: value[value.count / 2] ^= 0x10
                    case .cutOff: value.removeLast(value.count / 2)
                    case .garbage: value = (0..<200).map { UInt8(truncatingIfNeeded: $0 &* 37) }
                    case .empty: value = []
                    }
                }
            }
            #expect(try replay(path).difference?.contains("ann") == true)
            #expect(try findings(path).contains { $0.contains("ann") })
            // Folded from the log, as if nothing had happened.
            try withReader(path) { reader throws in
                #expect(try reader.statistics().damagedStates == 1)
                #expect(try reader.tray(of: "ann").total == 300)
                #expect(try reader.tray(of: "bob").total == 20)
            }
            try withStore(path) { store throws in
                #expect(try store.tray(of: "ann").total == 300)
                #expect(try store.inbox(of: "ann").elements.count == 20)
                #expect(try store.statistics().refoldedStates == 1)
                #expect(try store.tray(of: "bob").total == 20)
            }
            // And stored again.
            #expect(try findings(path).isEmpty)
            try expectMended(path)
        }
    }

    private final class Clock: Sendable {
        let seconds = Mutex<Int64>(0)
    }

    /// A search for a time meets events in the middle of the log, which have nothing to do with what is asked for.
    @Test(arguments: [[21], [11, 21, 31], Array(19...23), [1, 2, 40]])
    func timesAreFoundBesideDamagedEvents(damaged: [UInt64]) throws {
        try withStorePath { path in
            let clock = Clock()
            var options = options(isRelaxed: true)
            options.clock = { Timestamp(milliseconds: clock.seconds.withLock { $0 } * 1_000) }
            try withStore(path, options) { store in
                for second in 1...40 as ClosedRange<Int64> {
                    clock.seconds.withLock { $0 = second }
                    _ = try store.perform(notify("ann", "Title \(second)"))
                }
            }
            try RawStore.change(path) { raw in
                for seq in damaged { try raw.change(raw.log, RawStore.key(seq)) { $0[20] ^= 4 } }
            }
            func readable(upTo seq: UInt64) -> UInt64 { (0...seq).last { !damaged.contains($0) }! }
            func readable(after seq: UInt64) -> UInt64 { (seq + 1...41).first { !damaged.contains($0) }! }
            try withReader(path) { reader throws in
                for seq in 0...40 as ClosedRange<UInt64> {
                    let time = Timestamp(milliseconds: Int64(seq) * 1_000 + 500)
                    if readable(after: seq) == readable(upTo: seq) + 1 {
                        #expect(try reader.seq(of: .time(time)) == Seq(seq))
                    } else {
                        // Nobody knows whether it was before the time or after it.
                        #expect(throws: TraylogError.self) { try reader.seq(of: .time(time)) }
                    }
                    guard seq < 40 else { continue }
                    let filter = EventFilter(since: time, until: Timestamp(milliseconds: Int64(seq) * 1_000 + 1_500))
                    let range = readable(upTo: seq) + 1..<readable(after: seq + 1)
                    for newestFirst in [false, true] where damaged.allSatisfy({ !range.contains($0) }) {
                        let page = try reader.events(matching: filter, newestFirst: newestFirst)
                        #expect(page.elements.map(\.seq) == [Seq(seq + 1)])
                    }
                }
            }
        }
    }

    private func damageRoot(of user: String, in path: String) throws {
        try RawStore.change(path) { raw in
            try raw.change(raw.states, StateTable.key(try raw.stream(of: user), .root, 0)) { $0[$0.count / 2] ^= 0x10 }
        }
    }

    /// The fold reads the whole log: with the lock held, nobody would get an answer meanwhile.
    @Test func aDamagedStateIsFoldedAnewBetweenTwoTurnsOfTheLock() throws {
        let asks: [(String, (Store) throws -> Bool)] = [
            ("badge", { try $0.tray(of: "ann").total == 300 }),
            ("page", { try $0.inbox(of: "ann").elements.count == 20 }),
            ("mark", { try $0.perform(Command(user: "ann", .markAll(.read))) == .appended(321) }),
            ("repeated key", { try $0.perform(notify("ann", "Title 7", key: "k7")) == .duplicate(9) }),
        ]
        for (name, ask) in asks {
            try withFilledStore { path in
                try damageRoot(of: "ann", in: path)
                try withStore(path, options(isRelaxed: true)) { store in
                    let source = try #require(store.queries.source as? LiveSource)
                    func sections() -> Int { source.memory.withLock { $0.sections } }
                    let before = sections()
                    #expect(try ask(store), "\(name)")
                    // One turn meets the damage, one begins the fold, one ends it, and one answers.
                    #expect(sections() - before >= 5, "\(name)")
                    #expect(try store.statistics().refoldedStates == 1, "\(name)")
                    #expect(source.memory.withLock { !$0.store.refoldsLater })
                    try store.checkInvariants()
                    #expect(try store.tray(of: "ann").unread == (name == "mark" ? 0 : 300), "\(name)")
                    #expect(try store.tray(of: "bob").total == 20)
                }
                #expect(try findings(path).isEmpty, "\(name)")
            }
        }
    }

    @Test func manyWhoMeetOneDamagedStateFoldItOnce() throws {
        try withFilledStore { path in
            try damageRoot(of: "ann", in: path)
            try withStore(path, options(isRelaxed: true)) { store in
                let threads = (0..<6).map { number in
                    startThread("asker") {
                        do {
                            if number.isMultiple(of: 2) {
                                #expect(try store.tray(of: "ann").total >= 300)
                            } else {
                                _ = try store.perform(Command(user: "ann", .mark(.read, [.seq(Seq(UInt64(number)))])))
                            }
                        } catch { Issue.record(error) }
                    }
                }
                for _ in 0..<50 { _ = try store.perform(notify("bob")) }
                for thread in threads { thread.join() }
                #expect(try store.statistics().refoldedStates == 1)
                try store.checkInvariants()
            }
            #expect(try findings(path).isEmpty)
        }
    }

    @Test func whoMetADamagedStateBeforeItWasFoldedAnewAndChangedDoesNotFoldItAgain() throws {
        try withFilledStore { path in
            try damageRoot(of: "ann", in: path)
            try withStore(path, options(isRelaxed: true)) { store in
                let source = try #require(store.queries.source as? LiveSource)
                #expect(try store.tray(of: "ann").total >= 300)
                _ = try store.perform(Command(user: "ann", .mark(.read, [.seq(1)])))
                let found = try source.memory.withLock { memory in
                    try memory.store.stream(of: UserName("ann", memory.store.hasher))?.number
                }
                let stream = try #require(found)
                try source.memory.refold(stream)
                #expect(try store.statistics().refoldedStates == 1)
            }
        }
    }

    @Test func aMissingStateIsADifferenceThatARebuildMends() throws {
        try withFilledStore { path in
            try RawStore.change(path) { raw in
                try raw.delete(raw.states, StateTable.key(try raw.stream(of: "ann"), .root, 0))
            }
            #expect(try replay(path).difference?.contains("ann") == true)
            #expect(try findings(path).contains { $0.contains("ann") })
            try expectMended(path)
        }
    }

    @Test func aDamagedPageOfOldItemsIsNamedAndMended() throws {
        try withFilledStore { path in
            try RawStore.change(path) { raw in
                let page = try raw.firstKey(try raw.stream(of: "ann"), .page(.items))
                try raw.change(raw.states, page) { $0[$0.count / 2] ^= 1 }
            }
            try withStore(path) { store throws in
                #expect(try store.inbox(of: "ann").elements.count == 20)
                let deep = InboxQuery(cursor: Cursor(before: 10))
                let page = try store.inbox(of: "ann", deep).elements
                #expect(!page.isEmpty && page.allSatisfy { $0.seq < 10 })
                #expect(try store.threads(of: "ann").elements.map(\.count).reduce(0, +) == 300)
            }
            #expect(try findings(path).contains { $0.contains("ann") })
            try expectMended(path)
        }
    }

    @Test func aNameThatLeadsToAnotherUsersStateIsDamage() throws {
        try withFilledStore { path in
            try RawStore.change(path) { raw in
                try raw.put(raw.names, NameTable.key(user: "ann"), raw.value(raw.names, NameTable.key(user: "bob")))
            }
            #expect(try failure { try withStore(path) { try $0.tray(of: "ann") } }?.code == .damaged)
            #expect(try failure { try withReader(path) { try $0.tray(of: "ann") } }?.code == .damaged)
            #expect(try findings(path).contains { $0.contains("ann") })
            try expectMended(path)
        }
    }

    private func expectMended(_ path: String) throws {
        #expect(try replay(path, rebuild: true).identical)
        #expect(try replay(path).identical)
        #expect(try findings(path).isEmpty)
        try withStore(path) { store in
            let tray = try store.tray(of: "ann")
            #expect(tray.total == 300 && tray.unread == 300 && tray.newest == 320)
            // The data that identifies a command was derived again, too.
            #expect(try store.perform(notify("ann", "Title 3", key: "k3")) == .duplicate(5))
            #expect(try store.perform(notify("ann", "new")) == .appended(321))
        }
        #expect(try replay(path).identical)
    }
}

extension DamageTests {
    @Test func anUnflushedEventThatSaysThatItIsAnothersIsNamed() throws {
        try withFilledStore { path in
            try RawStore.change(path) { raw in
                var record = try raw.record
                record.states.through = 100
                try raw.environment.write { try record.write(raw.tables, to: &$0) }
                // Nobody would look for it in ann's tray, and nobody would look at it for bob's before he asks.
                let bob = try raw.stream(of: "bob")
                try raw.change(raw.log, RawStore.key(150)) { $0[8] = UInt8(bob.rawValue) }
            }
            let named = "event 150 is damaged"
            #expect(try failure { try withReader(path) { try $0.tray(of: "ann") } }?.message.contains(named) == true)
            #expect(try failure { try withStore(path) { try $0.tray(of: "ann") } }?.message.contains(named) == true)
        }
    }

    @Test(arguments: [0, 4, 9, 20, 40, -1])
    func aDamagedEventIsNamed(position: Int) throws {
        try withFilledStore { path in
            try RawStore.change(path) { raw in
                try raw.change(raw.log, RawStore.key(7)) { record in
                    record[position < 0 ? record.count + position : position] ^= 0x04
                }
            }
            try withStore(path) { try expectNamed(7, by: $0) }
            try withReader(path) { try expectNamed(7, by: $0) }
            #expect(try findings(path).contains { $0.contains("event 7 ") })
            // A fold of the log is not to be had, so nothing is replaced.
            #expect(try failure { try replay(path, rebuild: true) }?.message.contains("event 7 ") == true)
            #expect(try withStore(path) { try $0.tray(of: "ann").total } == 300)
        }
    }

    @Test func aMissingEventIsNamed() throws {
        try withFilledStore { path in
            try RawStore.change(path) { try $0.delete($0.log, RawStore.key(7)) }
            try withStore(path) { try expectNamed(7, by: $0) }
            try withReader(path) { try expectNamed(7, by: $0) }
            #expect(try findings(path).contains { $0.contains("event 7 ") })
            #expect(try failure { try replay(path) }?.message.contains("event 7 ") == true)
        }
    }

    @Test func aMissingEndOfTheLogIsDamage() throws {
        try withFilledStore { path in
            try RawStore.change(path) { try $0.delete($0.log, RawStore.key(320)) }
            #expect(try failure { try withStore(path) { _ in } }?.code == .damaged)
            #expect(try !findings(path).isEmpty)
        }
    }

    private func expectNamed(_ seq: UInt64, by store: some BlockingQueries) throws {
        let failures = [
            try failure { try store.events(limit: .max).elements },
            try failure { try store.events(from: Seq(seq), limit: 1).elements },
            try failure { try store.history(of: "ann", limit: .max).elements },
            try failure { try store.inbox(of: "ann", InboxQuery(limit: 3, cursor: Cursor(before: Seq(seq + 1)))) },
        ]
        for failure in failures {
            // Damage to the byte of the version looks like a newer one.
            #expect(failure.map { [.damaged, .newerFormat].contains($0.code) } == true)
            #expect(failure?.message.contains("event \(seq)") == true, "\(failure?.message ?? "no failure")")
        }
        #expect(try store.events(from: 1, limit: Int(seq) - 1).elements.count == Int(seq) - 1)
        #expect(try store.events(from: Seq(seq + 1), limit: .max).elements.count == 320 - Int(seq))
    }
}

extension DamageTests {
    @Test func aNewerFormatIsRefusedAndLeftAlone() throws {
        try withFilledStore { path in
            let key = Array("store".utf8)
            var newer: [UInt8] = []
            try RawStore.change(path) { raw in
                try raw.changeSealed(raw.tables.log.meta, key) { $0[0] = StoreRecord.format + 1 }
                newer = try raw.value(raw.tables.log.meta, key)
            }
            #expect(try failure { try withStore(path) { _ in } }?.code == .newerFormat)
            #expect(try failure { try withReader(path) { try $0.tray(of: "ann") } }?.code == .newerFormat)
            #expect(try failure { try replay(path) }?.code == .newerFormat)
            #expect(try findings(path).contains { $0.contains("newer version") })
            #expect(try failure { try replay(path, rebuild: true) }?.code == .newerFormat)
            try RawStore.change(path) { raw in
                let value = try raw.value(raw.tables.log.meta, key)
                #expect(value == newer)
            }
        }
    }

    @Test func aDamagedStoreRecordIsMended() throws {
        try withFilledStore { path in
            try RawStore.change(path) { try $0.change($0.tables.log.meta, Array("store".utf8)) { $0[3] ^= 1 } }
            #expect(try failure { try withStore(path) { _ in } }?.code == .damaged)
            #expect(try failure { try withReader(path) { try $0.tray(of: "ann") } }?.code == .damaged)
            try expectMended(path)
        }
    }

    /// A checksum can be right by chance, or be made right; the parser has to cope.
    @Test func aStateOfAnyBytesNeverEndsTheProcess() async throws {
        try await withStorePath { path in
            // The child's output before it ends: the seed and the reason.
            let words = path + "-words"
            try Data().write(to: URL(filePath: words))
            let result = await #expect(processExitsWith: .success) { [path = path as String, words = words as String] in
                let handle = try FileHandle(forWritingTo: URL(filePath: words))
                dup2(handle.fileDescriptor, STDERR_FILENO)
                for seed in seeds(15, nightly: 3_000) {
                    try FileHandle.standardError.write(contentsOf: Data("seed \(seed)\n".utf8))
                    try AnyBytes(path: "\(path)-\(seed)").check(seed)
                }
            }
            guard result == nil else { return }
            Issue.record("\(try String(contentsOfFile: words, encoding: .utf8).suffix(4_000))")
        }
    }
}

/// Changes bytes of stored states, makes their checksums right, and asks everything.
private struct AnyBytes {
    let path: String

    func check(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        try fill(&random)
        try RawStore.change(path) { raw in
            let stream = try raw.stream(of: "ann")
            for _ in 0..<random.between(1, 3) {
                let space = random.pick(weighted: [
                    (StateTable.Space.root, 5), (.page(.items), 2), (.page(.events), 1), (.page(.keys), 1),
                    (.page(.collapseKeys), 1),
                ])
                guard let key = try raw.firstKeyIfAny(stream, space) else { continue }
                try raw.changeSealed(raw.states, key) { bytes in
                    for _ in 0..<random.between(1, 4) where !bytes.isEmpty {
                        let place = random.below(bytes.count)
                        switch random.below(4) {
                        case 0: bytes[place] = UInt8(random.below(256))
                        case 1: bytes[place] ^= 1 << UInt8(random.below(8))
                        case 2: bytes.remove(at: place)
                        default: bytes.insert(UInt8(random.below(256)), at: place)
                        }
                    }
                }
            }
        }
        if let store = try? Store.open(path, options: options(isRelaxed: true)) {
            ask(store)
            let commands = [
                Command(user: "ann", .mark(.read, [.seq(3), .key("k9")])), notify("ann", key: "k5"), notify("ann"),
                Command(user: "ann", .seeTray()), Command(user: "ann", .markAll(.deleted, ItemFilter(category: "c1"))),
                Command(user: "ann", .markAll(.read)), Command(user: "ann", .markAll(.archived)),
            ]
            for command in commands { _ = try? store.perform(command) }
            ask(store)
            store.close()
        }
        if let reader = try? StoreReader.open(path) {
            ask(reader)
            reader.close()
        }
        _ = try? replay(path)
        _ = try? findings(path)
        #expect(try replay(path, rebuild: true).identical)
    }

    private func fill(_ random: inout SeededRandom) throws {
        try withStore(path, options(isRelaxed: true)) { store in
            var commands: [Command] = []
            for index in 0..<random.pick([3, 90, 400]) {
                var content = Content(title: "T", collapseKey: index % 11 == 0 ? "x\(index % 70)" : nil)
                content.category = random.chance(50) ? "c\(random.below(3))" : nil
                content.thread = random.chance(50) ? "t\(random.below(3))" : nil
                commands.append(Command(user: "ann", .notify(content), key: random.chance(70) ? "k\(index)" : nil))
                if random.chance(10) { commands.append(Command(user: "ann", .seeTray())) }
                if random.chance(2) {
                    commands.append(Command(user: "ann", .markAll(.read, ItemFilter(category: "c1"))))
                }
            }
            _ = try store.submit(commands, stopAtRefusal: false)
        }
    }

    private func ask(_ store: some BlockingQueries) {
        _ = try? store.tray(of: "ann")
        _ = try? store.threads(of: "ann")
        _ = try? store.history(of: "ann", limit: .max).elements
        _ = try? store.inbox(of: "ann", InboxQuery(ItemFilter(includeSilent: true), view: .archived, limit: 100))
        _ = try? store.inbox(of: "ann", InboxQuery(ItemFilter(includeSilent: true), limit: 100))
        _ = try? store.inbox(of: "ann", InboxQuery(limit: 100, cursor: Cursor(before: 30)))
        _ = try? store.statistics()
    }
}

extension RawStore {
    /// The key of the first row of a stream in `space`.
    func firstKey(_ stream: StreamID, _ space: StateTable.Space) throws -> [UInt8] {
        try #require(try firstKeyIfAny(stream, space))
    }

    func firstKeyIfAny(
        _ stream: StreamID, _ space: StateTable.Space, of table: Database? = nil
    ) throws -> [UInt8]? {
        let start = StateTable.key(stream, space, 0)
        let table = table ?? states
        return try environment.read { transaction in
            try transaction.withCursor(table) { cursor in
                guard try cursor.seek(RawSpan(_elements: start.span)) else { return nil }
                return cursor.withEntry { key, _ in
                    var bytes: [UInt8] = []
                    bytes.append(copying: key)
                    return bytes.starts(with: start.prefix(5)) ? bytes : nil
                }
            }
        }
    }
}
