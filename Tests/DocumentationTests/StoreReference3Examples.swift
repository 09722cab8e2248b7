import Traylog
import TraylogAudit
import TraylogCluster
import TraylogFoundation
import TraylogJSON

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

    func sample0() throws {
        // example: StoreReference3, 0: Command+making
        let command: Command = .snooze("build-17", of: "ann", until: .now + .seconds(3_600))
        // end
        _ = command
    }

    func sample1() throws {
        // example: StoreReference3, 1: Command+making
        let command: Command = .wake("build-17", of: "ann")
        // end
        _ = command
    }

    func sample2() throws {
        // example: StoreReference3, 2: Command+making
        let command: Command = .edit("build-17", of: "ann", edit)
        // end
        _ = command
    }

    func sample3() throws {
        // example: StoreReference3, 3: Command+making
        let command: Command = .retract("build-17", of: "ann")
        // end
        _ = command
    }

    func sample4() throws {
        // example: StoreReference3, 4: Command+making
        let command: Command = .subscribe("ann", to: "releases")
        // end
        _ = command
    }

    func sample5() throws {
        // example: StoreReference3, 5: Command+making
        let command: Command = .unsubscribe("ann", from: "releases")
        // end
        _ = command
    }

    func sample6() throws {
        // example: StoreReference3, 6: Command+making
        let command: Command = .undo(17, of: "ann")
        // end
        _ = command
    }

    func sample7() throws {
        // example: StoreReference3, 7: CommandDraft
        let body = Array(#"{"title":"Build 17 failed"}"#.utf8)
        let command = try Command(body: body.span, kind: "notify", user: "ada")
        // end
        _ = body
        _ = command
    }

    func sample8() throws {
        // example: StoreReference3, 8: CommandDraft
        let body = Array(#"[{"kind":"seeTray","user":"ada"},{"kind":"see"}]"#.utf8)
        for case .failure(let refusal) in try Command.array(json: body.span, atMost: 1_000) { print(refusal.message) }
        // end
        _ = body
    }

    func sample9() throws {
        // example: StoreReference3, 9: JSONWriter
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("tray")
        writer.write(tray)
        writer.member("pushed", true)
        writer.endObject()
        // end
        _ = writer
    }

    func sample10() async throws {
        // example: StoreReference3, 10: EventFilter
        var filter = EventFilter()
        filter.kinds = [.notified]
        for event in try await store.events().events where filter.matches(event) { print(event.seq) }
        // end
        _ = filter
    }

    func sample11() async throws {
        // example: StoreReference3, 11: InboxFetcher+marks
        try await fetcher.mark(.archived, item)
        // end
    }

    func sample12() async throws {
        // example: StoreReference3, 12: InboxFetcher+marks
        try await fetcher.markAsRead(item)
        // end
    }

    func sample13() async throws {
        // example: StoreReference3, 13: InboxFetcher+marks
        try await fetcher.markAsUnread(item)
        // end
    }

    func sample14() async throws {
        // example: StoreReference3, 14: InboxFetcher+marks
        try await fetcher.archive(item)
        // end
    }

    func sample15() async throws {
        // example: StoreReference3, 15: InboxFetcher+marks
        try await fetcher.markAsDeleted(item)
        // end
    }

    func sample16() async throws {
        // example: StoreReference3, 16: InboxFetcher+marks
        try await fetcher.markAllAsRead()
        // end
    }

    func sample17() async throws {
        // example: StoreReference3, 17: InboxFetcher
        let fetcher = try InboxFetcher(store, user: "ann")
        try await fetcher.fetchNew()
        while !fetcher.endReached { try await fetcher.fetchNextPage() }
        // end
        _ = fetcher
    }

    func sample18() async throws {
        // example: StoreReference3, 18: InboxFetcher
        if try await fetcher.fetchNew().hasGap { print("scroll to the top") }
        // end
    }

    func sample19() async throws {
        // example: StoreReference3, 19: InboxFetcher
        if !fetcher.endReached { try await fetcher.fetchNextPage() }
        // end
    }

    func sample20() async throws {
        // example: StoreReference3, 20: InboxFetcher
        for try await _ in store.trayUpdates(of: "ann") { try await fetcher.update() }
        // end
    }

    func sample21() async throws {
        // example: StoreReference3, 21: TrayReplica
        var replica = try TrayReplica([try await store.snapshot(of: "ann")])
        let changes = try await store.changes(of: "ann", after: replica.through, history: replica.history)
        try replica.apply(changes)
        let badge = try replica.tray().unseen
        // end
        _ = replica
        _ = changes
        _ = badge
    }

    func sample22() async throws {
        // example: StoreReference3, 22: AutomaticCompaction
        print(try await store.seq(of: .daysAgo(30)))
        // end
    }

    func sample23() async throws {
        // example: StoreReference3, 23: StoreObserver
        struct Alarm: StoreObserver {
            let alarms: Store

            func observe(_ activity: StoreActivity) {
                guard case .failed(let work, let error) = activity else { return }
                Task { try await alarms.notify("operator", title: "\(work.rawValue): \(error)") }
            }
        }
        // end
    }
}
