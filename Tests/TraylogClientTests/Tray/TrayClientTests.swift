import Testing
@_spi(Operations) import Traylog
import TraylogClient

struct TrayClientTests {
    private func fill(_ store: Store) throws {
        for index in 0..<6 {
            _ = try store.blocking.perform(.notify("ann", title: "n\(index)", thread: "t", category: "c"))
        }
    }

    @Test func theClientAnswersOfflineFromTheReplicaEvenAfterARestart() async throws {
        try await withClient(before: fill) { tested in
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            tested.service.weather = .offline
            try await tested.restart()
            #expect(await tested.client.tray.tray.unread == 6)
            #expect(
                try await tested.client.inbox().elements.map(\.content.title) == (0..<6).reversed().map { "n\($0)" })
            #expect(try await tested.client.threads().elements.map(\.count) == [6])
        }
    }

    @Test func aSearchFindsLocalItemsAndAsksTheServerForTheRest() async throws {
        func fill(_ store: Store) throws {
            for index in 0..<250 {
                _ = try store.blocking.perform(.notify("ann", title: index % 50 == 0 ? "Müller \(index)" : "n"))
            }
        }
        try await withClient(before: fill) { tested in
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            let search = ItemFilter(text: "MULLER")
            tested.service.weather = .offline
            let here = try await tested.client.inbox(InboxQuery(search, limit: 3))
            #expect(here.elements.map(\.seq) == [201, 151, 101])
            let query = InboxQuery(search, limit: 3, cursor: here.next)
            // The device keeps the contents of the newest 200.
            #expect(try await tested.client.inbox(query).elements.map(\.seq) == [51])
            tested.service.weather = .fine
            _ = try await tested.client.mark(.read, [.seq(1)])
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            let rest = try await tested.client.inbox(query)
            #expect(rest.elements.map(\.seq) == [51, 1])
            #expect(rest.elements.map(\.isRead) == [false, true])
            #expect(rest.next == nil)
            await #expect(throws: Refusal.self) {
                _ = try await tested.client.inbox(InboxQuery(ItemFilter(actor: "")))
            }
        }
    }

    @Test func anAnswerShowsAtOnceAndOneThatCameTooLateFails() async throws {
        let actions = [ItemAction(id: "yes", label: "Yes"), ItemAction(id: "no", label: "No")]
        func fill(_ store: Store) throws {
            for title in ["first", "second", "plain"] {
                let content = Content(title: title, actions: title == "plain" ? [] : actions)
                _ = try store.blocking.perform(.notify("ann", content))
            }
        }
        let asking = InboxQuery(ItemFilter(onlyAwaiting: true))
        try await withClient(before: fill) { tested in
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            tested.service.weather = .offline
            #expect(try await tested.client.inbox(asking).elements.map(\.seq) == [2, 1])
            let answers = [
                try await tested.client.act(.seq(1), action: "yes", note: "at once"),
                try await tested.client.act(.seq(2), action: "yes"),
            ]
            // The server refuses a second answer, an answer that the item does not offer, and an answer to an item without actions.
            for (seq, action) in [(Seq(1), "no"), (2, "maybe"), (3, "yes")] {
                try await tested.client.act(.seq(seq), action: action)
            }
            #expect(try await tested.client.inbox(asking).elements.isEmpty)
            let tray = await tested.client.tray.tray
            #expect(tray.awaiting == 0 && tray.unread == 1)
            let shown = try await tested.client.item(.seq(1)).outcome
            #expect(shown?.action == "yes" && shown?.note == "at once" && shown?.actor == "ann")
            // Another device was faster with the second one.
            _ = try await tested.service.store.perform(.act(.seq(2), of: "ann", action: "no"))
            tested.service.weather = .fine
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            #expect(await tested.client.outbox.entry(answers[0].id)?.state != .failed)
            #expect(await tested.client.outbox.entry(answers[1].id)?.problem?.code == "alreadyActed")
            #expect(try await tested.client.item(.seq(2)).outcome?.action == "no")
            #expect(await tested.client.outbox.entries.count { $0.state == .failed } == 4)
            try await tested.expectEqual()
        }
    }

    @Test func anAnswerToATextThatWasEditedMeanwhileFailsAndTheItemAsksAgain() async throws {
        let actions = [ItemAction(id: "yes", label: "Yes"), ItemAction(id: "no", label: "No")]
        let fill: @Sendable (Store) throws -> Void = { store in
            for title in ["100 to Bob", "another"] {
                _ = try store.blocking.perform(.notify("ann", Content(title: title, actions: actions)))
            }
        }
        try await withClient(before: fill) { tested in
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            let shown = try await tested.client.inbox().asOf
            tested.service.weather = .offline
            var edit = ContentEdit()
            edit.title = .set("10000 to Eve")
            let late = try await tested.client.act(.seq(1), action: "yes")
            let good = try await tested.client.act(.seq(2), action: "yes", asOf: shown)
            #expect(await tested.client.tray.tray.awaiting == 0)
            try await tested.service.store.perform(.edit(1, of: "ann", edit))
            tested.service.weather = .fine
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            #expect(await tested.client.outbox.entry(late.id)?.problem?.code == "changedSince")
            #expect(await tested.client.outbox.entry(good.id)?.state != .failed)
            let item = try await tested.client.item(.seq(1))
            #expect(item.content.title == "10000 to Eve" && item.outcome == nil)
            #expect(await tested.client.tray.tray.awaiting == 1)
            // Having read it again, its user can answer.
            let page = try await tested.client.inbox()
            try await tested.client.act(.seq(1), action: "no", asOf: page.asOf)
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            #expect(try await tested.client.item(.seq(1)).outcome?.asOf == page.asOf)
            try await tested.expectEqual()
        }
    }

    @Test func quietTimesShowAtOnceAndCoverLaterItems() async throws {
        try await withClient(before: fill) { tested in
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            tested.service.weather = .offline
            let until = Timestamp(milliseconds: 4_000_000_000_000)
            try await tested.client.mute(.all, until: until)
            try await tested.client.mute(.thread("t"))
            let mutes = try await tested.client.mutes().mutes
            #expect(mutes.map(\.scope) == [.all, .thread("t")] && mutes.map(\.until) == [until, nil])
            tested.service.weather = .fine
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            _ = try await tested.service.store.perform(.notify("ann", title: "quiet"))
            _ = try await tested.service.store.perform(.notify("ann", Content(title: "loud", level: .critical)))
            await tested.client.refresh(.pull)
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            #expect(await tested.client.tray.tray.unread == 7)
            try await tested.expectEqual()
            try await tested.client.unmute(.all)
            try await tested.restart()
            #expect(try await tested.client.mutes().mutes.map(\.scope) == [.thread("t")])
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            try await tested.expectEqual()
        }
    }

    @Test func aMarkShowsAtOnceAndDisappearsIfTheServerRefusesIt() async throws {
        try await withClient(before: fill) { tested in
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            tested.service.weather = .offline
            try await tested.client.mark(.deleted, [.seq(3)])
            #expect(await tested.client.tray.tray.total == 5)
            // Meanwhile it is erased from the server's history by nobody; the snooze of a retracted item is refused.
            _ = try await tested.service.store.perform(.retract(.seq(4), of: "ann"))
            let snooze = try await tested.client.snooze(.seq(4), until: Timestamp(milliseconds: 4_000_000_000_000))
            #expect(await tested.client.tray.tray.total == 4)
            tested.service.weather = .fine
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            #expect(await tested.client.outbox.entry(snooze.id)?.state == .failed)
            try await tested.expectEqual()
        }
    }

    @Test func anUndoRemovesAnUnsentMarkAndQueuesTheUndoOfASentOne() async throws {
        try await withClient(before: fill) { tested in
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            await tested.client.setOffline(true)
            let first = try await tested.client.mark(.read, [.seq(1)])
            #expect(try await tested.client.undo(first.id) == first.id)
            #expect(await tested.client.tray.tray.unread == 6)
            await tested.client.setOffline(false)
            let second = try await tested.client.mark(.read, [.seq(2)])
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            #expect(try await tested.client.undo(second.id) != second.id)
            #expect(await tested.client.tray.tray.unread == 6)
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            try await tested.expectEqual()
            #expect(try await tested.service.store.history(of: "ann", limit: .max).elements.last?.kind == .undone)
        }
    }

    @Test func aShownMarkNeverFlickersWhileItIsConfirmed() async throws {
        try await withClient(before: fill) { tested in
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            let trays = await tested.client.trays
            let watcher = Task { () -> [Int] in
                var unread: [Int] = []
                for await view in trays { unread.append(view.tray.unread) }
                return unread
            }
            for item in 1...6 {
                try await tested.client.mark(.read, [.seq(Seq(UInt64(item)))])
                if item % 2 == 0 { await tested.client.refresh(.pull) }
            }
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            await tested.client.close()
            let shown = await watcher.value
            #expect(shown == shown.sorted(by: >), "\(shown)")
            #expect(shown.last == 0)
        }
    }

    @Test(arguments: [0, -1, 101])
    func aLimitIsRefusedBeforeTheFirstAnswerAsAfterIt(limit: Int) async throws {
        try await withClient(weather: .offline) { tested in
            for weather in [SimulatedService.Weather.offline, .fine] {
                tested.service.weather = weather
                await tested.client.refresh(.pull)
                if weather == .fine { #expect(await tested.client.wait(for: .synced, seconds: 30)) }
                await #expect(throws: Refusal.self) { try await tested.client.inbox(InboxQuery(limit: limit)) }
                await #expect(throws: Refusal.self) { try await tested.client.threads(limit: limit) }
            }
        }
    }

    @Test func anyNumberOfTriggersMakeOneRequest() async throws {
        try await withClient(before: fill) { tested in
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            let before = tested.service.requests.count
            let client = tested.client
            await client.run { client in for trigger in RefreshTrigger.allCases { client.refresh(trigger) } }
            while await client.status != .upToDate(through: 6) { await Task.yield() }
            #expect(tested.service.requests.count == before + 1)
        }
    }

    @Test func pollingIsRaisedToTwoMinutesAndASecondCallReplacesTheFirst() async throws {
        try await withClient { tested in
            #expect(await tested.client.poll(everySeconds: 5) == 120)
            #expect(await tested.client.poll(everySeconds: 300) == 300)
            #expect(await tested.client.pollSeconds == 300)
            #expect(await tested.client.poll(everySeconds: 0) == 0)
        }
    }

    @Test func anUndoBelowTheSnapshotAndACompactionBringANewSnapshot() async throws {
        try await withClient(before: fill) { tested in
            _ = try await tested.service.store.perform(.mark(.read, 2, of: "ann"))
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            _ = try await tested.service.store.perform(.undo(7, of: "ann"))
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            try await tested.expectEqual()
            tested.service.weather = .offline
            for index in 0..<9 { _ = try await tested.service.store.perform(.notify("ann", title: "m\(index)")) }
            _ = try await tested.service.store.upkeep.compact(before: .seq(try await tested.service.store.log.head()))
            try await tested.client.mark(.read, [.seq(1)])
            tested.service.weather = .fine
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            try await tested.expectEqual()
        }
    }

    @Test func anExpiredTokenIsRenewedOnceAndOtherwiseWaitedFor() async throws {
        try await withClient(before: fill) { tested in
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            tested.service.set(valid: "newer", given: "newer")
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            tested.service.set(valid: "newest", given: "newer")
            let mark = try await tested.client.mark(.read, [.seq(1)])
            while await tested.client.status != .authenticationRequired { await Task.yield() }
            #expect(await tested.client.outbox.entry(mark.id)?.attempts == 0)
            tested.service.set(valid: "newest", given: "newest")
            await tested.client.refresh(.pull)
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            try await tested.expectEqual()
        }
    }

    @Test func anItemArrivesOnceAlsoAfterARestartAndIsWithdrawnWhenReadElsewhere() async throws {
        try await withClient(before: fill) { tested in
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            var arrivals = await tested.client.arrivals.makeAsyncIterator()
            var withdrawals = await tested.client.withdrawals.makeAsyncIterator()
            _ = try await tested.service.store.perform(.notify("ann", title: "loud"))
            _ = try await tested.service.store.perform(.notify("ann", title: "quiet", level: .passive))
            _ = try await tested.service.store.perform(.notify("ann", title: "seen at once"))
            _ = try await tested.service.store.perform(.mark(.read, 9, of: "ann"))
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            let arrived = await arrivals.next() ?? []
            #expect(arrived.map(\.item.seq) == [7, 8])
            #expect(arrived.map(\.presentation) == [.alert, .badge])
            _ = try await tested.service.store.perform(.mark(.read, 7, of: "ann"))
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            #expect(await withdrawals.next() == [7])
            try await tested.restart()
            var again = await tested.client.arrivals.makeAsyncIterator()
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            _ = try await tested.service.store.perform(.notify("ann", title: "newer"))
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            #expect(await again.next()?.map(\.item.seq) == [12])
        }
    }
}

extension TrayClient {
    /// Runs something on the client's thread, without others in between.
    func run(_ body: @Sendable (isolated TrayClient) -> Void) { body(self) }
}
