import TestSupport
import Testing
import TraylogLMDB
@_spi(Operations) @_spi(JSON) @_spi(Replication) @testable import Traylog
@testable import TraylogStates

/// Records that one store decided, applied to another one.
@Suite struct ApplyTests {
    private static let position = SourcePosition(source: "TRAY", position: 7)

    /// Lends a store with some events of every kind that a stranger can bring, and an empty one.
    private func withPair(_ body: (Store, Store) throws -> Void) throws {
        let first = try Store.temporary(options: options())
        let second = try Store.temporary(options: options())
        defer {
            first.close()
            second.close()
        }
        var renaming = ContentEdit()
        renaming.title = .set("Everyone")
        try first.perform([
            command("ann", .subscribe(topic: "news")), notify("ann", "One", key: "k1"),
            command(nil, .broadcast(topic: "news", Content(title: "All", expiresAt: .at(5_000)))),
            notify("bob", String(repeating: "long ", count: 200), key: "k2"),
            command("bob", .notify(Content(body: String(repeating: "b", count: 16_000)))),
            command("ann", .snooze(.key("k1"), until: .at(9_000))),
            command("ann", .markAll(.read, ItemFilter())), command(nil, .edit(3, renaming)),
        ])
        _ = try first.tick(now: .at(10_000))
        _ = try first.perform(command("ann", .undo(event: 7)))
        try body(first, second)
    }

    @Test func appliedRecordsGiveTheSameBytesRootAndAnswers() throws {
        try withPair { first, second in
            let records = try first.records(after: 0)
            #expect(try second.apply(records, expecting: 0, source: Self.position) == first.head())
            second.checked()
            #expect(try second.records(after: 0) == records)
            #expect(try second.treeHead() == first.treeHead())
            #expect(try second.sourcePosition() == Self.position)
            for user in ["ann", "bob", "nobody"] {
                #expect(try second.tray(of: user) == first.tray(of: user))
                #expect(try second.inbox(of: user) == first.inbox(of: user))
                #expect(
                    try second.history(of: user, limit: .max).elements == first.history(of: user, limit: .max).elements)
            }
            // Keys are known, and nothing is left that would be due.
            #expect(try second.perform(notify("ann", "One", key: "k1")) == .duplicate(2))
            #expect(try second.tick(now: .at(20_000)).expired == 0)
        }
    }

    @Test func recordsComeInPagesWithoutAGap() throws {
        try withPair { first, second in
            var position = Seq.zero
            while true {
                let page = try first.records(after: position, limit: 3, bytes: 900)
                guard let last = page.last else { break }
                #expect(page.map(\.seq) == (position.rawValue + 1...last.seq.rawValue).map { Seq($0) })
                try second.apply(page, expecting: position)
                position = last.seq
            }
            #expect(try second.treeHead() == first.treeHead())
        }
    }

    @Test func aGapIsRefusedAndNamesTheEvent() throws {
        try withPair { first, second in
            let records = try first.records(after: 0)
            let ahead = failure { try second.apply(records, expecting: 4) }
            #expect(ahead?.code == .outOfSequence)
            #expect(ahead?.message.contains("event 4") == true)
            let gap = failure { try second.apply(Array(records.dropFirst()), expecting: 0) }
            #expect(gap?.code == .outOfSequence)
            #expect(gap?.message.contains("event 2 was given where event 1") == true)
            try second.apply(Array(records.prefix(5)), expecting: 0)
            #expect(failure { try second.apply(records, expecting: 0) }?.code == .outOfSequence)
            #expect(try second.head() == 5)
        }
    }

    @Test func anotherRootIsRefusedAndNamesTheEvent() throws {
        try withPair { first, second in
            let records = try first.records(after: 0)
            try second.apply(Array(records.prefix(4)), expecting: 0)
            let (right, wrong) = try (first.treeHead(asOf: .seq(4)).root, first.treeHead(asOf: .seq(3)).root)
            let refused = failure { try second.apply(Array(records.dropFirst(4)), expecting: 4, root: wrong) }
            #expect(refused?.code == .diverged)
            #expect(refused?.message.contains("event 4") == true)
            #expect(try second.head() == 4)
            try second.apply(Array(records.dropFirst(4)), expecting: 4, root: right)
            #expect(try second.treeHead() == first.treeHead())
        }
    }

    @Test func aLogThatWentItsOwnWayIsRefused() throws {
        try withPair { first, second in
            _ = try second.perform(notify("carl"))
            let records = try first.records(after: 1)
            let refused = failure { try second.apply(records, expecting: 1) }
            #expect(refused?.code == .diverged)
            #expect(refused?.message.contains("event 2") == true)
            #expect(try second.head() == 1)
            second.checked()
        }
    }

    @Test func aSourcePositionIsStoredWithItsRecordsOrAlone() throws {
        try withStorePath { path in
            let source = try Store.temporary(options: options())
            defer { source.close() }
            _ = try source.perform([notify("ann"), notify("ann"), notify("bob")])
            try withStore(path) { store in
                #expect(try store.sourcePosition() == nil)
                try store.apply(try source.records(after: 0), expecting: 0, source: Self.position)
                try store.apply([], expecting: 3, source: SourcePosition(source: "TRAY", position: 9))
                let back = failure { try store.apply([], expecting: 3, source: Self.position) }
                #expect(back?.code == .outOfSequence)
                let other = SourcePosition(source: "OTHER", position: 10)
                #expect(failure { try store.apply([], expecting: 3, source: other) }?.code == .diverged)
                #expect(try store.compact(before: .seq(3)).floor == 3)
            }
            #expect(try withReader(path) { try $0.sourcePosition()?.position } == 9)
        }
    }

    @Test func aRefusedGroupOfRecordsLeavesNothing() throws {
        try withPair { first, second in
            var records = try first.records(after: 0)
            records[6].bytes[50] ^= 1
            #expect(failure { try second.apply(records, expecting: 0, source: Self.position) }?.code == .damaged)
            #expect(try (second.head(), second.sourcePosition()?.position) == (0, nil))
            #expect(try second.users(limit: .max).elements == [])
            second.checked()
            try second.apply(try first.records(after: 0), expecting: 0)
            #expect(try second.treeHead() == first.treeHead())
        }
    }

    @Test(arguments: seeds(1, nightly: 100))
    func wrongBytesAreAnErrorAndStoreNothing(seed: UInt64) throws {
        try withPair { first, second in
            let records = try first.records(after: 0)
            var random = SeededRandom(seed: seed)
            for _ in 0..<60 {
                var wrong = records
                let index = random.below(wrong.count)
                switch random.below(4) {
                case 0: wrong[index].bytes.removeLast(random.between(1, wrong[index].bytes.count))
                case 1: wrong[index].bytes += [UInt8(random.below(256))]
                case 2: wrong[index].seq = Seq(UInt64(random.below(20)))
                default:
                    let byte = random.below(wrong[index].bytes.count)
                    wrong[index].bytes[byte] ^= UInt8(1 << random.below(8))
                }
                guard wrong != records else { continue }
                #expect(failure { try second.apply(wrong, expecting: 0) } != nil, "seed \(seed)")
                #expect(try second.head() == 0)
            }
            second.checked()
        }
    }

    @Test func aFollowerRepeatsAnErasureAndACompaction() throws {
        try withPair { first, second in
            let head = try first.head()
            try second.apply(try first.records(after: 0), expecting: 0)
            _ = try first.erase("bob")
            _ = try first.perform(notify("bob", "A newcomer"))
            let later = try first.records(after: head)
            // An erasure rewrites files, and shares a transaction with nothing.
            #expect(failure { try second.apply(later, expecting: head) }?.code == .unsupported)
            try second.apply([later[0]], expecting: head, source: Self.position)
            try second.apply([later[1]], expecting: head + 1)
            second.checked()
            #expect(try second.records(after: 0) == first.records(after: 0))
            #expect(try second.sourcePosition() == Self.position)
            #expect(failure { try second.apply([later[0]], expecting: head) }?.code == .outOfSequence)
            // A copy that lacks erased content can no longer get it.
            let third = try Store.temporary(options: options())
            defer { third.close() }
            let refused = failure { try third.apply(try first.records(after: 0), expecting: 0) }
            #expect(refused?.code == .unsupported)
            #expect(refused?.message.contains("event 4") == true)

            _ = try first.compact(before: .seq(head))
            try second.apply(try first.records(after: head + 2), expecting: head + 2)
            second.checked()
            #expect(try second.statistics().floor == head)
            #expect(try second.treeHead() == first.treeHead())
            #expect(
                try second.events(from: head, limit: .max).elements == first.events(from: head, limit: .max).elements)
        }
    }

    @Test func recordsThatLeftTheLogAreNamedWhenAskedFor() throws {
        try withPair { first, _ in
            _ = try first.perform(command("bob", .mark(.deleted, [4, 5])))
            _ = try first.compact(before: .seq(first.head()))
            let left = Set(try first.events(limit: .max).elements.map(\.seq))
            let missing = try #require((1...first.head().rawValue).map { Seq($0) }.first { !left.contains($0) })
            #expect(try first.records(after: 0).map(\.seq).last == Seq(missing.rawValue - 1) || missing == 1)
            #expect(throws: TraylogError.self) { try first.records(after: Seq(missing.rawValue - 1)).isEmpty }
        }
    }

    @Test func tasksApplyRecords() async throws {
        let (first, second) = (try Store.temporary(options: options()), try Store.temporary(options: options()))
        _ = try await first.perform(notify("ann"))
        let records = try await first.records(after: 0)
        let root = try await first.proofs.treeHead(asOf: .seq(0)).root
        #expect(try await second.apply(records, expecting: 0, root: root, source: Self.position) == 1)
        #expect(try await second.sourcePosition() == Self.position)
        await first.close()
        await second.close()
    }

    @Test(arguments: seeds(1, nightly: 50))
    func damagedBytesOfASourcePositionAreAnErrorAndNoTrap(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<2_000 {
            let bytes = (0..<random.below(24)).map { _ in UInt8(random.below(256)) }
            _ = try? SourceTable.decode(bytes)
        }
    }

    private func failure(_ body: () throws -> Seq) -> StoreFailure? {
        do {
            _ = try body()
        } catch TraylogError.failed(let failure) {
            return failure
        } catch {
            Issue.record("\(error)")
        }
        return nil
    }
}

extension Store {
    fileprivate func checked() {
        do { try checkInvariants() } catch { Issue.record("\(error)") }
    }
}
