import Testing

@testable import Traylog

/// A fetcher shows what its query asks for.
@Suite struct SilentItemsTests {
    @Test(
        arguments: [
            (nil, false, 1), (nil, true, 2), (true, true, 1), (false, false, 2), (true, false, 1), (false, true, 2),
        ] as [(Bool?, Bool, Int)])
    func aFetcherTakesSilentItemsByItsQueryUnlessToldOtherwise(filters: Bool?, includes: Bool, count: Int) async throws
    {
        let store = try Store.temporary()
        try await store.perform(.notify("ann", Content(title: "loud")))
        try await store.perform(.notify("ann", Content(title: "silent", isSilent: true)))
        let fetcher = try InboxFetcher(
            store, user: "ann", filtersSilent: filters, query: InboxQuery(includeSilent: includes))
        try await fetcher.fetchNew()
        #expect(fetcher.items.count == count && fetcher.filtersSilent == (count == 1))
        await store.close()
    }
}
