import Testing
import TestSupport
import TraylogLMDB
@_spi(Operations) @testable import Traylog
@testable import TraylogDomain

/// The fetcher as an app uses it.
@Suite struct InboxFetcherTests {
    /// Lends a store with a number of items of ann, item 1 the oldest.
    private func withStore(items: Int, _ body: (Store) async throws -> Void) async throws {
        try await withStorePath { path in
            let store = try Store.open(path)
            defer { store.close() }
            try await add(items, store)
            try await body(store)
        }
    }

    private func add(_ count: Int, _ store: Store) async throws {
        _ = try await store.perform((0..<count).map { _ in notify("ann") })
    }

    private func seqs(_ range: ClosedRange<UInt64>) -> [Seq] { range.reversed().map { Seq($0) } }

    @Test func pagesFollowEachOtherToTheEnd() async throws {
        try await withStore(items: 45) { store in
            let fetcher = try InboxFetcher(store, of: "ann")
            #expect(fetcher.items.isEmpty && !fetcher.endReached)
            let first = try await fetcher.fetchNextPage()
            #expect(first.new.map(\.seq) == seqs(26...45) && !first.hasGap && !first.endReached)
            try await fetcher.fetchNextPage()
            let last = try await fetcher.fetchNextPage()
            #expect(last.new.map(\.seq) == seqs(1...5) && last.endReached)
            #expect(fetcher.items.map(\.seq) == seqs(1...45) && fetcher.endReached)
            await #expect(throws: TraylogError.refused(.endReached)) { try await fetcher.fetchNextPage() }
        }
    }

    @Test func aSearchIsPagedAndRefreshedButNotMarkedAsAWhole() async throws {
        try await withStore(items: 3) { store in
            for title in ["Hit", "n", "HIT", "n", "hit", "n"] {
                _ = try await store.perform([Command(user: "ann", .notify(Content(title: title)))])
            }
            let query = InboxQuery(ItemFilter(text: "hit"))
            let fetcher = try InboxFetcher(store, of: "ann", pageSize: 2, query: query)
            try await fetcher.fetchNew()
            #expect(fetcher.items.map(\.seq) == [8, 6])
            let last = try await fetcher.fetchNextPage()
            #expect(last.new.map(\.seq) == [4] && last.endReached)
            try await add(5, store)
            _ = try await store.perform([Command(user: "ann", .notify(Content(title: "hit")))])
            let refreshed = try await fetcher.fetchNew()
            #expect(refreshed.new.map(\.seq) == [15] && !refreshed.hasGap)
            #expect(fetcher.items.map(\.seq) == [15, 8, 6, 4])
            let error = await #expect(throws: TraylogError.self) { try await fetcher.markAllAsRead() }
            guard case .refused(.invalid("text", _))? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(try await store.tray(of: "ann").unread == 15)
        }
    }

    @Test func aFetcherStopsAtItsLimit() async throws {
        try await withStore(items: 45) { store in
            let fetcher = try InboxFetcher(store, of: "ann", limit: 30)
            try await fetcher.fetchNew()
            let last = try await fetcher.fetchNextPage()
            #expect(last.new.count == 10 && last.endReached && fetcher.endReached)
            await #expect(throws: TraylogError.refused(.endReached)) { try await fetcher.fetchNextPage() }
            // Without a limit everything comes.
            let all = try InboxFetcher(store, of: "ann", pageSize: 100, limit: 0)
            try await all.fetchNew()
            #expect(all.items.count == 45)
        }
    }

    @Test func aRefreshKeepsWhatIsLoadedAndPutsTheNewOnTop() async throws {
        try await withStore(items: 30) { store in
            let fetcher = try InboxFetcher(store, of: "ann", pageSize: 10)
            try await fetcher.fetchNew()
            try await fetcher.fetchNextPage()
            // A page and no more.
            try await add(10, store)
            let result = try await fetcher.fetchNew()
            #expect(result == FetchResult(new: Array(fetcher.items.prefix(10)), hasGap: false, endReached: false))
            #expect(fetcher.items.map(\.seq) == seqs(11...40))
            try await fetcher.fetchNextPage()
            #expect(fetcher.items.map(\.seq) == seqs(1...40))
        }
    }

    @Test func moreThanOnePageOfNewItemsIsAGap() async throws {
        try await withStore(items: 30) { store in
            let fetcher = try InboxFetcher(store, of: "ann", pageSize: 10)
            try await fetcher.fetchNew()
            try await fetcher.fetchNextPage()
            try await add(11, store)
            let result = try await fetcher.fetchNew()
            #expect(result.hasGap && result.new.map(\.seq) == seqs(32...41))
            #expect(fetcher.items.map(\.seq) == seqs(32...41))
            try await fetcher.fetchNextPage()
            #expect(fetcher.items.map(\.seq) == seqs(22...41))
        }
    }

    @Test func aRefreshShowsWhatOthersDidInItsRange() async throws {
        try await withStore(items: 5) { store in
            let fetcher = try InboxFetcher(store, of: "ann")
            try await fetcher.fetchNew()
            var edit = ContentEdit()
            edit.title = .set("New")
            _ = try await store.perform([
                Command(user: "ann", .edit(.seq(4), edit)), Command(user: "ann", .mark(.read, [.seq(3)])),
                Command(user: "ann", .mark(.archived, [.seq(2)])), Command(user: "ann", .retract(.seq(1))),
            ])
            let result = try await fetcher.fetchNew()
            #expect(result.new.isEmpty)
            #expect(fetcher.items.map(\.seq) == [5, 4, 3])
            #expect(fetcher.items[1].content.title == "New")
            #expect(fetcher.items[2].isRead)
        }
    }

    @Test func silentItemsAreFilteredUnlessWanted() async throws {
        try await withStore(items: 1) { store in
            _ = try await store.perform(Command(user: "ann", .notify(Content(isSilent: true))))
            let (without, with) = (
                try InboxFetcher(store, of: "ann"),
                try InboxFetcher(store, of: "ann", query: InboxQuery(ItemFilter(includeSilent: true)))
            )
            try await without.fetchNew()
            try await with.fetchNew()
            #expect(without.items.map(\.seq) == [1])
            #expect(with.items.map(\.seq) == [2, 1])
        }
    }

    @Test func markingAllLeavesWhatArrivedSince() async throws {
        try await withStore(items: 3) { store in
            let fetcher = try InboxFetcher(store, of: "ann", pageSize: 2)
            let nothing = try await fetcher.markAllAsRead()
            #expect(nothing == nil)
            try await fetcher.fetchNew()
            try await add(1, store)
            // A page from below is as of a later head, and shows nothing of what is above.
            try await fetcher.fetchNextPage()
            try await fetcher.markAllAsRead()
            let shown = fetcher.items
            let stored = try await store.inbox(of: "ann").elements
            #expect(shown.map(\.seq) == [3, 2, 1] && shown.allSatisfy { $0.isRead && $0.isSeen })
            #expect(stored.map(\.isRead) == [false, true, true, true])
        }
    }

    @Test func marksShowAtOnceAndAreStored() async throws {
        try await withStore(items: 3) { store in
            let fetcher = try InboxFetcher(store, of: "ann")
            try await fetcher.fetchNew()
            let items = fetcher.items
            // The call that has the lock keeps the marks from the store.
            await fetcher.lock.acquire()
            let marks = Task {
                try await fetcher.mark(.read, items[0])
                try await fetcher.mark(.deleted, items[1])
            }
            while fetcher.items[0].isRead == false { await Task.yield() }
            let before = try await store.tray(of: "ann")
            #expect(before.unread == 3)
            fetcher.lock.release()
            try await marks.value
            #expect(fetcher.items.map(\.seq) == [3, 1])
            let after = try await store.inbox(of: "ann").elements
            #expect(after == fetcher.items)
        }
    }

    @Test func marksThatFailAreTakenBack() async throws {
        try await withStore(items: 3) { store in
            let fetcher = try InboxFetcher(store, of: "ann")
            try await fetcher.fetchNew()
            let items = fetcher.items
            var stranger = items[0]
            stranger.seq = 99
            await #expect(throws: TraylogError.self) { try await fetcher.mark(.read, stranger) }
            await store.close()
            await #expect(throws: TraylogError.self) { try await fetcher.mark(.read, items[0]) }
            await #expect(throws: TraylogError.self) { try await fetcher.mark(.deleted, items[1]) }
            await #expect(throws: TraylogError.self) { try await fetcher.markAllAsRead() }
            await #expect(throws: TraylogError.self) { try await fetcher.fetchNew() }
            #expect(fetcher.items == items)
        }
    }

    @Test func simultaneousCallsOfAFetcherTakeTurns() async throws {
        try await withStore(items: 100) { store in
            let fetcher = try InboxFetcher(store, of: "ann", pageSize: 7)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<10 { group.addTask { try await fetcher.fetchNextPage() } }
                for _ in 0..<5 { group.addTask { try await fetcher.fetchNew() } }
                try await group.waitForAll()
            }
            let items = fetcher.items.map(\.seq)
            #expect(items == seqs(UInt64(101 - items.count)...100))
            #expect(items.count >= 70)
        }
    }

    @Test func aFetcherWorksOnAReader() async throws {
        try await withStorePath { path in
            let store = try Store.open(path)
            try await add(5, store)
            await store.close()
            let reader = try StoreReader.open(path)
            defer { reader.close() }
            let fetcher = try InboxFetcher(reader, of: "ann")
            try await fetcher.fetchNew()
            #expect(fetcher.items.count == 5)
        }
    }

    @Test func everyMarkShowsAsTheStoreHasIt() async throws {
        try await withStore(items: 4) { store in
            let fetcher = try InboxFetcher(store, of: "ann")
            try await fetcher.fetchNew()
            let items = fetcher.items
            try await fetcher.mark(.seen, items[0])
            try await fetcher.mark(.read, items[1])
            try await fetcher.mark(.unread, items[1])
            try await fetcher.mark(.archived, items[2])
            #expect(fetcher.items == (try await store.inbox(of: "ann").elements))
            #expect(fetcher.items.map(\.seq) == [4, 3, 1])
        }
    }

    @Test func aFilteredFetcherHasWhatMatches() async throws {
        try await withStore(items: 2) { store in
            try await store.notify("ann", title: "CI", thread: "ci", category: "build")
            try await store.notify("ann", title: "Other", thread: "ci", category: "chat")
            try await store.perform(.mark(.read, [.seq(1)], of: "ann"))
            try await store.perform(.mark(.archived, [.seq(2)], of: "ann"))
            let queries: [(InboxQuery, [Seq])] = [
                (InboxQuery(ItemFilter(thread: "ci")), [4, 3]), (InboxQuery(ItemFilter(categories: ["build"])), [3]),
                (InboxQuery(ItemFilter(onlyUnread: true)), [4, 3]), (InboxQuery(view: .archived), [2]),
            ]
            for (query, expected) in queries {
                let fetcher = try InboxFetcher(store, of: "ann", query: query)
                try await fetcher.fetchNew()
                #expect(fetcher.items.map(\.seq) == expected)
            }
            let build = try InboxFetcher(store, of: "ann", query: InboxQuery(ItemFilter(categories: ["build"])))
            try await build.fetchNew()
            try await build.markAllAsRead()
            #expect(try await store.inbox(of: "ann").elements.map(\.isRead) == [false, true, true])
        }
    }

    @Test func anUpdateReachesWhatLiesBelowTheNewestPage() async throws {
        try await withStore(items: 30) { store in
            let fetcher = try InboxFetcher(store, of: "ann", pageSize: 10)
            for _ in 0..<3 { try await fetcher.fetchNextPage() }
            try await store.perform(.mark(.read, [.seq(2)], of: "ann"))
            try await store.perform(.mark(.deleted, [.seq(3)], of: "ann"))
            try await fetcher.fetchNew()
            #expect(fetcher.items.count == 30)
            try await fetcher.update()
            #expect(fetcher.items == (try await store.inbox(of: "ann", InboxQuery(limit: 100)).elements))
        }
    }

    @Test func aFetcherReportsEachChange() async throws {
        try await withStore(items: 3) { store in
            var fetcher: InboxFetcher<Store>? = try InboxFetcher(store, of: "ann")
            var updates = try #require(fetcher?.updates).makeAsyncIterator()
            #expect(await updates.next() == [])
            try await fetcher?.fetchNew()
            let items = try #require(await updates.next())
            #expect(items.map(\.seq) == [3, 2, 1])
            try await fetcher?.mark(.read, items[0])
            #expect(await updates.next()?.map(\.isRead) == [true, false, false])
            fetcher = nil
            #expect(await updates.next() == nil)
        }
    }

    @Test(arguments: [(0, 0), (101, 0), (20, -1)])
    func impossibleSizesOfAFetcherAreRefused(pageSize: Int, limit: Int) async throws {
        try await withStore(items: 0) { store in
            #expect(throws: TraylogError.self) {
                _ = try InboxFetcher(store, of: "ann", pageSize: pageSize, limit: limit)
            }
            let nobody = try InboxFetcher(store, of: "")
            await #expect(throws: TraylogError.self) { try await nobody.fetchNextPage() }
        }
    }
}
