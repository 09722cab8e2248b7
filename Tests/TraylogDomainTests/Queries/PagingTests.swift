import Testing

@testable import TraylogDomain

@Suite struct PagingTests {
    private func walk(_ script: Script, _ query: InboxQuery) throws -> [[UInt64]] {
        var query = query
        var pages: [[UInt64]] = []
        repeat {
            let page = try script.inbox(query)
            pages.append(page.seqs)
            query.cursor = page.next
        } while query.cursor != nil
        return pages
    }

    @Test(arguments: [1, 7, 50, 100])
    func pagesShowEveryItemOnce(limit: Int) throws {
        var script = Script()
        try script.notify(200)
        let pages = try walk(script, InboxQuery(limit: limit))
        #expect(pages.flatMap { $0 } == (1...200).reversed())
        #expect(pages.dropLast().allSatisfy { $0.count == limit })
    }

    @Test func anEmptyTrayHasOneEmptyPage() throws {
        #expect(try walk(Script(), InboxQuery()) == [[]])
        #expect(try Script().inbox(InboxQuery(cursor: Cursor(before: Seq(.max)))).seqs.isEmpty)
        #expect(try Script().threads(cursor: Cursor(before: 1)).elements.isEmpty)
    }

    @Test func filteredItemsDoNotShortenAPage() throws {
        var script = Script()
        for index in 0..<200 { try script.notify(1, Content(category: index.isMultiple(of: 50) ? "rare" : "often")) }
        #expect(try walk(script, InboxQuery(ItemFilter(categories: ["rare"]), limit: 3)) == [[151, 101, 51], [1]])
        #expect(try walk(script, InboxQuery(ItemFilter(categories: ["rare"]), limit: 4)) == [[151, 101, 51, 1]])
        #expect(try walk(script, InboxQuery(ItemFilter(categories: ["none"]))) == [[]])
        #expect(
            try walk(script, InboxQuery(ItemFilter(categories: ["none", "rare"]), limit: 4)) == [[151, 101, 51, 1]])
    }

    @Test func inboxFiltersCombine() throws {
        var script = Script()
        for thread in [nil, "t"] {
            for category in [nil, "c"] {
                for silent in [false, true] {
                    try script.notify(1, Content(thread: thread, category: category, isSilent: silent))
                }
            }
        }
        try script.mark(.read, 5)
        try script.mark(.archived, 7)
        let shown = { (query: InboxQuery) in try script.inbox(query).seqs }
        #expect(try shown(InboxQuery()) == [5, 3, 1])
        #expect(try shown(InboxQuery(ItemFilter(includeSilent: true))) == [8, 6, 5, 4, 3, 2, 1])
        #expect(try shown(InboxQuery(ItemFilter(onlyUnread: true))) == [3, 1])
        #expect(try shown(InboxQuery(ItemFilter(thread: .unthreaded))) == [3, 1])
        #expect(try shown(InboxQuery(ItemFilter(thread: .unthreaded, categories: ["c"]))) == [3])
        #expect(
            try shown(InboxQuery(ItemFilter(includeSilent: true, onlyUnread: true, thread: .named("t")))) == [8, 6])
        #expect(try shown(InboxQuery(view: .archived)) == [7])
        #expect(try shown(InboxQuery(ItemFilter(thread: .unthreaded), view: .archived)) == [])
        #expect(try shown(InboxQuery(view: .snoozed)) == [])
        try script.mark(.deleted, 7)
        #expect(try shown(InboxQuery(view: .archived)) == [])
    }

    @Test func aCursorOutlivesItsItemAndNewOnes() throws {
        var script = Script()
        try script.notify(150)
        var query = InboxQuery(limit: 60)
        let first = try script.inbox(query)
        #expect(first.seqs.last == 91)
        try script.mark(.deleted, 91, 90, 60)
        try script.notify(80)
        query.cursor = first.next
        let rest = try walk(script, query).flatMap { $0 }
        let expected: [UInt64] = (1...89).reversed().filter { $0 != 60 }
        #expect(rest == expected)
    }

    @Test(arguments: [1, 2, 5, 100])
    func threadsComeByTheirNewestItem(limit: Int) throws {
        var script = Script()
        for index in 0..<120 { try script.notify(1, Content(thread: index % 6 == 0 ? nil : "t\(index % 6)")) }
        try script.markAll(.deleted, ItemFilter(thread: .named("t5")))
        try script.mark(.read, 1, 115)
        var groups: [ThreadGroup] = []
        var cursor: Cursor?
        repeat {
            let page = try script.threads(limit: limit, cursor: cursor)
            #expect(page.next == nil || page.elements.count == limit)
            groups += page.elements
            cursor = page.next
        } while cursor != nil
        #expect(groups.map(\.thread) == ["t4", "t3", "t2", "t1", nil])
        #expect(groups.map(\.newest.seq) == [119, 118, 117, 116, 115])
        #expect(groups.allSatisfy { $0.count == 20 && $0.summary == "19 more notifications" })
        #expect(groups.map(\.unread) == [20, 20, 20, 20, 18])
        #expect(groups.map(\.unseen) == [20, 20, 20, 20, 18])
    }
}
