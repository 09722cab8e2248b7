import Testing
import TestSupport
@_spi(Operations) import Traylog
import TraylogDomain

@Suite struct NaiveQueryTests {
    @Test func aGroupLeavesItsNewestItemOutOfTheSummary() throws {
        let log = Script {
            $0.notify("ann", Content(thread: "t", summaryArgument: "Alice", summaryCount: 4))
            $0.notify("ann", Content(summaryArgument: "App"))
            $0.notify("ann", Content(thread: "t", summaryArgument: "Me"))
            $0.notify("ann", Content(thread: "t", summaryArgument: "Silent", isSilent: true))
            $0.notify("ann", Content(thread: "t", summaryArgument: "Newest"))
            $0.append("ann", .mark(.read, [.seq(3)]))
        }
        let groups = try log.naive.threads(of: "ann").elements
        #expect(groups.map(\.thread) == ["t", nil])
        #expect(groups.map(\.count) == [3, 1])
        #expect(groups.map(\.unseen) == [2, 1])
        #expect(groups.map(\.newest.seq) == [5, 2])
        #expect(groups.map(\.more) == [5, 0])
        #expect(groups.map(\.names) == [["Me", "Alice"], []])
        #expect(groups.map(\.summary) == ["5 more notifications from Me and Alice", nil])
    }

    @Test func pagesAreFilledPastFilteredItemsAndEndExactly() throws {
        let log = Script {
            for index in 1...10 { $0.notify("ann", Content(thread: index % 2 == 0 ? "even" : nil)) }
        }
        var query = InboxQuery(ItemFilter(thread: .named("even")), limit: 3)
        let first = try log.naive.inbox(of: "ann", query)
        #expect(first.elements.map(\.seq) == [10, 8, 6])
        query.cursor = first.next
        let second = try log.naive.inbox(of: "ann", query)
        #expect(second.elements.map(\.seq) == [4, 2])
        #expect(second.next == nil)
        query = InboxQuery(ItemFilter(thread: .unthreaded), limit: 5)
        #expect(try log.naive.inbox(of: "ann", query).next == nil)
        for limit in [0, -1, 101] {
            #expect(throws: Refusal.self) { try log.naive.inbox(of: "ann", InboxQuery(limit: limit)) }
        }
    }

    @Test func aCursorStaysValidWhenItsItemIsDeletedAndNewOnesArrive() throws {
        var log = Script { for _ in 1...6 { $0.notify("ann") } }
        let first = try log.naive.inbox(of: "ann", InboxQuery(limit: 2))
        log.append("ann", .mark(.deleted, [.seq(5)]))
        log.notify("ann")
        let rest = try log.naive.inbox(of: "ann", InboxQuery(cursor: first.next))
        #expect(first.elements.map(\.seq) == [6, 5])
        #expect(rest.elements.map(\.seq) == [4, 3, 2, 1])
    }

    @Test func historyHidesNothingAndUsersAreInByteOrder() {
        let log = Script {
            $0.notify("b")
            $0.notify("Z")
            $0.notify("é")
            $0.append("b", .mark(.read, [.seq(1)]))
            $0.append("b", .undo(event: 4))
            $0.append(nil, .broadcast(topic: "t", Content()))
            $0.append("a", .subscribe(topic: "t"))
        }
        #expect(log.naive.history(of: "b").map(\.seq) == [1, 4, 5])
        #expect(log.naive.history(of: "b", from: 2, limit: 1).map(\.seq) == [4])
        #expect(log.naive.users() == ["Z", "a", "b", "é"])
        #expect(log.naive.users(after: "a", limit: 1) == ["b"])
    }
}
