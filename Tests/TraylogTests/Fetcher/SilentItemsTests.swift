import Testing

@testable import Traylog

/// A fetcher shows what its query asks for.
@Suite struct SilentItemsTests {
    @Test(arguments: [(false, 1), (true, 2)])
    func aFetcherShowsSilentItemsWhenItsQueryAsksForThem(includes: Bool, count: Int) async throws {
        let store = try Store.temporary()
        try await store.perform(.notify("ann", Content(title: "loud")))
        try await store.perform(.notify("ann", Content(title: "silent", isSilent: true)))
        let fetcher = try InboxFetcher(store, of: "ann", query: InboxQuery(ItemFilter(includeSilent: includes)))
        try await fetcher.fetchNew()
        #expect(fetcher.items.count == count)
        await store.close()
    }
}
