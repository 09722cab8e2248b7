import Testing
import Traylog
import TraylogClient

/// The library's fetcher on a device.
struct TrayFetcherTests {
    private func fill(_ store: Store, _ count: Int) throws {
        for index in 0..<count { _ = try store.blocking.perform(.notify("ann", title: "n\(index)")) }
    }

    @Test func pagesAreLoadedToTheEndAndThenRefused() async throws {
        try await withClient(before: { try fill($0, 45) }) { tested in
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            let fetcher = try tested.client.fetcher()
            #expect(fetcher.items.isEmpty)
            #expect(try await fetcher.fetchNextPage().new.count == 20)
            while !fetcher.endReached { try await fetcher.fetchNextPage() }
            #expect(fetcher.items.map(\.seq) == (1...45).reversed().map { Seq($0) })
            await #expect(throws: TraylogError.refused(.endReached)) { try await fetcher.fetchNextPage() }
            #expect(throws: TraylogError.self) { try tested.client.fetcher(pageSize: 101) }
        }
    }

    @Test func marksShowAtOnceAndRefusedOnesDisappearWithAnUpdate() async throws {
        try await withClient(before: { try fill($0, 5) }) { tested in
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            let fetcher = try tested.client.fetcher()
            try await fetcher.fetchNew()
            let items = fetcher.items
            try await fetcher.mark(.read, items[0])
            try await fetcher.mark(.deleted, items[1])
            try await fetcher.mark(.archived, items[2])
            #expect(fetcher.items.map(\.seq) == [5, 2, 1])
            #expect(fetcher.items[0].isRead)
            // Items that arrived after the last fetch are not covered.
            let later = try #require(try await tested.service.store.notify("ann", title: "later").seq)
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            try await fetcher.markAllAsRead()
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            #expect(try await tested.service.store.tray(of: "ann").unread == 1)
            tested.service.weather = .offline
            let entry = try await fetcher.mark(.deleted, items[4])
            #expect(fetcher.items.map(\.seq) == [5, 2])
            try await tested.client.undo(entry.id)
            try await fetcher.fetchNew()
            #expect(fetcher.items.map(\.seq) == [later, 5, 2, 1])
            // Done on another device, below the newest page or not.
            tested.service.weather = .fine
            _ = try await tested.service.store.perform(.mark(.deleted, [.seq(2)], of: "ann"))
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            try await fetcher.update()
            #expect(fetcher.items.map(\.seq) == [later, 5, 1])
        }
    }
}
