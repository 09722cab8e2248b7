import Testing
import TestSupport
import Traylog
import TraylogDomain

/// The reference model on examples worked out by hand from Docs/concepts.md.
@Suite struct NaiveItemTests {
    @Test func aNewItemIsUnseenAndUnread() {
        let log = Script { $0.notify("ann", Content(thread: "t", category: "message", title: "Hi")) }
        let tray = log.naive.tray(of: "ann")
        #expect(!tray.isSeen)
        #expect((tray.unseen, tray.unread, tray.total) == (1, 1, 1))
        #expect(tray.newest == 1)
        #expect(tray.asOf == 1)
        #expect(tray.seenUpTo == 0)
        #expect(tray.categories == [Tray.CategoryCounts(category: "message", unseen: 1, unread: 1)])
        #expect(log.naive.tray(of: "bob") == Tray(user: "bob", asOf: 1))
    }

    @Test func silentItemsAreNeitherListedNorCounted() throws {
        let log = Script { $0.notify("ann", Content(isSilent: true)) }
        #expect(log.naive.tray(of: "ann") == Tray(user: "ann", asOf: 1, revision: 1))
        #expect(try log.naive.inbox(of: "ann").elements.isEmpty)
        #expect(try log.naive.inbox(of: "ann", InboxQuery(ItemFilter(includeSilent: true))).elements.map(\.seq) == [1])
    }

    @Test func itemsThatArriveWhileMutedAreListedButNeverCounted() throws {
        let log = Script {
            $0.notify("ann", Content(thread: "t"))
            $0.append("ann", .mute(.thread("t")))
            $0.notify("ann", Content(thread: "t"))
            $0.append("ann", .unmute(.thread("t")))
            $0.notify("ann", Content(thread: "t"))
        }
        let tray = log.naive.tray(of: "ann")
        #expect((tray.unseen, tray.unread, tray.total) == (2, 2, 3))
        #expect(try log.naive.inbox(of: "ann").elements.map(\.isMuted) == [false, true, false])
        #expect(
            try log.naive.inbox(of: "ann", InboxQuery(ItemFilter(onlyUnseen: true))).elements.map(\.seq) == [5, 3, 1])
    }

    @Test func aMutedCategoryCountsForItsItemsInEveryThread() {
        let log = Script {
            $0.append("ann", .mute(.category("promo")))
            $0.notify("ann", Content(thread: "t", category: "promo"))
            $0.notify("ann", Content(category: "other"))
        }
        #expect(log.naive.tray(of: "ann").unseen == 1)
        #expect(log.naive.tray(of: "ann").categories.map(\.category) == ["other"])
    }

    @Test func settingWhatIsSetIsUnchanged() {
        var log = Script {
            $0.append("ann", .mute(.thread("t")))
            $0.append("ann", .subscribe(topic: "news"))
            $0.notify("ann", Content(title: "A"))
            $0.append("ann", .snooze(.seq(3), until: at(9)))
        }
        #expect(log.perform("ann", .mute(.thread("t"))) == .success(.unchanged))
        #expect(log.perform("ann", .unmute(.category("t"))) == .success(.unchanged))
        #expect(log.perform("ann", .subscribe(topic: "news")) == .success(.unchanged))
        #expect(log.perform("ann", .unsubscribe(topic: "olds")) == .success(.unchanged))
        #expect(log.perform("ann", .snooze(.seq(3), until: at(9))) == .success(.unchanged))
        var edit = ContentEdit()
        edit.title = .set("A")
        edit.summaryCount = .clear
        #expect(log.perform("ann", .edit(.seq(3), edit)) == .success(.unchanged))
    }

    @Test func aCollapseKeySupersedesEveryLiveItemOfTheUserWithIt() throws {
        var log = Script {
            $0.notify("ann", Content(collapseKey: "score"))
            $0.notify("bob", Content(collapseKey: "score"))
            $0.append("ann", .mark(.deleted, [.seq(1)]))
            $0.notify("ann", Content(collapseKey: "score"))
            $0.append("ann", .mark(.restored, [.seq(1)]))
        }
        #expect(try log.naive.inbox(of: "ann").elements.map(\.seq) == [4, 1])
        log.notify("ann", Content(collapseKey: "score"))
        #expect(try log.naive.inbox(of: "ann").elements.map(\.seq) == [6])
        #expect(log.naive.tray(of: "bob").total == 1)
        #expect(log.perform("ann", .mark(.restored, [.seq(1)])) == .success(.unchanged))
        #expect(log.perform("ann", .retract(.seq(1))) == .failure(.itemGone(1)))
        #expect(log.perform("ann", .snooze(.seq(4), until: at(9))) == .failure(.itemGone(4)))
    }

    @Test func aGoneItemKeepsTheStatesItHadWhenItWent() {
        let log = Script {
            $0.notify("ann", Content(title: "unseen"))
            $0.notify("ann", Content(title: "seen"))
            $0.append("ann", .mark(.seen, [.seq(2)]))
            $0.append("ann", .retract(.seq(1)))
            $0.append("ann", .retract(.seq(2)))
            $0.append("ann", .seeTray())
            $0.append("ann", .markAll(.read))
        }
        let items = log.naive.state(of: "ann").items
        #expect(items.map(\.seen) == [false, true] && items.map(\.read) == [false, false])
    }

    @Test func anEditKeepsPositionAndMarksAndClearsToDefaults() throws {
        let log = Script {
            $0.notify("ann", Content(title: "A", summaryCount: 5, level: .critical, data: "{}"))
            $0.notify("ann", Content())
            $0.append("ann", .mark(.read, [.seq(1)]))
            var edit = ContentEdit()
            edit.title = .set("B")
            (edit.summaryCount, edit.level, edit.data) = (.clear, .clear, .clear)
            $0.append("ann", .edit(.seq(1), edit))
        }
        let item = try #require(try log.naive.inbox(of: "ann").elements.last)
        #expect(item.content == Content(title: "B"))
        #expect(item.position == 1 && item.isRead && item.isSeen)
    }

    @Test func deletedItemsCanBeEditedAndRetracted() {
        var log = Script {
            $0.notify("ann", Content())
            $0.append("ann", .mark(.deleted, [.seq(1)]))
        }
        var edit = ContentEdit()
        edit.title = .set("B")
        #expect(log.perform("ann", .edit(.seq(1), edit)) == .success(.appended(3)))
        #expect(log.perform("ann", .retract(.seq(1))) == .success(.appended(4)))
        #expect(log.perform("ann", .edit(.seq(1), edit)) == .failure(.itemGone(1)))
        #expect(log.perform("ann", .mark(.restored, [.seq(1)])) == .success(.unchanged))
    }

    @Test func wakingMovesAnItemUpUnseenAndUnread() throws {
        var log = Script {
            $0.notify("ann", Content(title: "old"))
            $0.notify("ann", Content())
            $0.append("ann", .markAll(.read))
            $0.append("ann", .snooze(.seq(1), until: at(100)))
        }
        #expect(log.naive.tray(of: "ann").total == 1)
        #expect(try log.naive.inbox(of: "ann", InboxQuery(view: .snoozed)).elements.first?.snoozedUntil == at(100))
        log.append("ann", .wake(.seq(1)))
        let first = try #require(try log.naive.inbox(of: "ann").elements.first)
        #expect((first.seq, first.position) == (1, 5))
        #expect(!first.isSeen && !first.isRead && first.snoozedUntil == nil)
        #expect(log.naive.tray(of: "ann").unread == 1)
        #expect(log.perform("ann", .wake(.seq(1))) == .failure(.notSnoozed(1)))
        #expect(log.perform("ann", .seeTray(upTo: 4)) == .success(.appended(6)))
        #expect(log.naive.events.last?.body == .traySeen(upTo: 2))
        #expect(log.naive.tray(of: "ann").unseen == 1)
    }
}
