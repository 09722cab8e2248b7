@_spi(Operations) import Traylog
@_spi(Operations) import TraylogAudit
import TraylogCluster
import TraylogFoundation

// Tools/samples writes this file: the samples of the comments in Sources, compiled and not run.

private struct StoreReference1 {
    let store: Store
    let fetcher: InboxFetcher<Store>
    let item: Item
    let page: InboxPage
    let commands: [Command]
    let command: Command
    let edit: ContentEdit
    let tray: Tray
    let checkpointText: String
    let key: NotePublicKey
    let lines: [String]
    let path: String
    let log: any ReplicatedLog
    let lease: any OwnershipLease

    func sample0() async throws {
        // example: StoreReference1, 0: Archives
        let archives = try await store.archives(in: "/var/lib/shop/archives")
        let first = try await store.events(limit: 10, including: archives)
        // end
        _ = archives
        _ = first
    }

    func sample1() async throws {
        // example: StoreReference1, 1: TrayQueries+async
        let midnight = try await store.seq(of: .time(Timestamp(milliseconds: 1_767_225_600_000)))
        // end
        _ = midnight
    }

    func sample2() async throws {
        // example: StoreReference1, 2: TrayQueries+async
        let badge = try await store.tray(of: "ann").unseen
        let yesterday = try await store.tray(of: "ann", asOf: .time(.now - .seconds(86_400)))
        // end
        _ = badge
        _ = yesterday
    }

    func sample3() async throws {
        // example: StoreReference1, 3: TrayQueries+async
        var page = try await store.inbox(of: "ann", InboxQuery(onlyUnread: true))
        while let next = page.next { page = try await store.inbox(of: "ann", InboxQuery(cursor: next)) }
        // end
        _ = page
    }

    func sample4() async throws {
        // example: StoreReference1, 4: TrayQueries+async
        for group in try await store.threads(of: "ann").threads { print(group.count, group.summary ?? "") }
        // end
    }

    func sample5() async throws {
        // example: StoreReference1, 5: TrayQueries+async
        let newest = try await store.history(of: "ann", newestFirst: true, limit: 20)
        for event in newest.events { print(event.seq, event.kind.rawValue) }
        // end
        _ = newest
    }

    func sample6() async throws {
        // example: StoreReference1, 6: TrayQueries+async
        let page = try await store.events(from: 100, limit: 50)
        let following = try await store.events(from: page.next, limit: 50)
        // end
        _ = page
        _ = following
    }

    func sample7() async throws {
        // example: StoreReference1, 7: TrayQueries+async
        var page = try await store.users(prefix: "team/", limit: 50)
        while let next = page.next { page = try await store.users(after: next, prefix: "team/", limit: 50) }
        // end
        _ = page
    }

    func sample8() async throws {
        // example: StoreReference1, 8: TrayQueries+async
        let item = try await store.item("build-17", of: "ann")
        // end
        _ = item
    }

    func sample9() async throws {
        // example: StoreReference1, 9: TrayQueries+async
        for event in try await store.life(of: "build-17", of: "ann").events {
            print(event.kind.rawValue, event.recordedAt)
        }
        // end
    }

    func sample10() async throws {
        // example: StoreReference1, 10: TrayQueries+disclosure
        if let disclosure = try await store.disclosure(of: 17) { print(disclosure.payload.count) }
        // end
    }

    func sample11() async throws {
        // example: StoreReference1, 11: TrayQueries+proofs
        let head = try await store.treeHead()
        print(head.size, head.root)
        // end
        _ = head
    }

    func sample12() async throws {
        // example: StoreReference1, 12: TrayQueries+proofs
        let proof = try await store.proof(of: 17)
        print(proof.inclusion.proves(proof.leafHash, in: proof.head))
        // end
        _ = proof
    }

    func sample13() async throws {
        // example: StoreReference1, 13: TrayQueries+proofs
        let growth = try await store.treeGrowth(from: 1_000)
        print(growth.consistency.proves(from: growth.first, to: growth.second))
        // end
        _ = growth
    }

    func sample14() async throws {
        // example: StoreReference1, 14: TrayQueries+proofs
        let report = try await store.audit(of: "ann", from: .time(.now - .seconds(86_400)))
        print("\(report.steps.count) steps")
        // end
        _ = report
    }

    func sample15() async throws {
        // example: StoreReference1, 15: TrayQueries+proofs
        let difference = try await store.difference(of: "ann", from: .seq(100), to: .seq(200))
        print(difference.before.unread, difference.after.unread)
        // end
        _ = difference
    }

    func sample16() async throws {
        // example: StoreReference1, 16: TrayQueries+proofs
        print(try await store.storeTree().root)
        // end
    }

    func sample17() async throws {
        // example: StoreReference1, 17: TrayQueries+voided
        for (event, undo) in try await store.voidedEvents(of: "ann") { print("\(event) was undone by \(undo)") }
        // end
    }

    func sample18() throws {
        // example: StoreReference1, 18: BlockingStore
        let receipt = try store.blocking.perform(.notify("ann", title: "From a thread"))
        print(receipt.seq ?? 0)
        // end
        _ = receipt
    }

    func sample19() throws {
        // example: StoreReference1, 19: BlockingStore
        print(try store.blocking.performEach(commands).count)
        // end
    }

    func sample20() throws {
        // example: StoreReference1, 20: BlockingStore
        store.blocking.close()
        // end
    }

    func sample21() async throws {
        // example: StoreReference1, 21: ChangeFollower
        for try await changes in store.followChanges(of: "ann", after: 100) { print(changes.through) }
        // end
    }

    func sample22() async throws {
        // example: StoreReference1, 22: TrayQueries+changesAsync
        let changes = try await store.changes(of: "ann", after: 100)
        print(changes.events.count, changes.through)
        // end
        _ = changes
    }

    func sample23() async throws {
        // example: StoreReference1, 23: TrayQueries+changesAsync
        let version = try await store.version(of: "ann")
        // end
        _ = version
    }

    func sample24() async throws {
        // example: StoreReference1, 24: TrayQueries+changesAsync
        let snapshot = try await store.snapshot(of: "ann")
        var replica = try TrayReplica([snapshot])
        let changes = try await store.changes(of: "ann", after: snapshot.asOf, history: snapshot.history)
        try replica.apply(changes)
        // end
        _ = snapshot
        _ = replica
        _ = changes
    }

    func sample25() async throws {
        // example: StoreReference1, 25: TrayQueries+changesAsync
        let history = try await store.storeHistory()
        for fork in history.forks { print("a copy since event \(fork.after)") }
        // end
        _ = history
    }

    func sample26() async throws {
        // example: StoreReference1, 26: TrayQueries+changesAsync
        print(try await store.storeIdentity())
        // end
    }

    func sample27() async throws {
        // example: StoreReference1, 27: TrayReplica+new
        var replica = try TrayReplica([try await store.snapshot(of: "ann")])
        let changes = try await store.changes(of: "ann", after: replica.through, history: replica.history)
        try replica.apply(changes)
        // end
        _ = replica
        _ = changes
    }

    func sample28() async throws {
        // example: StoreReference1, 28: Store+compact
        let report = try await store.compact(before: .daysAgo(90), archive: "/var/lib/shop/archives")
        print(report.json)
        // end
        _ = report
    }

    func sample29() async throws {
        // example: StoreReference1, 29: Store+erase
        let report = try await store.erase("ann", actor: "support")
        print(report.json)
        // end
        _ = report
    }

    func sample30() throws {
        // example: StoreReference1, 30: Store+erase
        let issuedAt = Timestamp(milliseconds: 1_767_225_600_000)
        if let erasedAt = store.lastErasure(of: "ann"), issuedAt <= erasedAt { print("sign in again") }
        // end
        _ = issuedAt
    }

    func sample31() async throws {
        // example: StoreReference1, 31: Store+hold
        try await store.hold("ann", actor: "legal")
        // end
    }

    func sample32() async throws {
        // example: StoreReference1, 32: Store+hold
        try await store.release("ann", actor: "legal")
        // end
    }

    func sample33() async throws {
        // example: StoreReference1, 33: Store+hold
        print(try await store.isHeld("ann"))
        // end
    }

    func sample34() throws {
        // example: StoreReference1, 34: LogRestore
        let restore = try LogRestore(directory: path)
        for line in lines { try restore.add(line.utf8Span.span) }
        let report = try restore.finish { _, _ in }
        // end
        _ = restore
        _ = report
    }

    func sample35() async throws {
        // example: StoreReference1, 35: TrayUpdates
        for try await tray in store.trayUpdates(of: "ann") { print(tray.unseen) }
        // end
    }

    func sample36() async throws {
        // example: StoreReference1, 36: TrayUpdates
        for try await event in store.follow() { print(event.json) }
        // end
    }

    func sample37() async throws {
        // example: StoreReference1, 37: TrayUpdates
        for try await event in store.follow(after: 100) { print(event.json) }
        // end
    }

    func sample38() async throws {
        // example: StoreReference1, 38: Projector
        let hourly = try store.project(HourlyCounts.self)
        let receipt = try await store.perform(command)
        let counts = try await hourly.value()  // holds the command just performed
        // end
        _ = hourly
        _ = receipt
        _ = counts
    }

    func sample39() throws {
        // example: StoreReference1, 39: Projector
        try store.forgetProjection(named: "hourly")
        // end
    }

    func sample40() async throws {
        // example: StoreReference1, 40: PagedSequence
        var names: [String] = []
        for try await user in store.allUsers() { names.append(user) }
        print("all \(names.count) users")  // not reached when the task was cancelled
        // end
        _ = names
    }

    func sample41() async throws {
        // example: StoreReference1, 41: PagedSequence
        var filter = EventFilter()
        filter.user = "ann"
        for try await event in store.allEvents(matching: filter) { print(event.json) }
        // end
        _ = filter
    }

    func sample42() async throws {
        // example: StoreReference1, 42: PagedSequence
        for try await user in store.allUsers(prefix: "team/") { print(user) }
        // end
    }

    func sample43() throws {
        // example: StoreReference1, 43: TrayQueries+answers
        let badge = try store.blocking.tray(of: "ann").unseen
        // end
        _ = badge
    }
}
