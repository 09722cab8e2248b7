import Traylog
import TraylogCluster
import TraylogFoundation

// Tools/samples writes this file: the samples of the comments in Sources, compiled and not run.

private struct StoreReference2 {
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
        // example: StoreReference2, 0: Store+marks
        try await store.notify("ann", Content(title: "Standup", level: .timeSensitive))
        // end
    }

    func sample1() async throws {
        // example: StoreReference2, 1: Store+marks
        try await store.notify("ann", title: "Build 17 failed", thread: "ci", key: "build-17")
        // end
    }

    func sample2() async throws {
        // example: StoreReference2, 2: Store+marks
        try await store.broadcast(to: "releases", Content(title: "1.4 is out"))
        // end
    }

    func sample3() async throws {
        // example: StoreReference2, 3: Store+marks
        try await store.seeTray(of: "ann", upTo: page.asOf)
        // end
    }

    func sample4() async throws {
        // example: StoreReference2, 4: Store+marks
        try await store.mark(.archived, 12, 13, of: "ann")
        // end
    }

    func sample5() async throws {
        // example: StoreReference2, 5: Store+marks
        try await store.markRead(12, of: "ann")
        // end
    }

    func sample6() async throws {
        // example: StoreReference2, 6: Store+marks
        try await store.markAll(.read, of: "ann", thread: "ci", upTo: page.asOf)
        // end
    }

    func sample7() async throws {
        // example: StoreReference2, 7: Store+marks
        let all = try await store.markAll(.read, of: "ann")
        if let event = all.seq { try await store.undo(event, of: "ann") }
        // end
        _ = all
    }

    func sample8() async throws {
        // example: StoreReference2, 8: Store+tick
        let report = try await store.tick()
        print("\(report.woken) woke, \(report.expired) expired")
        // end
        _ = report
    }

    func sample9() async throws {
        // example: StoreReference2, 9: Store+tick
        print(try store.blocking.tick().woken)
        // end
    }

    func sample10() async throws {
        // example: StoreReference2, 10: Store
        let store = try Store.open("/var/lib/shop/trays")
        // end
        _ = store
    }

    func sample11() async throws {
        // example: StoreReference2, 11: Store
        let store = try Store.temporary()
        try await store.notify("ann", title: "For a test")
        // end
        _ = store
    }

    func sample12() async throws {
        // example: StoreReference2, 12: Store
        await store.close()
        // end
    }

    func sample13() async throws {
        // example: StoreReference2, 13: Store
        let receipt = try await store.perform(.notify("ann", title: "Build 17 failed"))
        print(receipt.seq ?? 0)
        // end
        _ = receipt
    }

    func sample14() async throws {
        // example: StoreReference2, 14: Store
        try await store.perform([.subscribe("ann", to: "releases"), .mute(.thread("ci"), for: "ann")])
        // end
    }

    func sample15() async throws {
        // example: StoreReference2, 15: Store
        let results = try await store.performTogether(commands)
        if case .failure(let refusal)? = results.last { print("command \(results.count): \(refusal.message)") }
        // end
        _ = results
    }

    func sample16() async throws {
        // example: StoreReference2, 16: Store
        for result in try await store.performEach(commands) {
            if case .failure(let refusal) = result { print(refusal.message) }
        }
        // end
    }

    func sample17() async throws {
        // example: StoreReference2, 17: StoreReader
        let reader = try StoreReader.open("/var/lib/shop/trays")
        print(try await reader.tray(of: "ann").unseen)
        reader.close()
        // end
        _ = reader
    }

    func sample18() async throws {
        // example: StoreReference2, 18: HandedOutCheck
        var check = try HandedOutCheck(treeHeads: [checkpointText], publicKey: key)
        for line in lines { check.add(Array(line.utf8)) }
        check.finish()
        let isAuthentic = check.findings.isEmpty
        // end
        _ = check
        _ = isAuthentic
    }

    func sample19() async throws {
        // example: StoreReference2, 19: ClusterNode
        let options = NodeOptions(name: "a", url: "http://a:8080")
        let node = try await ClusterNode.open("trays", options, log: log, lease: lease)
        await node.start()
        try await node.store.perform(.notify("ann", title: "Hello"))
        // end
        _ = options
        _ = node
    }

    func sample20() async throws {
        // example: StoreReference2, 20: Foundation
        var content = Content(title: "Build 17 failed")
        try content.encodeData(["number": 17])
        // end
        _ = content
    }

    func sample21() async throws {
        // example: StoreReference2, 21: Foundation
        print(try item.content.decodeData(as: [String: Int].self) ?? [:])
        // end
    }

    func sample22() async throws {
        // example: StoreReference2, 22: Command+making
        let command: Command = .notify("ann", Content(title: "Build 17 failed", level: .timeSensitive))
        // end
        _ = command
    }

    func sample23() async throws {
        // example: StoreReference2, 23: Command+making
        let command: Command = .notify("ann", title: "Build 17 failed", thread: "ci", key: "build-17")
        // end
        _ = command
    }

    func sample24() async throws {
        // example: StoreReference2, 24: Command+making
        let command: Command = .broadcast(to: "releases", Content(title: "1.4 is out"))
        // end
        _ = command
    }

    func sample25() async throws {
        // example: StoreReference2, 25: Command+making
        let command: Command = .seeTray(of: "ann", upTo: page.asOf)
        // end
        _ = command
    }

    func sample26() async throws {
        // example: StoreReference2, 26: Command+making
        let command: Command = .mark(.archived, ["build-17", .seq(12)], of: "ann")
        // end
        _ = command
    }

    func sample27() async throws {
        // example: StoreReference2, 27: Command+making
        let command: Command = .mark(.read, 12, 13, of: "ann")
        // end
        _ = command
    }

    func sample28() async throws {
        // example: StoreReference2, 28: Command+making
        let command: Command = .markAll(.read, of: "ann", thread: "ci", upTo: page.asOf)
        // end
        _ = command
    }

    func sample29() async throws {
        // example: StoreReference2, 29: Command+making
        let command: Command = .mute(.category("marketing"), for: "ann")
        // end
        _ = command
    }

    func sample30() async throws {
        // example: StoreReference2, 30: Command+making
        let command: Command = .unmute(.category("marketing"), for: "ann")
        // end
        _ = command
    }

    func sample31() async throws {
        // example: StoreReference2, 31: Command+making
        let command: Command = .snooze("build-17", of: "ann", until: .now + .seconds(3_600))
        // end
        _ = command
    }

    func sample32() async throws {
        // example: StoreReference2, 32: Command+making
        let command: Command = .wake("build-17", of: "ann")
        // end
        _ = command
    }

    func sample33() async throws {
        // example: StoreReference2, 33: Command+making
        let command: Command = .edit("build-17", of: "ann", edit)
        // end
        _ = command
    }

    func sample34() async throws {
        // example: StoreReference2, 34: Command+making
        let command: Command = .retract("build-17", of: "ann")
        // end
        _ = command
    }

    func sample35() async throws {
        // example: StoreReference2, 35: Command+making
        let command: Command = .subscribe("ann", to: "releases")
        // end
        _ = command
    }

    func sample36() async throws {
        // example: StoreReference2, 36: Command+making
        let command: Command = .unsubscribe("ann", from: "releases")
        // end
        _ = command
    }

    func sample37() async throws {
        // example: StoreReference2, 37: Command+making
        let command: Command = .undo(17, of: "ann")
        // end
        _ = command
    }

    func sample38() async throws {
        // example: StoreReference2, 38: CommandDraft
        let body = Array(#"[{"kind":"seeTray","user":"ada"},{"kind":"see"}]"#.utf8)
        for case .failure(let refusal) in try Command.array(json: body.span, atMost: 1_000) { print(refusal.message) }
        // end
        _ = body
    }

    func sample39() async throws {
        // example: StoreReference2, 39: JSONWriter
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("tray")
        writer.write(tray)
        writer.member("pushed", true)
        writer.endObject()
        // end
        _ = writer
    }

    func sample40() async throws {
        // example: StoreReference2, 40: EventFilter
        var filter = EventFilter()
        filter.kinds = [.notified]
        for event in try await store.events().events where filter.matches(event) { print(event.seq) }
        // end
        _ = filter
    }

    func sample41() async throws {
        // example: StoreReference2, 41: InboxFetcher+marks
        try await fetcher.mark(.archived, item)
        // end
    }

    func sample42() async throws {
        // example: StoreReference2, 42: InboxFetcher+marks
        try await fetcher.markAsRead(item)
        // end
    }

    func sample43() async throws {
        // example: StoreReference2, 43: InboxFetcher+marks
        try await fetcher.markAsUnread(item)
        // end
    }

    func sample44() async throws {
        // example: StoreReference2, 44: InboxFetcher+marks
        try await fetcher.archive(item)
        // end
    }
}
