import Testing
import TestSupport
import Traylog
import TraylogDomain

@Suite struct NaiveMarkTests {
    @Test func readAlsoMakesSeenAndUnreadLeavesSeen() throws {
        var log = Script { $0.notify("ann") }
        log.append("ann", .mark(.read, [.seq(1)]))
        #expect(try log.naive.inbox(of: "ann").elements.first.map { $0.isSeen && $0.isRead } == true)
        log.append("ann", .mark(.unread, [.seq(1)]))
        #expect(try log.naive.inbox(of: "ann").elements.first.map { $0.isSeen && !$0.isRead } == true)
        #expect(log.perform("ann", .mark(.seen, [.seq(1)])) == .success(.unchanged))
        #expect((log.naive.tray(of: "ann").unseen, log.naive.tray(of: "ann").unread) == (0, 1))
    }

    @Test func aMarkStoresOnlyTheItemsThatChangeInOrderAndOnce() {
        var log = Script {
            for _ in 1...3 { $0.notify("ann") }
            $0.append("ann", .mark(.seen, [.seq(2)]))
        }
        log.append("ann", .mark(.seen, [.seq(3), .seq(2), .seq(1), .seq(3)]))
        #expect(log.naive.events.last?.body == .marked(.seen, items: [1, 3]))
        #expect(log.perform("ann", .mark(.seen, [.seq(1), .seq(2)])) == .success(.unchanged))
    }

    @Test func aDeletedItemTakesMarksAndShowsThemWhenRestored() throws {
        let log = Script {
            $0.notify("ann")
            $0.append("ann", .mark(.deleted, [.seq(1)]))
            $0.append("ann", .mark(.read, [.seq(1)]))
            $0.append("ann", .mark(.archived, [.seq(1)]))
            $0.append("ann", .mark(.restored, [.seq(1)]))
        }
        let archived = try log.naive.inbox(of: "ann", InboxQuery(view: .archived)).elements
        #expect(archived.map { $0.isRead && $0.isArchived } == [true])
        #expect(log.naive.tray(of: "ann").total == 0)
    }

    @Test func marksOnWhatIsGoneChangeNothing() {
        var log = Script {
            $0.notify("ann")
            $0.append("ann", .retract(.seq(1)))
        }
        for mark in Mark.allCases { #expect(log.perform("ann", .mark(mark, [.seq(1)])) == .success(.unchanged)) }
    }

    @Test func theFirstUnknownItemRefusesTheWholeMark() {
        var log = Script {
            $0.notify("ann", key: "mine")
            $0.notify("bob", key: "his")
            $0.append("ann", .mute(.thread("t")), key: "no item")
        }
        let unknown: [ItemReference] = [.seq(2), .seq(3), .seq(9), .seq(0), .key("his"), .key("no item")]
        for reference in unknown {
            #expect(
                log.perform("ann", .mark(.read, [.seq(1), reference, .seq(77)])) == .failure(.unknownItem(reference)))
        }
        #expect(log.naive.head == 3)
        #expect(log.perform("ann", .mark(.read, [.key("mine")])) == .success(.appended(4)))
    }

    @Test func seeTrayStoresThePositionOfTheNewestItemInAnyState() {
        var log = Script {
            for _ in 1...3 { $0.notify("ann") }
            $0.notify("bob")
            $0.append("ann", .retract(.seq(3)))
        }
        log.append("ann", .seeTray())
        #expect(log.naive.events.last?.body == .traySeen(upTo: 3))
        #expect(log.naive.tray(of: "ann").seenUpTo == 3)
        #expect(log.naive.tray(of: "ann").isSeen)
        #expect(log.perform("ann", .seeTray()) == .success(.unchanged))
        #expect(log.perform("ann", .seeTray(upTo: 1)) == .success(.unchanged))
        #expect(log.perform("ann", .seeTray(upTo: 7)) == .failure(.upToBeyondHead(7, head: 6)))
        #expect(log.perform("carl", .seeTray()) == .success(.unchanged))
    }

    @Test func markAllSeenAndReadCoverItemsInEveryState() throws {
        var log = Script {
            for _ in 1...4 { $0.notify("ann") }
            $0.append("ann", .mark(.archived, [.seq(1)]))
            $0.append("ann", .mark(.deleted, [.seq(2)]))
            $0.append("ann", .snooze(.seq(3), until: at(999)))
            $0.append("ann", .markAll(.read, ItemFilter(), upTo: 3))
            $0.append("ann", .mark(.restored, [.seq(2)]))
        }
        #expect(try log.naive.inbox(of: "ann").elements.map(\.isRead) == [false, true])
        #expect(try log.naive.inbox(of: "ann", InboxQuery(view: .archived)).elements.map(\.isRead) == [true])
        #expect(try log.naive.inbox(of: "ann", InboxQuery(view: .snoozed)).elements.map(\.isSeen) == [true])
        #expect(log.naive.tray(of: "ann").seenUpTo == 0)
        log.append("ann", .markAll(.seen))
        #expect(log.naive.events.last?.body == .allMarked(.seen, ItemFilter(), upTo: 9))
    }

    @Test func markAllArchivedAndDeletedCoverOnlyTheInbox() throws {
        let log = Script {
            for _ in 1...3 { $0.notify("ann", Content(isSilent: false)) }
            $0.notify("ann", Content(isSilent: true))
            $0.append("ann", .mark(.archived, [.seq(1)]))
            $0.append("ann", .snooze(.seq(2), until: at(999)))
            $0.append("ann", .markAll(.deleted))
        }
        #expect(try log.naive.inbox(of: "ann", InboxQuery(ItemFilter(includeSilent: true))).elements.isEmpty)
        #expect(try log.naive.inbox(of: "ann", InboxQuery(view: .archived)).elements.map(\.seq) == [1])
        #expect(try log.naive.inbox(of: "ann", InboxQuery(view: .snoozed)).elements.map(\.seq) == [2])
    }

    @Test func markAllCombinesThreadAndCategory() throws {
        var log = Script {
            $0.notify("ann", Content(thread: "t", category: "c"))
            $0.notify("ann", Content(thread: "t", category: "d"))
            $0.notify("ann", Content(category: "c"))
        }
        log.append("ann", .markAll(.read, ItemFilter(thread: .named("t"), category: "c")))
        #expect(try log.naive.inbox(of: "ann", InboxQuery(ItemFilter(onlyUnread: true))).elements.map(\.seq) == [3, 2])
        log.append("ann", .markAll(.archived, ItemFilter(thread: .unthreaded)))
        #expect(try log.naive.inbox(of: "ann").elements.map(\.seq) == [2, 1])
        // Nothing matches, and still it is stored.
        log.append("ann", .markAll(.deleted, ItemFilter(thread: .named("none")), upTo: 0))
        #expect(log.perform("ann", .markAll(.seen, ItemFilter(), upTo: 7)) == .failure(.upToBeyondHead(7, head: 6)))
    }
}
