import Testing

@testable import TraylogDomain

/// Summaries stand for the items of a group that are not shown.
@Suite struct SummaryTests {
    /// The summary of a group with these items, newest first, the first of which is shown.
    private func summary(_ items: [(name: String?, count: UInt32)]) throws -> String? {
        var script = Script()
        for item in items.reversed() {
            try script.notify(1, Content(summaryArgument: item.name, summaryCount: item.count))
        }
        return try #require(try script.threads().elements.first).summary
    }

    @Test func aSummaryLeavesOutTheShownItem() throws {
        #expect(try summary([("Ann", 9)]) == nil)
        #expect(try summary([("Ann", 9), ("Bob", 1)]) == "1 more notification from Bob")
    }

    @Test func aSummaryNamesUpToThreePeople() throws {
        #expect(try summary([(nil, 1), ("A", 1), ("B", 1)]) == "2 more notifications from A and B")
        #expect(try summary([(nil, 1), ("A", 1), ("B", 1), ("C", 1)]) == "3 more notifications from A, B and C")
    }

    @Test func moreNamesAreCounted() throws {
        let four: [(String?, UInt32)] = [(nil, 1), ("A", 1), ("B", 1), ("C", 1), ("D", 1)]
        #expect(try summary(four) == "4 more notifications from A, B and 2 others")
        let many = four + (0..<200).map { ("name \($0)", 1) }
        #expect(try summary(many) == "204 more notifications from A, B and 202 others")
    }

    @Test func aSummaryNamesEachPersonOnceNewestFirst() throws {
        #expect(try summary([(nil, 1), ("B", 1), ("A", 2), ("B", 2)]) == "5 more notifications from B and A")
    }

    @Test func aSummaryWithoutNamesHasOnlyTheNumber() throws {
        #expect(try summary([("A", 1), (nil, 3)]) == "3 more notifications")
        #expect(try summary([("A", 1), (nil, 1)]) == "1 more notification")
        #expect(try summary([("A", 1), (nil, 2), ("B", 1)]) == "3 more notifications from B")
    }

    @Test func countsAddUpWithoutALimit() throws {
        #expect(try summary([("A", 1), ("B", 0)]) == nil)
        #expect(try summary([("A", 1), ("B", 0), ("C", 1)]) == "1 more notification from B and C")
        let big = [(name: "A", count: UInt32(1))] + [(name: "B", count: UInt32.max)] + [(name: "B", count: UInt32.max)]
        #expect(try summary(big) == "8589934590 more notifications from B")
    }

    @Test func textsThatOnlyLookTheSameAreTwoNames() throws {
        let text = try summary([(nil, 1), ("Zo\u{eb}", 1), ("Zoe\u{308}", 1)])
        #expect(text.hasSameBytes(as: "2 more notifications from Zo\u{eb} and Zoe\u{308}"))
    }

    @Test func anEditChangesTheSummary() throws {
        var script = Script()
        try script.notify(1, Content(summaryArgument: "Ann", summaryCount: 2))
        try script.notify(120, Content(thread: "elsewhere"))
        try script.notify(1)
        #expect(try script.threads().elements.first?.summary == "2 more notifications from Ann")
        var edit = ContentEdit()
        (edit.summaryArgument, edit.summaryCount) = (.set("Bob"), .set(7))
        try script.append(.edited(item: 1, edit))
        #expect(try script.threads().elements.first?.summary == "7 more notifications from Bob")
        (edit.summaryArgument, edit.summaryCount) = (.clear, .keep)
        try script.append(.edited(item: 1, edit))
        #expect(try script.threads().elements.first?.summary == "7 more notifications")
        (edit.summaryArgument, edit.summaryCount) = (.keep, .clear)
        try script.append(.edited(item: 1, edit))
        #expect(try script.threads().elements.first?.summary == "1 more notification")
    }
}
