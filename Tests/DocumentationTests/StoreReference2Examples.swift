@_spi(Operations) @_spi(JSON) @_spi(Replication) import Traylog
@_spi(Operations) import TraylogAudit
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

    func sample0() throws {
        // example: StoreReference2, 0: TrayQueries+answers
        let newest = try store.blocking.inbox(of: "ann").items
        // end
        _ = newest
    }

    func sample1() throws {
        // example: StoreReference2, 1: TrayQueries+answers
        var page = try store.blocking.history(of: "ann", newestFirst: true)
        while let next = page.next {
            page = try store.blocking.history(of: "ann", newestFirst: true, from: next)
        }
        // end
        _ = page
    }

    func sample2() throws {
        // example: StoreReference2, 2: TrayQueries+search
        var filter = EventFilter()
        filter.device = "phone"
        var page = try store.blocking.search(filter, newestFirst: true)
        while let next = page.next { page = try store.blocking.search(filter, newestFirst: true, from: next) }
        // end
        _ = filter
        _ = page
    }

    func sample3() async throws {
        // example: StoreReference2, 3: Store+apply
        let position = try await store.sourcePosition()?.position ?? 0
        // end
        _ = position
    }

    func sample4() async throws {
        // example: StoreReference2, 4: Store+marks
        try await store.notify("ann", Content(title: "Standup", level: .timeSensitive))
        // end
    }

    func sample5() async throws {
        // example: StoreReference2, 5: Store+marks
        try await store.notify("ann", title: "Build 17 failed", thread: "ci", key: "build-17")
        // end
    }

    func sample6() async throws {
        // example: StoreReference2, 6: Store+marks
        try await store.broadcast(to: "releases", Content(title: "1.4 is out"))
        // end
    }

    func sample7() async throws {
        // example: StoreReference2, 7: Store+marks
        try await store.seeTray(of: "ann", upTo: page.asOf)
        // end
    }

    func sample8() async throws {
        // example: StoreReference2, 8: Store+marks
        try await store.mark(.archived, 12, 13, of: "ann")
        // end
    }

    func sample9() async throws {
        // example: StoreReference2, 9: Store+marks
        try await store.markRead(12, of: "ann")
        // end
    }

    func sample10() async throws {
        // example: StoreReference2, 10: Store+marks
        try await store.markAll(.read, of: "ann", thread: "ci", upTo: page.asOf)
        // end
    }

    func sample11() async throws {
        // example: StoreReference2, 11: Store+marks
        let all = try await store.markAll(.read, of: "ann")
        if let event = all.seq { try await store.undo(event, of: "ann") }
        // end
        _ = all
    }

    func sample12() async throws {
        // example: StoreReference2, 12: Store+tick
        let report = try await store.tick()
        print("\(report.woken) woke, \(report.expired) expired")
        // end
        _ = report
    }

    func sample13() throws {
        // example: StoreReference2, 13: Store+tick
        print(try store.blocking.tick().woken)
        // end
    }

    func sample14() throws {
        // example: StoreReference2, 14: Store
        let store = try Store.open("/var/lib/shop/trays")
        // end
        _ = store
    }

    func sample15() async throws {
        // example: StoreReference2, 15: Store
        let store = try Store.temporary()
        try await store.notify("ann", title: "For a test")
        // end
        _ = store
    }

    func sample16() async throws {
        // example: StoreReference2, 16: Store
        let unread = try await Store.withTemporary { store in
            try await store.notify("ann", title: "For a test")
            return try await store.tray(of: "ann").unread
        }
        // end
        _ = unread
    }

    func sample17() async throws {
        // example: StoreReference2, 17: Store
        await store.close()
        // end
    }

    func sample18() async throws {
        // example: StoreReference2, 18: Store
        let receipt = try await store.perform(.notify("ann", title: "Build 17 failed"))
        print(receipt.seq ?? 0)
        // end
        _ = receipt
    }

    func sample19() async throws {
        // example: StoreReference2, 19: Store
        try await store.perform([.subscribe("ann", to: "releases"), .mute(.thread("ci"), for: "ann")])
        // end
    }

    func sample20() async throws {
        // example: StoreReference2, 20: Store
        let results = try await store.performTogether(commands)
        if case .failure(let refusal)? = results.last { print("command \(results.count): \(refusal.message)") }
        // end
        _ = results
    }

    func sample21() async throws {
        // example: StoreReference2, 21: Store
        for result in try await store.performEach(commands) {
            if case .failure(let refusal) = result { print(refusal.message) }
        }
        // end
    }

    func sample22() async throws {
        // example: StoreReference2, 22: StoreReader
        let reader = try StoreReader.open("/var/lib/shop/trays")
        print(try await reader.tray(of: "ann").unseen)
        reader.close()
        // end
        _ = reader
    }

    func sample23() throws {
        // example: StoreReference2, 23: HandedOutCheck
        var check = try HandedOutCheck(treeHeads: [checkpointText], publicKey: key)
        for line in lines { check.add(Array(line.utf8)) }
        check.finish()
        let isAuthentic = check.findings.isEmpty
        // end
        _ = check
        _ = isAuthentic
    }

    func sample24() async throws {
        // example: StoreReference2, 24: ClusterNode
        let options = NodeOptions(name: "a", url: "http://a:8080")
        let node = try await ClusterNode.open("trays", options, log: log, lease: lease)
        await node.start()
        try await node.store.perform(.notify("ann", title: "Hello"))
        // end
        _ = options
        _ = node
    }

    func sample25() throws {
        // example: StoreReference2, 25: Command+validate
        for command in commands { try command.check() }
        // end
    }

    func sample26() throws {
        // example: StoreReference2, 26: Content
        let left = Content(title: "Build 17 failed", data: #"{"number":17,"branch":"main"}"#)
        let right = Content(title: "Build 17 failed", data: #"{ "branch": "main", "number": 17.0 }"#)
        print(left == right)  // true: data is compared by value
        // end
        _ = left
        _ = right
    }

    func sample27() async throws {
        // example: StoreReference2, 27: Refusal
        do {
            try await store.perform(command)
        } catch let error where error.refusal?.code == .keyConflict {
            print("used before")
        }
        // end
    }

    func sample28() throws {
        // example: StoreReference2, 28: Seq
        print(Seq("17") ?? 0)
        // end
    }

    func sample29() async throws {
        // example: StoreReference2, 29: StoreHistory
        let seq = try await store.head()
        let mark = try await store.storeHistory().mark(at: seq)
        // Later, perhaps after a restore:
        let isSameEvent = try await store.storeHistory().holds(mark, at: seq)
        // end
        _ = seq
        _ = mark
        _ = isSameEvent
    }

    func sample30() async throws {
        // example: StoreReference2, 30: TraylogError
        do {
            try await store.perform(command)
        } catch let error where error.refusal?.code == .keyConflict {
            print("used before")
        }
        // end
    }

    func sample31() async throws {
        // example: StoreReference2, 31: TraylogError
        do {
            try await store.perform(command)
        } catch let error where error.failure?.code == .diskFull {
            print("make room")
        }
        // end
    }

    func sample32() async throws {
        // example: StoreReference2, 32: TraylogError
        let report = try await TraylogError.translatingCancellation { try await store.verify() }
        print(report.findings.count)
        // end
        _ = report
    }

    func sample33() throws {
        // example: StoreReference2, 33: Foundation
        var content = Content(title: "Build 17 failed")
        try content.encodeData(["number": 17])
        // end
        _ = content
    }

    func sample34() throws {
        // example: StoreReference2, 34: Foundation
        print(try item.content.decodeData(as: [String: Int].self) ?? [:])
        // end
    }

    func sample35() throws {
        // example: StoreReference2, 35: Command+making
        let command: Command = .notify("ann", Content(title: "Build 17 failed", level: .timeSensitive))
        // end
        _ = command
    }

    func sample36() throws {
        // example: StoreReference2, 36: Command+making
        let command: Command = .notify("ann", title: "Build 17 failed", thread: "ci", key: "build-17")
        // end
        _ = command
    }

    func sample37() throws {
        // example: StoreReference2, 37: Command+making
        let command: Command = .broadcast(to: "releases", Content(title: "1.4 is out"))
        // end
        _ = command
    }

    func sample38() throws {
        // example: StoreReference2, 38: Command+making
        let command: Command = .seeTray(of: "ann", upTo: page.asOf)
        // end
        _ = command
    }

    func sample39() throws {
        // example: StoreReference2, 39: Command+making
        let command: Command = .mark(.archived, ["build-17", .seq(12)], of: "ann")
        // end
        _ = command
    }

    func sample40() throws {
        // example: StoreReference2, 40: Command+making
        let command: Command = .mark(.read, 12, 13, of: "ann")
        // end
        _ = command
    }

    func sample41() throws {
        // example: StoreReference2, 41: Command+making
        let command: Command = .markAll(.read, of: "ann", thread: "ci", upTo: page.asOf)
        // end
        _ = command
    }

    func sample42() throws {
        // example: StoreReference2, 42: Command+making
        let command: Command = .mute(.category("marketing"), for: "ann")
        // end
        _ = command
    }

    func sample43() throws {
        // example: StoreReference2, 43: Command+making
        let command: Command = .unmute(.category("marketing"), for: "ann")
        // end
        _ = command
    }
}
