import Testing

@testable import TraylogDomain

/// Items that have left the tail change like all others.
///
/// Every history is checked with all pages at hand and with none.
@Suite struct SealedPageTests {
    private func expectCounts(
        _ script: Script, total: Int, unseen: Int, unread: Int, _ location: SourceLocation = #_sourceLocation
    ) throws {
        for tray in [try script.tray(), try script.flushedTray()] {
            #expect([tray.total, tray.unseen, tray.unread] == [total, unseen, unread], sourceLocation: location)
        }
    }

    @Test func theOldestOf96ItemsAreSealed() throws {
        var script = Script()
        try script.notify(95)
        #expect(script.state.sealedPages == 0)
        try script.notify(1)
        #expect(script.state.sealedPages == 1)
        #expect(script.state.pages.map(\.entries.count) == [64])
        #expect(script.state.tail.first == 65)
        #expect(script.flushed.state.pages.isEmpty)
        try expectCounts(script, total: 96, unseen: 96, unread: 96)
        try script.notify(64)
        #expect(script.state.pages.map(\.first) == [1, 65])
        #expect(try script.entry(65)?.seq == 65)
        #expect(try script.entry(64)?.seq == 64)
        #expect(try script.entry(161) == nil)
    }

    @Test func anItemRestoredAfterAllWereDeletedCountsAlone() throws {
        var script = Script()
        try script.notify(200)
        try script.markAll(.deleted)
        try expectCounts(script, total: 0, unseen: 0, unread: 0)
        try script.mark(.restored, 3, 190)
        try expectCounts(script, total: 2, unseen: 2, unread: 2)
        #expect(try script.tray().newest == 190)
        try script.markAll(.deleted)
        try expectCounts(script, total: 0, unseen: 0, unread: 0)
        #expect(try script.entry(3)?.flags.contains(.deleted) == true)
    }

    @Test func aSecondReadAllReadsItemsMarkedUnreadInBetween() throws {
        var script = Script()
        try script.notify(200)
        try script.markAll(.read)
        try script.mark(.unread, 5, 70, 199)
        try expectCounts(script, total: 200, unseen: 0, unread: 3)
        try script.markAll(.read)
        try expectCounts(script, total: 200, unseen: 0, unread: 0)
        #expect(script.flushed.state.rangeMarks.count == 1)
        #expect(try script.entry(5)?.flags.contains(.read) == true)
    }

    /// The marks wait for their pages in order: what was archived is not in the inbox any more when all is deleted.
    @Test func waitingMarksKeepTheirOrder() throws {
        var script = Script()
        try script.notify(150)
        try script.markAll(.archived, ItemFilter(), upTo: 10)
        try script.markAll(.deleted, ItemFilter(), upTo: 20)
        try script.mark(.unarchived, 4)
        try script.markAll(.archived, ItemFilter(), upTo: 30)
        try expectCounts(script, total: 120, unseen: 120, unread: 120)
        #expect(try script.entry(5)?.flags == .archived)
        #expect(try script.entry(4)?.flags == .archived)
        #expect(try script.entry(15)?.flags == .deleted)
        #expect(try script.entry(25)?.flags == .archived)
        #expect(try script.entry(31)?.flags == [])
    }

    /// Which item is the last below a position, in the tail, at its start, in a page, before everything.
    @Test(arguments: [0, 1, 63, 64, 65, 100, 127, 128, 129, 199, 200] as [UInt64])
    func aMarkReachesExactlyItsPosition(upTo: UInt64) throws {
        for mark in BulkMark.allCases {
            var script = Script()
            try script.notify(200)
            try script.markAll(mark, ItemFilter(), upTo: Seq(upTo))
            let left = 200 - Int(upTo)
            let isTaken = mark == .archived || mark == .deleted
            try expectCounts(
                script, total: isTaken ? left : 200, unseen: left, unread: mark == .seen ? 200 : left)
        }
    }

    /// In the tail and in a page, before and after marks of each kind, of which some wait for the page.
    @Test(arguments: [10, 195] as [UInt64])
    func aGoneItemKeepsTheMarksItHadWhenItWent(item: UInt64) throws {
        for filter in [ItemFilter(), ItemFilter(category: "c")] {
            for isSeenBefore in [false, true] {
                for isTallied in [false, true] {
                    var script = Script()
                    try script.notify(isTallied ? 700 : 200, Content(category: "c"))
                    if isSeenBefore { try script.append(.traySeen(upTo: Seq(script.head))) }
                    try script.append(.retracted(item: Seq(item)))
                    let before = try script.entry(item)
                    #expect(try script.flushed.state.isSeen(#require(before)) == isSeenBefore)
                    try script.append(.traySeen(upTo: Seq(script.head)))
                    for mark in BulkMark.allCases { try script.markAll(mark, filter) }
                    let after = try script.entry(item)
                    #expect(after == before)
                    #expect(try script.flushed.state.isSeen(#require(after)) == isSeenBefore)
                    #expect(try script.state.entry(of: item, stored: NoStoredPages()) == before)
                }
            }
        }
    }

    @Test func seeingReachesDeepAndNeverBack() throws {
        var script = Script()
        try script.notify(200)
        try script.append(.traySeen(upTo: 70))
        try expectCounts(script, total: 200, unseen: 130, unread: 200)
        try script.append(.traySeen(upTo: 30))
        try expectCounts(script, total: 200, unseen: 130, unread: 200)
        #expect(script.state.seenUpTo == 70)
        #expect(try script.decide(.mark(.seen, [.seq(70)])) == .unchanged)
        #expect(try script.decide(.mark(.seen, [.seq(71)])) == .append(.marked(.seen, items: [71])))
    }

    @Test func theThirtyThirdWaitingMarkSettlesAll() throws {
        var script = Script()
        try script.notify(200, Content(category: "c0"))
        for index in 0..<32 { try script.markAll(.seen, ItemFilter(category: "c\(index)"), upTo: 100) }
        #expect(script.flushed.state.rangeMarks.count == 32)
        try script.markAll(.read, ItemFilter(category: "c0"), upTo: 50)
        #expect(script.flushed.state.rangeMarks.isEmpty)
        try expectCounts(script, total: 200, unseen: 100, unread: 150)
        #expect(try script.flushedSource.items(at: 1)?.entries[49].flags == [.seen, .read])
        #expect(try script.flushedSource.items(at: 64)?.entries[63].flags == .seen)
    }

    /// A mark by thread changes up to seven pages at once; it is left to more of them, which have tallies.
    @Test(arguments: [7, 8])
    func marksOfAThreadInFewAndManyPages(pages: Int) throws {
        var script = Script()
        try script.notify(pages * 64 + 32, Content(thread: "t", category: "c"))
        #expect(script.state.sealedPages == UInt64(pages))
        let all = UInt64(pages * 64 + 32)
        try script.mark(.read, 7)
        try script.markAll(.archived, ItemFilter(thread: .named("t")), upTo: Seq(all - 10))
        #expect(script.flushed.state.tallies.pageCount == (pages > 7 ? 1 : 0))
        #expect(script.flushed.state.rangeMarks.count == (pages > 7 ? 1 : 0))
        try expectCounts(script, total: 10, unseen: 10, unread: 10)
        #expect(try script.tray()[category: "c"].unread == 10)
        try script.mark(.unarchived, 7, 8)
        try expectCounts(script, total: 12, unseen: 11, unread: 11)
    }

    /// A mark goes when a later one covers it, and when every page has it; those that wait stay few.
    @Test func marksThatNoLongerCoverAnythingAreDropped() throws {
        var script = Script()
        for thread in 0..<100 { try script.notify(12, Content(thread: "t\(thread)", category: "c\(thread % 3)")) }
        let pages = script.state.sealedPages
        for round in 0..<3 {
            for thread in 0..<100 {
                try script.markAll(.seen, ItemFilter(thread: .named("t\(thread)")))
                try script.markAll(.read, ItemFilter(thread: .named("t\(thread)")))
                #expect(script.flushed.state.rangeMarks.count <= 32 + 2 * Int(pages) / 8)
            }
            try expectCounts(script, total: 1_200, unseen: 0, unread: 0)
            if round == 0 { try script.mark(.unread, 5, 700) }
        }
        try script.markAll(.read, ItemFilter(category: "c1"))
        try script.markAll(.read)
        #expect(script.flushed.state.rangeMarks.count == 1)
        #expect(try script.entry(5)?.flags == [.seen, .read])
    }

    @Test func pagesWithManyEditsAreSplit() throws {
        var script = Script()
        try script.notify(200)
        var edit = ContentEdit()
        (edit.title, edit.body, edit.level, edit.data) = (.set("t"), .set("b"), .set(.critical), .set("1"))
        (edit.summaryArgument, edit.summaryCount) = (.set("Ann"), .set(2))
        for item in 1...64 { try script.append(.edited(item: Seq(UInt64(item)), edit)) }
        #expect(script.flushed.state.sealedPages > 2)
        #expect(script.flushed.state.sealedPages == script.state.sealedPages)
        for page in script.state.pages { #expect(page.packed.count <= ItemPage.packedByteLimit) }
        let query = InboxQuery(limit: 100, cursor: Cursor(before: 65))
        let shown = try script.flushed.state.shownItems(
            query, of: Script.user, hasher: Script.hasher, stored: script.flushedSource)
        let items = try shown.items.map { try $0.item(from: script.flushedSource) }
        #expect(items.map(\.seq.rawValue) == (1...64).reversed())
        #expect(items.allSatisfy { $0.content == Content(title: "hi").applying(edit) })
        try expectCounts(script, total: 200, unseen: 200, unread: 200)
    }

    @Test func collapseKeysReachBackIntoSealedPages() throws {
        var script = Script()
        try script.notify(1, Content(collapseKey: "k"))
        try script.notify(150)
        try script.notify(1, Content(collapseKey: "k"))
        #expect(try script.entry(1)?.flags == .gone)
        try script.mark(.deleted, 152)
        try script.notify(1, Content(collapseKey: "k"))
        #expect(try script.entry(152)?.flags == .deleted)
        try script.mark(.restored, 152)
        try expectCounts(script, total: 152, unseen: 152, unread: 152)
        try script.notify(1, Content(collapseKey: "k"))
        #expect(try script.entry(152)?.flags == .gone)
        #expect(try script.entry(154)?.flags == .gone)
        try expectCounts(script, total: 151, unseen: 151, unread: 151)
    }

    @Test func mutingTouchesLaterItemsOnly() throws {
        var script = Script()
        try script.notify(1, Content(thread: "t", category: "c"))
        try script.append(.muted(.thread("t")))
        try script.notify(100, Content(thread: "t", category: "c"))
        try script.append(.unmuted(.thread("t")))
        try script.notify(1, Content(thread: "t", category: "c"))
        try expectCounts(script, total: 102, unseen: 2, unread: 2)
        #expect(try script.flushedTray()[category: "c"].unseen == 2)
        #expect(try script.inbox(InboxQuery(ItemFilter(onlyUnseen: true), limit: 100)).seqs.count == 100)
    }

    @Test func anEventTheStateAlreadyHoldsChangesNothing() throws {
        var script = Script()
        try script.notify(120)
        try script.markAll(.read)
        var state = script.state
        for event in script.log { try state.apply(Fact(event, hasher: Script.hasher), stored: NoStoredPages()) }
        #expect(state == script.state)
    }

    /// Events that no real log holds: about items that never existed, in every place where one could be looked up.
    @Test func factsAboutUnknownItemsChangeNoItem() throws {
        var script = Script()
        try script.notify(100)
        for _ in 0..<3 { script.skip() }
        let before = try script.tray()
        for item in [0, 102, 5_000, Seq(.max)] as [Seq] {
            for mark in Mark.allCases { try script.mark(mark, item) }
            try script.append(.retracted(item: item))
            try script.append(.expired(item: item))
            try script.append(.edited(item: item, ContentEdit()))
        }
        for tray in [try script.tray(), try script.flushedTray()] {
            #expect([tray.total, tray.unseen, tray.unread] == [before.total, before.unseen, before.unread])
        }
    }
}
