import Testing
@testable import Traylog
@testable import TraylogDomain

/// How pages are merged, for what today's commands cannot bring about.
struct FetchedItemsTests {
    private func item(_ seq: UInt64, at position: UInt64? = nil) -> Item {
        Item(
            seq: Seq(seq), position: Seq(position ?? seq), content: Content(title: "\(seq)"),
            recordedAt: Timestamp(milliseconds: 0))
    }

    private func page(_ asOf: UInt64, _ items: [Item], next: UInt64?) -> Page<Item, Cursor> {
        Page<Item, Cursor>(items, next: next.map { Cursor(before: Seq($0)) }, asOf: Seq(asOf))
    }

    private func loaded(limit: Int = .max, _ pages: Page<Item, Cursor>...) -> FetchedItems {
        var fetched = FetchedItems(limit: limit)
        _ = fetched.refresh(with: pages[0], hasGap: false)
        for page in pages.dropFirst() { _ = fetched.append(page) }
        return fetched
    }

    @Test func aWokenItemMovesToTheTopAndIsNotNew() {
        var fetched = loaded(
            page(9, [item(9), item(8)], next: 8), page(9, [item(7), item(6), item(5)], next: 5))
        let result = fetched.refresh(with: page(11, [item(6, at: 11), item(10)], next: 10), hasGap: false)
        #expect(fetched.items.map(\.seq) == [6, 10, 9, 8, 7, 5])
        #expect(result == FetchResult(new: [item(10)], hasGap: false, endReached: false))
        #expect(fetched.next == Cursor(before: 5))
        #expect(fetched.shownUpTo == 11)
    }

    @Test func aPageThatReachesFurtherMovesTheEnd() {
        var fetched = loaded(page(9, [item(9), item(8)], next: 8))
        _ = fetched.refresh(with: page(10, [item(8), item(3)], next: nil), hasGap: false)
        #expect(fetched.items.map(\.seq) == [8, 3])
        #expect(fetched.endReached)
    }

    @Test func aNextPageBringsKnownItemsUpToDate() {
        var fetched = loaded(page(9, [item(9), item(8)], next: 8))
        let result = fetched.append(page(10, [item(8, at: 7), item(5)], next: 5))
        #expect(fetched.items == [item(9), item(8, at: 7), item(5)])
        #expect(result.new == [item(5)])
    }

    @Test func beyondItsLimitAFetcherDropsTheOldestItems() {
        var fetched = loaded(limit: 3, page(9, [item(9), item(8)], next: 8), page(9, [item(7)], next: nil))
        #expect(fetched.endReached)
        let result = fetched.refresh(with: page(11, [item(11), item(10)], next: 10), hasGap: false)
        #expect(fetched.items.map(\.seq) == [11, 10, 9])
        #expect(result.new.map(\.seq) == [11, 10])
        #expect(fetched.endReached)
        // With room again, the next page continues the remaining items.
        fetched.apply(.one(.deleted, 10))
        #expect(!fetched.endReached)
        #expect(fetched.next == Cursor(before: 9))
    }

    @Test func aGapIsPossibleOnlyWhenNothingOnThePageIsKnownOrOlder() {
        let fetched = loaded(page(9, [item(9)], next: 9))
        #expect(fetched.mayHaveGap(below: page(12, [item(12), item(11)], next: 11)))
        #expect(!fetched.mayHaveGap(below: page(12, [item(12), item(9)], next: 9)))
        #expect(!fetched.mayHaveGap(below: page(12, [item(12), item(11)], next: nil)))
        #expect(!FetchedItems(limit: 5).mayHaveGap(below: page(12, [item(12), item(11)], next: 11)))
    }
}
