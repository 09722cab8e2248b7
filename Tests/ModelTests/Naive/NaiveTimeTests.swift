import Testing
import TestSupport
@_spi(Operations) import Traylog
import TraylogDomain

/// Broadcasts, ticks, undo and the past.
@Suite struct NaiveTimeTests {
    @Test func aBroadcastIsForThoseWhoAreSubscribedAtItsSeq() throws {
        let log = Script {
            $0.append(nil, .broadcast(topic: "news", Content(title: "before")))
            $0.append("ann", .subscribe(topic: "news"))
            $0.append(nil, .broadcast(topic: "news", Content(title: "during")))
            $0.append("ann", .unsubscribe(topic: "news"))
            $0.append(nil, .broadcast(topic: "news", Content(title: "after")))
        }
        let items = try log.naive.inbox(of: "ann").elements
        #expect(items.map(\.content.title) == ["during"])
        #expect(items.map(\.topic) == ["news"])
        #expect(log.naive.tray(of: "bob").total == 0)
        #expect(log.naive.history(of: "ann").map(\.kind) == [.subscribed, .unsubscribed])
    }

    @Test func aBroadcastIsEditedAndRetractedForEveryoneButNotThroughAUser() throws {
        var log = Script {
            $0.append("ann", .subscribe(topic: "news"))
            $0.append(nil, .broadcast(topic: "news", Content(title: "A")), key: "k")
            $0.notify("ann")
        }
        var edit = ContentEdit()
        edit.title = .set("B")
        #expect(log.perform("ann", .edit(.seq(2), edit)) == .failure(.unknownItem(.seq(2))))
        #expect(log.perform("ann", .retract(.seq(2))) == .failure(.unknownItem(.seq(2))))
        #expect(log.perform(nil, .edit(.seq(3), edit)) == .failure(.unknownItem(.seq(3))))
        #expect(log.perform(nil, .retract(.key("k"))) == .failure(.unknownItem(.key("k"))))
        #expect(log.perform(nil, .edit(.seq(2), edit)) == .success(.appended(4)))
        #expect(log.perform(nil, .edit(.seq(2), edit)) == .success(.unchanged))
        #expect(try log.naive.inbox(of: "ann").elements.last?.content.title == "B")
        #expect(log.perform(nil, .retract(.seq(2))) == .success(.appended(5)))
        #expect(log.perform(nil, .retract(.seq(2))) == .failure(.itemGone(2)))
        #expect(log.naive.tray(of: "ann").total == 1)
    }

    @Test func keysOfBroadcastsAreScopedToTheirTopic() {
        var log = Script { $0.append(nil, .broadcast(topic: "a", Content()), key: "k") }
        #expect(
            log.perform(Command(user: nil, .broadcast(topic: "a", Content()), key: "k")) == .success(.duplicate(1)))
        #expect(
            log.perform(Command(user: nil, .broadcast(topic: "b", Content()), key: "k")) == .success(.appended(2)))
        #expect(
            log.perform(Command(user: nil, .retract(.seq(1)), key: "k")) == .failure(.keyConflict(key: "k", seq: 1)))
    }

    @Test func aTickExpiresAndWakesByDueTimeThenItem() {
        var log = Script {
            $0.append("ann", .subscribe(topic: "news"))
            $0.append(nil, .broadcast(topic: "news", Content(expiresAt: at(50))))
            $0.notify("bob", Content(expiresAt: at(20)))
            $0.notify("ann", Content(expiresAt: at(50)))
            $0.append("ann", .snooze(.seq(2), until: at(50)))
            $0.append("ann", .snooze(.seq(4), until: at(40)))
            $0.append("bob", .mark(.deleted, [.seq(3)]))
        }
        #expect(log.naive.tick(at(19), now: at(80)).isEmpty)
        let events = log.naive.tick(at(50), now: at(80))
        #expect(
            events.map(\.body) == [.expired(item: 3), .woken(item: 4), .expired(item: 2), .expired(item: 4)])
        #expect(events.map(\.user) == ["bob", "ann", nil, "ann"])
        #expect(log.naive.tick(at(99), now: at(80)).isEmpty)
        #expect(log.perform("bob", .mark(.restored, [.seq(3)])) == .success(.unchanged))
    }

    @Test func aDeletedItemWaitsForItsRestorationToWake() {
        var log = Script {
            $0.notify("ann")
            $0.append("ann", .snooze(.seq(1), until: at(20)))
            $0.append("ann", .mark(.deleted, [.seq(1)]))
        }
        #expect(log.naive.tick(at(30), now: at(30)).isEmpty)
        log.append("ann", .mark(.restored, [.seq(1)]))
        #expect(log.naive.tick(at(30), now: at(50)).map(\.body) == [.woken(item: 1)])
        #expect(log.naive.tray(of: "ann").newest == 5)
    }

    @Test func undoMakesTheStateAsIfTheEventHadNeverBeenStored() {
        var log = Script {
            $0.notify("ann")
            $0.notify("ann")
            $0.append("ann", .seeTray(upTo: 1))
            $0.append("ann", .seeTray())
            $0.append("ann", .mark(.read, [.seq(2)]))
        }
        log.append("ann", .undo(event: 4))
        #expect(log.naive.tray(of: "ann").seenUpTo == 1)
        // Reading made it seen, too.
        #expect((log.naive.tray(of: "ann").unseen, log.naive.tray(of: "ann").unread) == (0, 1))
        log.append("ann", .undo(event: 5))
        #expect((log.naive.tray(of: "ann").unseen, log.naive.tray(of: "ann").unread) == (1, 2))
        #expect(log.perform("ann", .undo(event: 5)) == .success(.unchanged))
        #expect(log.perform("ann", .undo(event: 6)) == .failure(.notUndoable(6, kind: .undone)))
        #expect(log.perform("ann", .undo(event: 1)) == .failure(.notUndoable(1, kind: .notified)))
        #expect(log.perform("bob", .undo(event: 5)) == .failure(.unknownEvent(5)))
        #expect(log.perform("ann", .undo(event: 99)) == .failure(.unknownEvent(99)))
    }

    @Test func undoingADeletionLetsALaterCollapseSupersede() {
        let log = Script {
            $0.notify("ann", Content(collapseKey: "k"))
            $0.append("ann", .mark(.deleted, [.seq(1)]))
            $0.notify("ann", Content(collapseKey: "k"))
            $0.append("ann", .undo(event: 2))
        }
        #expect(log.naive.state(of: "ann").item(1)?.gone == true)
        #expect(log.naive.state(of: "ann").item(1)?.deleted == false)
    }

    @Test func thePastIsTheStateRightAfterThatEvent() throws {
        let log = Script {
            $0.notify("ann")
            $0.append("ann", .seeTray())
            $0.append("ann", .undo(event: 2))
        }
        #expect([1, 2, 3].map { log.naive.tray(of: "ann", asOf: $0).unseen } == [1, 0, 1])
        #expect(log.naive.tray(of: "ann", asOf: 0) == Tray(user: "ann", asOf: 0))
        #expect(log.naive.users(asOf: 0).isEmpty)
        #expect([at(9), at(10), at(19), at(20), at(999)].map(log.naive.seq(at:)) == [0, 1, 1, 2, 3])
        #expect(throws: Refusal.upToBeyondHead(4, head: 3, field: "asOf")) { try log.naive.checkedAsOf(4) }
    }

    @Test func aClockThatStepsBackIsClamped() {
        var naive = NaiveStore()
        for time in [50, 20, 60] { _ = naive.perform(Command(user: "ann", .notify(Content())), now: at(Int64(time))) }
        #expect(naive.events.map(\.recordedAt) == [at(50), at(50), at(60)])
    }
}
