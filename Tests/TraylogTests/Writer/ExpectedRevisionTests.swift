import TestSupport
import Testing
@testable import Traylog
@testable import TraylogDomain

/// A command that expects a revision is stored only if nothing happened to its user or topic meanwhile.
@Suite struct ExpectedRevisionTests {
    private func withEvents(_ body: (Store) throws -> Void) throws {
        let store = try Store.temporary(options: options())
        defer { store.close() }
        _ = try store.perform([
            notify("ann", key: "k1"), notify("bob"), Command(user: "ann", .mark(.read, [.key("k1")])),
            Command(user: nil, .broadcast(topic: "news", Content(title: "All"))),
        ])
        try body(store)
    }

    private func refused(_ store: Store, _ command: Command, expecting revision: UInt64) throws -> Refusal? {
        try refusal { try store.perform(command.with(expectedRevision: revision)) }
    }

    /// Of every way that a command can take through the writer.
    private static let commands = [
        notify("ann"), notify("ann", key: "new"), Command(user: "ann", .markAll(.read)),
        Command(user: "ann", .mute(.thread("t"))), Command(user: "ann", .mark(.archived, [.seq(1)])),
        Command(user: "ann", .notify(Content(expiresAt: Timestamp(milliseconds: 4_000_000_000_000)))),
    ]

    @Test(arguments: commands)
    func onlyTheCurrentRevisionIsAccepted(command: Command) throws {
        try withEvents { store throws in
            for wrong: UInt64 in [0, 1, 3, .max] {
                #expect(
                    try refused(store, command, expecting: wrong) == .wrongRevision(expected: wrong, revision: 2))
            }
            #expect(try store.head() == 4)
            #expect(try store.perform(command.with(expectedRevision: 2)) == .appended(5))
            #expect(try store.tray(of: "ann").revision == 3)
            #expect(
                try refused(store, notify("ann"), expecting: 2) == .wrongRevision(expected: 2, revision: 3))
        }
    }

    @Test func aUserWithoutEventsHasRevisionZero() throws {
        try withEvents { store throws in
            #expect(try refused(store, notify("new"), expecting: 1) == .wrongRevision(expected: 1, revision: 0))
            #expect(try store.perform(notify("new").with(expectedRevision: 0)) == .appended(5))
            #expect(try refused(store, notify("new"), expecting: 0) == .wrongRevision(expected: 0, revision: 1))
        }
    }

    @Test func aRevisionWithoutAUserIsTheTopics() throws {
        try withEvents { store throws in
            let more = Command(user: nil, .broadcast(topic: "news", Content(title: "More")))
            #expect(try refused(store, more, expecting: 2) == .wrongRevision(expected: 2, revision: 1))
            #expect(try store.perform(more.with(expectedRevision: 1)) == .appended(5))
            let retract = Command(user: nil, .retract(.seq(4)))
            #expect(try refused(store, retract, expecting: 1) == .wrongRevision(expected: 1, revision: 2))
            #expect(try store.perform(retract.with(expectedRevision: 2)) == .appended(6))
            #expect(
                try refused(
                    store, Command(user: nil, .broadcast(topic: "other", Content(title: "First"))), expecting: 3)
                    == .wrongRevision(expected: 3, revision: 0))
        }
    }

    @Test func aWrongCommandAndAKnownKeyComeBeforeAnUnchangedTrayAfterIt() throws {
        try withEvents { store throws in
            let long = notify("ann", String(repeating: "x", count: Limits.titleBytes + 1))
            #expect(try refused(store, long, expecting: 9)?.code == .invalid)
            let unknown = Command(user: "ann", .mark(.read, [.seq(2)]))
            #expect(try refused(store, unknown, expecting: 9)?.code == .unknownItem)
            #expect(try refused(store, notify("ann", "Other", key: "k1"), expecting: 9)?.code == .keyConflict)
            // The key does not compare it.
            #expect(try store.perform(notify("ann", key: "k1").with(expectedRevision: 9)) == .duplicate(1))
            #expect(try store.perform(notify("ann", key: "k2").with(expectedRevision: 2)) == .appended(5))
            #expect(try store.perform(notify("ann", key: "k2").with(expectedRevision: 2)) == .duplicate(5))
            #expect(try store.perform(notify("ann", key: "k2")) == .duplicate(5))
            let unchanged = Command(user: "ann", .mark(.read, [.key("k1")]))
            #expect(try refused(store, unchanged, expecting: 9) == .wrongRevision(expected: 9, revision: 3))
            #expect(try store.perform(unchanged.with(expectedRevision: 3)) == .unchanged)
            // What happened to the item since is a consequence.
            let awake = Command(user: "ann", .wake(.key("k1")))
            #expect(try refused(store, awake, expecting: 9) == .wrongRevision(expected: 9, revision: 3))
            #expect(try refused(store, awake, expecting: 3) == .notSnoozed(1))
        }
    }

    @Test func inATransactionEachCommandCountsThoseBefore() throws {
        try withEvents { store throws in
            let commands = [notify("ann"), notify("bob"), notify("ann"), Command(user: "ann", .mute(.thread("t")))]
            let expecting = zip(commands, [2, 1, 3, 4] as [UInt64]).map { $0.with(expectedRevision: $1) }
            #expect(try store.perform(expecting).compactMap(\.seq) == [5, 6, 7, 8])
            let late = [notify("ann").with(expectedRevision: 5), notify("ann").with(expectedRevision: 5)]
            #expect(
                try refusal { try store.perform(late) } == .wrongRevision(expected: 5, revision: 6))
            #expect(try store.head() == 8)
            #expect(try store.perform(late[0]) == .appended(9))
        }
    }

    @Test func aReopenedStoreKnowsItsRevisions() throws {
        try withStorePath { path in
            for tailEvents in [1, 200_000] {
                for round in 0..<3 {
                    try withStore(path, options(tailEvents: tailEvents)) { store in
                        let present = try store.tray(of: "ann").revision
                        let wrong = Refusal.wrongRevision(expected: present + 1, revision: present)
                        #expect(try refused(store, notify("ann"), expecting: present + 1) == wrong)
                        let taken = try store.perform(notify("ann").with(expectedRevision: present))
                        #expect(taken.seq == Seq(present + 1), "round \(round)")
                    }
                }
            }
        }
    }
}
