import Traylog
import TraylogCluster
import TraylogFoundation

// Tools/samples writes this file: the samples of the comments in Sources, compiled and not run.

private struct StoreReference3 {
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
        // example: StoreReference3, 0: InboxFetcher+marks
        try await fetcher.markAsRead(item)
        // end
    }

    func sample1() async throws {
        // example: StoreReference3, 1: InboxFetcher+marks
        try await fetcher.markAsUnread(item)
        // end
    }

    func sample2() async throws {
        // example: StoreReference3, 2: InboxFetcher+marks
        try await fetcher.archive(item)
        // end
    }

    func sample3() async throws {
        // example: StoreReference3, 3: InboxFetcher+marks
        try await fetcher.markAsDeleted(item)
        // end
    }

    func sample4() async throws {
        // example: StoreReference3, 4: InboxFetcher+marks
        try await fetcher.markAllAsRead()
        // end
    }

    func sample5() async throws {
        // example: StoreReference3, 5: InboxFetcher
        let fetcher = try InboxFetcher(store, user: "ann")
        try await fetcher.fetchNew()
        while !fetcher.endReached { try await fetcher.fetchNextPage() }
        // end
        _ = fetcher
    }

    func sample6() async throws {
        // example: StoreReference3, 6: InboxFetcher
        if try await fetcher.fetchNew().hasGap { print("scroll to the top") }
        // end
    }

    func sample7() async throws {
        // example: StoreReference3, 7: InboxFetcher
        if !fetcher.endReached { try await fetcher.fetchNextPage() }
        // end
    }

    func sample8() async throws {
        // example: StoreReference3, 8: InboxFetcher
        for try await _ in store.trayUpdates(of: "ann") { try await fetcher.update() }
        // end
    }

    func sample9() async throws {
        // example: StoreReference3, 9: TrayReplica
        var replica = try TrayReplica([try await store.snapshot(of: "ann")])
        let changes = try await store.changes(of: "ann", after: replica.through)
        try replica.apply(changes.events, through: changes.through)
        let badge = try replica.tray().unseen
        // end
        _ = replica
        _ = changes
        _ = badge
    }

    func sample10() async throws {
        // example: StoreReference3, 10: AutomaticCompaction
        print(try await store.seq(of: .daysAgo(30)))
        // end
    }
}
