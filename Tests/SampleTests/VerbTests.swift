import Testing
import Traylog

/// Every command is a method of a store and of `Command`, with the same labels; threads notify, and perform the others.
@Suite struct VerbTests {
    private static let edit = ContentEdit(title: .set("Edited"))
    private static let later = Timestamp.now + .seconds(3_600)
    private static let seqs: [Seq] = [1, 2]

    private static let commands: [Command] = [
        .notify("ann", title: "1", body: "b", thread: "t", category: "c", level: .passive, data: "{}", key: "k"),
        .notify("ann", Content(title: "2"), key: "second"), .subscribe("ann", to: "releases"),
        .broadcast(to: "releases", Content(title: "3"), key: "third"), .edit("k", of: "ann", edit),
        .mark(.read, 1, 2, of: "ann"), .mark(.unread, seqs, of: "ann"), .mark(.archived, ["k", .seq(2)], of: "ann"),
        .markAll(.seen, of: "ann", ItemFilter(thread: "t", categories: ["c"]), upTo: 1), .undo(8, of: "ann"),
        .snooze(1, of: "ann", until: later), .wake(1, of: "ann"), .mute(.thread("t"), of: "ann"),
        .unmute(.thread("t"), of: "ann"), .seeTray(of: "ann", upTo: 4), .unsubscribe("ann", from: "releases"),
        .retract("second", of: "ann"),
    ]

    @Test func aVerbStoresWhatItsCommandStores() async throws {
        try await Store.withTemporary { store in
            let (edit, later, seqs) = (Self.edit, Self.later, Self.seqs)
            try await store.notify(
                "ann", title: "1", body: "b", thread: "t", category: "c", level: .passive, data: "{}", key: "k")
            try await store.notify("ann", Content(title: "2"), key: "second")
            try await store.subscribe("ann", to: "releases")
            try await store.broadcast(to: "releases", Content(title: "3"), key: "third")
            try await store.edit("k", of: "ann", edit)
            try await store.mark(.read, 1, 2, of: "ann")
            try await store.mark(.unread, seqs, of: "ann")
            try await store.mark(.archived, ["k", .seq(2)], of: "ann")
            try await store.markAll(.seen, of: "ann", ItemFilter(thread: "t", categories: ["c"]), upTo: 1)
            try await store.undo(8, of: "ann")
            try await store.snooze(1, of: "ann", until: later)
            try await store.wake(1, of: "ann")
            try await store.mute(.thread("t"), of: "ann")
            try await store.unmute(.thread("t"), of: "ann")
            try await store.seeTray(of: "ann", upTo: 4)
            try await store.unsubscribe("ann", from: "releases")
            try await store.retract("second", of: "ann")
            try await expectTheEventsOfTheCommands(store)
        }
    }

    @Test func aThreadStoresWhatItsCommandsStore() async throws {
        try await Store.withTemporary { store in
            try Self.performBlocking(store)
            try await expectTheEventsOfTheCommands(store)
        }
    }

    private static func performBlocking(_ owner: Store) throws {
        let store = owner.blocking
        try store.notify(
            "ann", title: "1", body: "b", thread: "t", category: "c", level: .passive, data: "{}", key: "k")
        try store.notify("ann", Content(title: "2"), key: "second")
        try store.perform(.subscribe("ann", to: "releases"))
        try store.perform(.broadcast(to: "releases", Content(title: "3"), key: "third"))
        try store.perform(.edit("k", of: "ann", edit))
        try store.perform(.mark(.read, 1, 2, of: "ann"))
        try store.perform(.mark(.unread, seqs, of: "ann"))
        try store.perform(.mark(.archived, ["k", .seq(2)], of: "ann"))
        try store.perform(.markAll(.seen, of: "ann", ItemFilter(thread: "t", categories: ["c"]), upTo: 1))
        try store.perform(.undo(8, of: "ann"))
        try store.perform(.snooze(1, of: "ann", until: later))
        try store.perform(.wake(1, of: "ann"))
        try store.perform(.mute(.thread("t"), of: "ann"))
        try store.perform(.unmute(.thread("t"), of: "ann"))
        try store.perform(.seeTray(of: "ann", upTo: 4))
        try store.perform(.unsubscribe("ann", from: "releases"))
        try store.perform(.retract("second", of: "ann"))
    }

    private func expectTheEventsOfTheCommands(_ store: Store) async throws {
        try await Store.withTemporary { expected in
            for command in Self.commands { try await expected.perform(command) }
            let head = try await expected.log.head()
            #expect(try await store.log.head() == head && head == Seq.zero + Self.commands.count)
            for seq in 1...UInt64(head) {
                let (one, other) = (try await store.log.event(Seq(seq)), try await expected.log.event(Seq(seq)))
                #expect(one.body == other.body && one.user == other.user && one.key == other.key)
            }
        }
    }

    @Test func aSliceOfAPageIsMarkedWithoutConvertingIt() async throws {
        try await Store.withTemporary { store in
            for number in 1...5 { try await store.notify("ann", title: "\(number)") }
            let items = try await store.inbox(of: "ann").elements
            try await store.mark(.read, items.prefix(3).lazy.map(\.seq), of: "ann")
            try await store.mark(.seen, Set([Seq(1)]), of: "ann")
            try await store.mark(.archived, [1, 2], of: "ann")
            #expect(try await store.tray(of: "ann").total == 3)
            #expect(try await store.inbox(of: "ann").elements.filter(\.isRead).map(\.seq) == [5, 4, 3])
        }
    }

    @Test func theModeOfABatchSaysWhatARefusalMeans() async throws {
        let commands: [Command] = [.notify("ann", title: "1"), .mark(.read, 99, of: "ann"), .notify("ann", title: "2")]
        for (mode, answered, stored) in [(BatchMode.atomic, 2, 0), (.each, 3, 2), (.untilRefusal, 2, 1)] {
            try await Store.withTemporary { store in
                let results = try await store.perform(commands, mode: mode)
                #expect(results.count == answered && results[1] == .failure(.unknownItem(.seq(99))))
                #expect(try await store.tray(of: "ann").total == stored)
            }
        }
    }
}
