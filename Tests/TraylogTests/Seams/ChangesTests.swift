import Foundation
import TestSupport
import Testing
@_spi(Replication) @_spi(Operations) import Traylog

/// Edge cases for a reader of one user's changes: no user, erasure, a floor, an undo, new events.
@Suite struct ChangesTests {
    @Test func anUnknownUserHasNoStreamAndNoChanges() throws {
        try withTemporaryDirectory { directory in
            let store = try Store.open(directory)
            _ = try store.perform(Command(user: "ann", .notify(Content(title: "A"))))
            let changes = try store.changes(of: "bob")
            #expect(changes.stream == 0 && changes.events.isEmpty && changes.through == 1 && changes.isComplete)
            #expect(try TrayReplica([store.snapshot(of: "bob")]).tray() == store.tray(of: "bob"))
            #expect(try store.version(of: "bob").newestChange == 0)
            #expect(throws: TraylogError.refused(.upToBeyondHead(2, head: 1, field: "after"))) {
                try store.changes(of: "bob", after: 2)
            }
            store.close()
        }
    }

    @Test func anErasedStreamDiffersFromThatOfANewcomerWithTheSameName() throws {
        try withTemporaryDirectory { directory in
            let store = try Store.open(directory)
            _ = try store.perform([
                Command(user: "ann", .notify(Content(title: "A"))), Command(user: "bob", .notify(Content(title: "B"))),
            ])
            let old = try store.changes(of: "ann").stream
            let identity = try store.storeIdentity()
            #expect(try !store.isErased(stream: old))
            try store.erase("ann")
            #expect(try store.isErased(stream: old))
            #expect(try store.changes(of: "ann").stream == 0)
            _ = try store.perform(Command(user: "ann", .notify(Content(title: "C"))))
            let new = try store.changes(of: "ann")
            #expect(new.stream != old && new.stream != 0 && new.events.count == 1)
            #expect(try store.storeIdentity() == identity)
            store.close()
        }
    }

    @Test func aFollowerOfSomebodyErasedNeverGetsTheNewcomersEvents() async throws {
        try await withStorePath { directory in
            let store = try Store.open(directory)
            try await store.notify("ann", title: "A")
            var follower = store.followChanges(of: "ann").makeAsyncIterator()
            var tray = store.trayUpdates(of: "ann").makeAsyncIterator()
            #expect(try await follower.next()?.events.count == 1)
            #expect(try await tray.next()?.total == 1)
            // Both happen between two looks.
            try await store.erase("ann")
            try await store.notify("ann", title: "of another person")
            await #expect(throws: TraylogError.refused(.erased(user: "ann"))) { try await follower.next() }
            #expect(try await tray.next()?.total == 0)
            await #expect(throws: TraylogError.refused(.erased(user: "ann"))) { try await tray.next() }
            #expect(try await follower.next() == nil)
            await store.close()
        }
    }

    @Test func aFollowerOfNobodyFollowsTheFirstWhoComes() async throws {
        try await withStorePath { directory in
            let store = try Store.open(directory)
            var follower = store.followChanges(of: "ann").makeAsyncIterator()
            #expect(try await follower.next()?.stream == 0)
            try await store.notify("ann", title: "A")
            #expect(try await follower.next()?.stream == 1)
            try await store.erase("ann")
            await #expect(throws: TraylogError.refused(.erased(user: "ann"))) { try await follower.next() }
            await store.close()
        }
    }

    @Test func aFollowerThatGoesOnFromAnErasedStreamIsRefused() async throws {
        try await withStorePath { directory in
            let store = try Store.open(directory)
            try await store.notify("ann", title: "A")
            let known = try await store.changes(of: "ann")
            try await store.erase("ann")
            try await store.notify("ann", title: "of another person")
            var follower = store.followChanges(of: "ann", after: known.through, stream: known.stream)
                .makeAsyncIterator()
            await #expect(throws: TraylogError.refused(.erased(user: "ann"))) { try await follower.next() }
            await store.close()
        }
    }

    @Test func aCursorOfAnErasedPersonsSnapshotIsRefusedAsErased() async throws {
        try await withStorePath { directory in
            let store = try Store.open(directory)
            for title in ["A", "B"] { try await store.notify("ann", title: title) }
            let cursor = try await store.snapshot(of: "ann", limit: 1).next
            #expect(cursor != nil)
            try await store.erase("ann")
            try await store.notify("ann", title: "of another person")
            await #expect(throws: TraylogError.refused(.erased(user: "ann"))) {
                try await store.snapshot(of: "ann", cursor: cursor)
            }
            await store.close()
        }
    }

    @Test func aReplicaAsksForANewSnapshotWhereAnEventOfTheOldOneIsUndone() throws {
        try withTemporaryDirectory { directory in
            let store = try Store.open(directory)
            _ = try store.perform([
                Command(user: "ann", .notify(Content(title: "A"))), Command(user: "ann", .seeTray()),
            ])
            var replica = try TrayReplica([store.snapshot(of: "ann")])
            _ = try store.perform(Command(user: "ann", .undo(event: 2)))
            let changes = try store.changes(of: "ann", after: replica.through)
            let before = try replica.tray()
            #expect(throws: TraylogError.refused(.staleSnapshot(2))) {
                try replica.apply(changes.events, through: changes.through)
            }
            #expect(try replica.tray() == before)
            #expect(try TrayReplica([store.snapshot(of: "ann")]).tray().unseen == 1)
            store.close()
        }
    }

    @Test func aSnapshotNamesMutesAndTopicsAlsoAfterACompaction() throws {
        try withTemporaryDirectory { directory in
            let store = try Store.open(directory)
            _ = try store.perform([
                Command(user: "ann", .mute(.thread("noise"))), Command(user: "ann", .mute(.category("ads"))),
                Command(user: "ann", .subscribe(topic: "news")), Command(user: "ann", .subscribe(topic: "left")),
                Command(user: nil, .broadcast(topic: "left", Content(title: "L"))),
                Command(user: "ann", .unsubscribe(topic: "left")), Command(user: "ann", .notify(Content(title: "A"))),
            ])
            let before = try store.snapshot(of: "ann")
            #expect(before.mutedThreads == ["noise"] && before.mutedCategories == ["ads"])
            #expect(before.topics.map(\.topic) == ["left", "news"])
            #expect(before.topics.map(\.from) == [4, 3] && before.topics.map(\.until) == [6, nil])
            _ = try store.compact(before: .seq(7))
            _ = try store.perform(Command(user: "ann", .notify(Content(title: "B"))))
            _ = try store.compact(before: .seq(8))
            let after = try store.snapshot(of: "ann")
            #expect(after.mutedThreads == before.mutedThreads && after.mutedCategories == before.mutedCategories)
            #expect(after.topics == before.topics)
            store.close()
        }
    }

    @Test func inASnapshotOnlyTheNewestItemsHaveTheirContent() throws {
        try withTemporaryDirectory { directory in
            let store = try Store.open(directory)
            _ = try store.perform((1...5).map { Command(user: "ann", .notify(Content(thread: "t", title: "\($0)"))) })
            let page = try store.snapshot(of: "ann", limit: 3, contents: 3)
            #expect(page.items.map(\.hasContent) == [false, false, true])
            #expect(page.items.map(\.item.content.title) == [nil, nil, "3"])
            #expect(page.items.allSatisfy { $0.item.content.thread == "t" })
            #expect(throws: TraylogError.incompleteSnapshot) { try TrayReplica([page]) }
            store.close()
        }
    }

    @Test func aVersionFromMemoryEqualsTheOneRead() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("traylog-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        let commands = [
            Command(user: "ann", .notify(Content(title: "A"))), Command(user: "bob", .subscribe(topic: "news")),
            Command(user: "ann", .seeTray()), Command(user: nil, .broadcast(topic: "news", Content(title: "N"))),
            Command(user: "bob", .notify(Content(title: "B"))), Command(user: "bob", .unsubscribe(topic: "news")),
            Command(user: "ann", .mark(.read, [.seq(1)])), Command(user: "ann", .undo(event: 7)),
            Command(user: nil, .broadcast(topic: "news", Content(title: "M"))),
        ]
        var store = try Store.open(directory.path)
        for command in commands {
            _ = try await store.perform(command)
            for user in ["ann", "bob", "nobody"] {
                let version = try await onThread { [store] in try store.blocking.version(of: user) }
                #expect(try await store.version(of: user) == version, "\(command), \(user)")
            }
        }
        let newest = try await store.version(of: "ann")
        await store.close()
        // After an opening no user is in memory; a user who has been looked at is.
        store = try Store.open(directory.path)
        for _ in 0..<2 {
            #expect(try await store.version(of: "ann") == newest)
            _ = try await store.tray(of: "ann")
        }
        await store.close()
    }

    /// The compaction takes the broadcast and its retraction, because nothing shows them any more.
    @Test func aVersionIsKnownWhereTheNewestChangeLeftTheLog() throws {
        try withTemporaryDirectory { directory in
            let store = try Store.open(directory)
            defer { store.close() }
            try store.perform([
                Command(user: "ann", .subscribe(topic: "news")),
                Command(user: nil, .broadcast(topic: "news", Content(title: "A"))),
                Command(user: nil, .retract(.seq(2))), Command(user: "bob", .notify(Content(title: "B"))),
            ])
            #expect(try store.version(of: "ann").newestChange == 3)
            #expect(try store.compact(before: .seq(4)).dropped >= 2)
            #expect(throws: TraylogError.self) { try store.event(3) }
            #expect(try store.version(of: "ann").newestChange == 3)
        }
    }

    @Test func aFollowerSeesEachChangeOnceAndNothingOfOthers() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("traylog-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        let store = try Store.open(directory.path)
        let follower = store.followChanges(of: "ann")
        let reading = Task {
            var seqs: [Seq] = []
            for try await changes in follower {
                seqs += changes.events.map(\.seq)
                if seqs.count >= 3 { break }
            }
            return seqs
        }
        for user in ["ann", "bob", "ann", "bob", "ann"] {
            _ = try await store.perform(Command(user: user, .notify(Content(title: "A"))))
        }
        #expect(try await reading.value == [1, 3, 5])
        await store.close()
    }
}
