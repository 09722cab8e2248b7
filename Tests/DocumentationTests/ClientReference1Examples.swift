import TraylogClient

// Tools/samples writes this file: the samples of the comments in Sources, compiled and not run.

private struct ClientReference1 {
    let client: TrayClient
    let outbox: Outbox
    let item: Item
    let id: String
    let path: String
    let chat: any OutboxTransport
    let http: any ServiceTransport
    let tokens: any TokenSource

    func sample0() async throws {
        // example: ClientReference1, 0: Outbox+sending
        await outbox.retryNow()
        // end
    }

    func sample1() async throws {
        // example: ClientReference1, 1: Outbox+sending
        await outbox.setOffline(true)
        // end
    }

    func sample2() async throws {
        // example: ClientReference1, 2: Outbox
        let outbox = try Outbox(directory: path, transport: chat)
        let entry = try await outbox.enqueue(Array("Hello".utf8), lane: "text")
        let outcome = await outbox.outcome(of: entry.id)
        // end
        _ = outbox
        _ = entry
        _ = outcome
    }

    func sample3() throws {
        // example: ClientReference1, 3: Outbox
        let account = DeviceAccount(server: "https://chat.example.org", user: "ann")
        let outbox = try Outbox(directory: path, account: account, transport: chat)
        // end
        _ = account
        _ = outbox
    }

    func sample4() async throws {
        // example: ClientReference1, 4: Outbox
        await outbox.start()
        // end
    }

    func sample5() async throws {
        // example: ClientReference1, 5: Outbox
        if let entry = await outbox.entry(id) { print(entry.state) }
        // end
    }

    func sample6() async throws {
        // example: ClientReference1, 6: Outbox
        if case .failed(let problem) = await outbox.outcome(of: id) { print(problem.message) }
        // end
    }

    func sample7() async throws {
        // example: ClientReference1, 7: Outbox
        let entry = try await outbox.enqueue(Array("Hello".utf8), lane: "text")
        // end
        _ = entry
    }

    func sample8() async throws {
        // example: ClientReference1, 8: Outbox
        try await outbox.resend(id)
        // end
    }

    func sample9() async throws {
        // example: ClientReference1, 9: Outbox
        try await outbox.discard(id)
        // end
    }

    func sample10() async throws {
        // example: ClientReference1, 10: Outbox
        print("\(try await outbox.discardFailed()) removed")
        // end
    }

    func sample11() async throws {
        // example: ClientReference1, 11: Outbox
        await outbox.close()
        // end
    }

    func sample12() async throws {
        // example: ClientReference1, 12: Outbox
        try await outbox.logOut()
        // end
    }

    func sample13() async throws {
        // example: ClientReference1, 13: TrayClient+fetcher
        let list = try client.fetcher()
        try await list.fetchNew()
        // end
        _ = list
    }

    func sample14() async throws {
        // example: ClientReference1, 14: TrayClient+live
        await client.setLive(false)
        // end
    }

    func sample15() async throws {
        // example: ClientReference1, 15: TrayClient+live
        print("asks every \(await client.poll(everySeconds: 300)) seconds")
        // end
    }

    func sample16() async throws {
        // example: ClientReference1, 16: TrayClient+live
        await client.setOffline(true)
        // end
    }

    func sample17() async throws {
        // example: ClientReference1, 17: TrayClient+live
        if await client.wait(for: .synced, seconds: 10) { print("up to date") }
        // end
    }

    func sample18() async throws {
        // example: ClientReference1, 18: TrayClient+marks
        try await client.see()
        // end
    }

    func sample19() async throws {
        // example: ClientReference1, 19: TrayClient+marks
        try await client.mark(.read, [.seq(item.seq)])
        // end
    }

    func sample20() async throws {
        // example: ClientReference1, 20: TrayClient+marks
        try await client.markAll(.read, Selection(thread: "ci"))
        // end
    }

    func sample21() async throws {
        // example: ClientReference1, 21: TrayClient+marks
        try await client.snooze(.seq(item.seq), until: .now + .seconds(3_600))
        // end
    }

    func sample22() async throws {
        // example: ClientReference1, 22: TrayClient+marks
        try await client.mute(.thread("ci"))
        // end
    }

    func sample23() async throws {
        // example: ClientReference1, 23: TrayClient+marks
        let entry = try await client.mark(.deleted, [.seq(item.seq)])
        try await client.undo(entry.id)
        // end
        _ = entry
    }

    func sample24() async throws {
        // example: ClientReference1, 24: TrayClient+marks
        try await client.send(to: "bob", Content(title: "Lunch?"))
        // end
    }

    func sample25() async throws {
        // example: ClientReference1, 25: TrayClient+refresh
        await client.refresh(.pull)
        // end
    }

    func sample26() async throws {
        // example: ClientReference1, 26: TrayClient
        let client = try TrayClient(user: "ann", directory: path, transport: http, tokens: tokens)
        await client.start()
        for await view in await client.trays { print(view.tray.unread) }
        // end
        _ = client
    }

    func sample27() async throws {
        // example: ClientReference1, 27: TrayClient
        await client.start()
        // end
    }

    func sample28() async throws {
        // example: ClientReference1, 28: TrayClient
        let page = try await client.inbox(InboxQuery(onlyUnread: true))
        // end
        _ = page
    }

    func sample29() async throws {
        // example: ClientReference1, 29: TrayClient
        for group in try await client.threads().threads { print(group.count) }
        // end
    }

    func sample30() async throws {
        // example: ClientReference1, 30: TrayClient
        print(try await client.item("build-17").isRead)
        // end
    }

    func sample31() async throws {
        // example: ClientReference1, 31: TrayClient
        await client.trayWasShown()
        print(await client.dot)
        // end
    }

    func sample32() async throws {
        // example: ClientReference1, 32: TrayClient
        await client.close()
        // end
    }

    func sample33() async throws {
        // example: ClientReference1, 33: TrayClient
        try await client.logOut()
        // end
    }
}
