import Foundation
import Testing
@_spi(Replication) import Traylog

/// What a newcomer stumbled over once, each as a claim that holds now.
///
/// What is said of documents is tested with those (`NamedFilesTests`), and the imports with the architecture.
@Suite struct NewcomerTests {
    private func withStore(_ body: (Store) async throws -> Void) async throws {
        let store = try Store.temporary()
        do { try await body(store) } catch {
            await store.close()
            throw error
        }
        await store.close()
    }

    /// A dot of one device, as the guide has it: something counted is newer than what was shown here.
    private func hasDot(_ tray: Tray, shownHere: Seq) -> Bool { tray.newestCounted.map { $0 > shownHere } ?? false }

    @Test func aDotOfThisDeviceIsNotLitByMutedItems() async throws {
        try await withStore { store in
            try await store.perform(.mute(.thread("noise"), of: "ann"))
            try await store.notify("ann", title: "m", thread: "noise")
            let muted = try await store.tray(of: "ann")
            #expect(muted.isSeen && muted.newest == 2 && !hasDot(muted, shownHere: 0))
            try await store.notify("ann", title: "n")
            #expect(hasDot(try await store.tray(of: "ann"), shownHere: 2))
        }
    }

    @Test func aPathThatCannotBeSaysWhatIsWrongWithIt() async throws {
        for path in ["", "/nowhere/at/all/store"] {
            do {
                _ = try Store.open(path)
                Issue.record("\(path) was opened")
            } catch {
                guard case .failed(let failure) = error else { throw error }
                #expect(failure.code == .notFound)
                #expect(
                    !failure.message.hasPrefix(":") && failure.message.contains(path.isEmpty ? "empty" : path),
                    "\(failure)")
            }
        }
    }

    @Test func anUndoTakesBackAnActThatChangedNothingAtItsTime() async throws {
        try await withStore { store in
            try await store.notify("ann", title: "n")
            let all = try await store.markAll(.read, of: "ann")
            #expect(try await store.mark(.read, 1, of: "ann") == .unchanged)
            try await store.undo(try #require(all.seq), of: "ann")
            #expect(try await store.tray(of: "ann").unread == 1)
        }
    }

    @Test func anObservationKeepsItsStoreOpen() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("traylog-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        var trays = try Store.open(path).trayUpdates(of: "ann").makeAsyncIterator()
        #expect(try await trays.next()?.total == 0)
        #expect(throws: TraylogError.self) { try Store.open(path) }
    }

    @Test func aRetractedItemLeavesAFetcherWithAnUpdate() async throws {
        try await withStore { store in
            try await store.notify("ann", title: "1")
            try await store.notify("ann", title: "2")
            let fetcher = try InboxFetcher(store, of: "ann")
            try await fetcher.fetchNew()
            try await store.perform(.retract(1, of: "ann"))
            #expect(try await fetcher.mark(.read, fetcher.items[1]) == .unchanged)
            try await fetcher.update()
            #expect(fetcher.items.map(\.seq) == [2])
        }
    }

    /// Marks items, whatever the store answers to the rest.
    private struct Scripted: InboxSource {
        var items: [Item]

        func page(of user: String, _ query: InboxQuery) -> Page<Item, Cursor> {
            Page(items, asOf: 9)
        }

        func items(_ seqs: [Seq], of user: String) -> [Item] { items.filter { seqs.contains($0.seq) } }
    }

    @Test func aListIsTestedWithoutAStore() async throws {
        let item = Item(seq: 1, position: 1, content: Content(title: "Made up"), recordedAt: .now)
        let fetcher = try InboxFetcher(Scripted(items: [item]), of: "ann")
        #expect(try await fetcher.fetchNew().new == [item])
    }

    @Test func longAnswersComeInPagesAndAsSequences() async throws {
        try await withStore { store in
            _ = try await store.perform(
                (1...250).map { .notify($0 % 2 == 0 ? "ann" : "bob", title: "\($0)") }, mode: .each)
            var page = try await store.log.events()
            var seqs = page.elements.map(\.seq)
            #expect(seqs.count == 100)
            while let next = page.next {
                page = try await store.log.events(from: next)
                seqs += page.elements.map(\.seq)
            }
            #expect(seqs == (1...250).map { Seq($0) })
            let newest = try await store.history(of: "ann", newestFirst: true, limit: 2)
            #expect(newest.elements.map(\.seq) == [250, 248] && newest.next == 247)
            let older = try await store.history(of: "ann", newestFirst: true, from: newest.next, limit: 1_000)
            #expect(
                older.elements.map(\.seq) == stride(from: 246, through: 2, by: -2).map { Seq($0) } && older.next == nil)
            var filter = EventFilter()
            filter.user = "bob"
            var all: [Seq] = []
            for try await event in store.log.allEvents(matching: filter, newestFirst: true) { all.append(event.seq) }
            #expect(all == stride(from: 249, through: 1, by: -2).map { Seq($0) })
            var users: [String] = []
            for try await user in store.allUsers() { users.append(user) }
            #expect(users == ["ann", "bob"])
            #expect(try await store.users(limit: 1) == Page(["ann"], next: "ann", asOf: 250))
            await #expect(throws: TraylogError.self) { try await store.log.events(limit: -1) }
        }
    }

    @Test func aSequenceOfAllEventsEndsBesideABusyWriter() async throws {
        try await withStore { store in
            _ = try await store.perform((1...600).map { .notify("ann", title: "\($0)") }, mode: .each)
            var count = 0
            for try await _ in store.log.allEvents() {
                count += 1
                try await store.notify("ann", title: "meanwhile")
            }
            #expect(count == 600)
        }
    }

    @Test func recordsTravelAsJSON() async throws {
        try await withStore { store in
            try await store.notify("ann", title: "n")
            let records = try await store.records(after: 0)
            let decoded = try JSONDecoder().decode([LogRecord].self, from: JSONEncoder().encode(records))
            #expect(decoded == records && decoded.count == 1)
            let page = try await store.log.events()
            #expect(try JSONDecoder().decode(Page<Event, Seq>.self, from: JSONEncoder().encode(page)) == page)
            #expect(throws: DecodingError.self) {
                try JSONDecoder().decode(LogRecord.self, from: Data(#"{"seq":1,"record":"?"}"#.utf8))
            }
        }
    }
}
