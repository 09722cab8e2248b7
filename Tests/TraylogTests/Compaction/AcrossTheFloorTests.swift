import Foundation
import Testing
import TestSupport
@_spi(Operations) @testable import Traylog
@testable import TraylogDomain
@testable import TraylogRewrite
@testable import TraylogStates
@testable import TraylogWriter

/// Whatever begins below the floor and matters above it.
@Suite struct AcrossTheFloorTests {
    private func time(_ milliseconds: Int64) -> Timestamp { Timestamp(milliseconds: milliseconds) }

    /// The same check before the store is closed and in a new process's place.
    private func reopened(_ path: String, _ body: (Store) throws -> Void) throws {
        try withStore(path) { try body($0) }
        #expect(try findings(path) == [])
        _ = try replay(path, rebuild: true)
        #expect(try findings(path) == [])
        try withStore(path) { try body($0) }
    }

    /// Appends events 1 to 6, of which nothing is left when the floor is above them.
    private func performDroppable(_ store: Store) throws {
        _ = try store.perform((0..<5).map { notify("bob", "\($0)") })
        _ = try store.perform(Command(user: "bob", .markAll(.deleted)))
    }

    @Test func aKeyStillAnswersForItsCommand() throws {
        try withStorePath { path in
            let first = notify("ann", "One", key: "k1")
            let large = notify("ann", String(repeating: "x", count: 900), key: "k2")
            let broadcast = Command(user: nil, .broadcast(topic: "t", Content(title: "All")), key: "k1")
            let mark = Command(user: "ann", .mark(.deleted, [.seq(1), .seq(2)]), key: "k3")
            try withStore(path) { store in
                for command in [first, large, broadcast, mark] { _ = try store.perform(command) }
                _ = try store.perform(Command(user: nil, .retract(.seq(3))))
                _ = try store.perform((0..<10).map { notify("bob", "\($0)") })
                let report = try store.compact(before: .seq(12))
                #expect(report.dropped == 5)
                #expect(report.kinds.values.reduce(0, +) == 5)
            }
            try reopened(path) { store throws in
                for (seq, command) in zip(1..., [first, large, broadcast, mark]) {
                    let seq = Seq(UInt64(seq))
                    #expect(try store.perform(command) == .duplicate(seq))
                    var other = command
                    other.device = "another"
                    #expect(throws: TraylogError.refused(.keyConflict(key: command.key ?? "", seq: seq))) {
                        try store.perform(other)
                    }
                }
                #expect(try store.head() == 16)
            }
        }
    }

    @Test func whatTheFloorsOwnEventDeletesStays() throws {
        try withStorePath { path in
            try withStore(path) { store in
                _ = try store.perform((0..<10).map { notify("ann", "\($0)") })
                let deleted = try #require(try store.perform(Command(user: "ann", .markAll(.deleted))).seq)
                #expect(try store.compact(before: .seq(deleted), isDryRun: true).dropped == 0)
                let next = try #require(try store.perform(notify("bob", "x")).seq)
                #expect(try store.compact(before: .seq(deleted), isDryRun: true).dropped == 0)
                #expect(try store.compact(before: .seq(next)).kinds == [.notified: 10, .allMarked: 1])
            }
        }
    }

    @Test func theKeyOfACommandWithoutUserAnswersWhenItsItemIsGone() throws {
        try withStorePath { path in
            let retract = Command(user: nil, .retract(.seq(2)), key: "k")
            try withStore(path) { store in
                for topic in ["s", "t"] {
                    _ = try store.perform(Command(user: nil, .broadcast(topic: topic, Content(title: "All"))))
                }
                #expect(try store.perform(retract) == .appended(3))
                _ = try store.perform((0..<10).map { notify("bob", "\($0)") })
                _ = try store.compact(before: .seq(12))
            }
            try reopened(path) { store throws in
                #expect(try store.perform(retract) == .duplicate(3))
                for key in ["another", nil] {
                    var other = retract
                    other.key = key
                    #expect(throws: TraylogError.refused(.compacted(floor: 12, archive: nil))) {
                        try store.perform(other)
                    }
                }
            }
        }
    }

    @Test func anItemThatNeverWasIsUnknownBelowTheFloorToo() throws {
        try withStorePath { path in
            try withStore(path, options(isRelaxed: true)) { store in
                _ = try store.perform((0..<9).map { _ in notify("ann") })
                _ = try store.compact(before: .seq(Seq(5)))
                let retract = Command(user: nil, .retract(.seq(.zero)))
                #expect(throws: TraylogError.refused(.unknownItem(.seq(.zero)))) { try store.perform(retract) }
            }
        }
    }

    @Test func aSubscriptionBringsWhatComesAndNoBacklog() throws {
        try withStorePath { path in
            try withStore(path) { store in
                _ = try store.perform(Command(user: "ann", .subscribe(topic: "news")))
                for number in 1...4 {
                    _ = try store.perform(Command(user: nil, .broadcast(topic: "news", Content(title: "\(number)"))))
                }
                _ = try store.perform(Command(user: "ann", .mark(.deleted, [.seq(2)])))
                _ = try store.perform(Command(user: nil, .retract(.seq(3))))
                for number in 1...8 { _ = try store.perform(notify("bob", "\(number)")) }
                _ = try store.compact(before: .seq(12))
                _ = try store.perform(Command(user: "cy", .subscribe(topic: "news")))
                let receipt = try store.perform(Command(user: nil, .broadcast(topic: "news", Content(title: "5"))))
                #expect(receipt == .appended(18))
            }
            try reopened(path) { store throws in
                #expect(try store.inbox(of: "ann").elements.map(\.content.title) == ["5", "4", "3"])
                #expect(try store.inbox(of: "cy").elements.map(\.content.title) == ["5"])
                #expect(try store.tray(of: "ann", asOf: .seq(12)).total == 2)
            }
        }
    }

    @Test func whatATrayTellsBesideItsItemsStays() throws {
        try withStorePath { path in
            let (tray, mutes) = try withStore(path) { store throws in
                try performDroppable(store)
                _ = try store.perform(Command(user: "ann", .notify(Content(category: "c", title: "One"))))
                _ = try store.perform(Command(user: "ann", .mute(.thread("x"), until: time(4_000_000_000_000))))
                _ = try store.perform(Command(user: "ann", .mute(.thread("x"), until: time(5_000_000_000_000))))
                _ = try store.perform(Command(user: "ann", .seeTray()))
                // Nothing is left of the item, and what the tray tells beside its items stays.
                _ = try store.perform(Command(user: "ann", .mark(.deleted, [.seq(7)])))
                _ = try store.perform(notify("bob", "x"))
                _ = try store.perform(Command(user: "ann", .notify(Content(category: "c", title: "Two"))))
                let told = (try store.tray(of: "ann"), try store.mutes(of: "ann").mutes)
                #expect(try store.compact(before: .seq(12)).dropped >= 6)
                return told
            }
            #expect(tray.seenAt != nil && tray.categories.map(\.category) == ["c"])
            #expect(mutes.map(\.until) == [time(5_000_000_000_000)])
            try reopened(path) { store throws in
                let now = try store.tray(of: "ann")
                #expect(now.seenAt == tray.seenAt && now.categories == tray.categories)
                #expect(try store.mutes(of: "ann").mutes == mutes)
                let then = try store.tray(of: "ann", asOf: .seq(12))
                #expect(then.seenAt == tray.seenAt && then.total == 0)
                #expect(try store.mutes(of: "ann", asOf: .seq(12)).mutes == mutes)
            }
        }
    }

    @Test func allItemsThatOneMarkRestoresAboveTheFloorKeepTheirTexts() throws {
        try withStorePath { path in
            let items: [ItemReference] = [.seq(7), .seq(8), .seq(9)]
            try withStore(path) { store in
                try performDroppable(store)
                _ = try store.perform(["One", "Two", "Three"].map { notify("ann", $0) })
                _ = try store.perform(Command(user: "ann", .mark(.deleted, items)))
                _ = try store.perform(notify("bob", "x"))
                _ = try store.perform(Command(user: "ann", .mark(.restored, items)))
                _ = try store.compact(before: .seq(11))
            }
            try reopened(path) { store throws in
                #expect(try store.inbox(of: "ann").elements.map(\.content.title) == ["Three", "Two", "One"])
            }
        }
    }

    @Test func theLastEventBelowTheFloorCanHaveBeenUndoneAboveIt() throws {
        try withStorePath { path in
            try withStore(path) { store in
                try performDroppable(store)
                _ = try store.perform((0..<5).map { notify("ann", "\($0)") })
                _ = try store.perform(Command(user: "ann", .markAll(.deleted)))
                _ = try store.perform(notify("bob", "x"))
                _ = try store.perform(Command(user: "ann", .undo(event: 12)))
                _ = try store.compact(before: .seq(13))
            }
            try reopened(path) { store throws in
                #expect(try store.tray(of: "ann", asOf: .seq(13)).total == 0)
                #expect(try store.inbox(of: "ann").elements.map(\.content.title) == ["4", "3", "2", "1", "0"])
            }
        }
    }

    @Test func landmarksAtHandFromBelowTheFloorAreForgotten() throws {
        var settings = options()
        settings.landmarkDistance = 5
        try withStorePath { path in
            try withStore(path, settings) { store in
                _ = try store.perform(Command(user: "ann", .subscribe(topic: "news")))
            }
            try withStore(path, settings) { store in
                for number in 1...12 {
                    let receipt = try store.perform(
                        Command(user: nil, .broadcast(topic: "news", Content(title: "\(number)"))))
                    let seq = try #require(receipt.seq)
                    _ = try store.perform(Command(user: nil, .retract(.seq(seq))))
                }
            }
            try withStore(path, settings) { store in
                // Nothing of hers is unstored, so that no flush comes to what this look folds.
                let before = try store.tray(of: "ann", asOf: .seq(24))
                _ = try store.tray(of: "ann")
                let report = try store.compact(before: .seq(24))
                // All but the subscription, which names the topic.
                #expect(report.dropped == 22)
                #expect(try store.tray(of: "ann", asOf: .seq(24)) == before)
                #expect(try store.inbox(of: "ann", asOf: .seq(24)).elements.map(\.seq) == [24])
                _ = try store.perform(notify("ann", "On"))
                #expect(try store.tray(of: "ann").total == 1)
            }
            try reopened(path) { store throws in #expect(try store.tray(of: "ann", asOf: .seq(24)).total == 1) }
        }
    }

    /// A deleted item keeps its place and its marks, and its content leaves.
    private func withDeletedItemBelowTheFloor(_ body: (_ store: Store, _ floor: Seq) throws -> Void) throws {
        try withStorePath { path in
            try withStore(path) { store in
                var expiring = Content(title: "Deleted")
                expiring.expiresAt = time(4_000_000_000_000)
                _ = try store.perform([Command(user: "ann", .notify(expiring)), notify("ann", "Stays")])
                _ = try store.perform(Command(user: "ann", .mark(.deleted, [.seq(1)])))
                let floor = try store.head() + 1
                _ = try store.perform((0..<3).map { notify("bob", "\($0)") })
                #expect(try store.compact(before: .seq(floor)).dropped == 2)
                try body(store, floor)
            }
            #expect(try findings(path) == [])
            _ = try replay(path, rebuild: true)
            #expect(try findings(path) == [])
        }
    }

    @Test func aDifferenceIncludesADeletedItemWhoseContentHasLeftTheLog() throws {
        try withDeletedItemBelowTheFloor { store, floor in
            _ = try store.perform(Command(user: "ann", .seeTray(upTo: try store.head())))
            let difference = try store.difference(of: "ann", from: .seq(floor))
            #expect(difference.items.map(\.item) == [1, 2])
            #expect(difference.items.map(\.content.title) == [nil, "Stays"])
        }
    }

    @Test func aCompactionDoesNotNeedContentThatAnEarlierOneRemoved() throws {
        try withDeletedItemBelowTheFloor { store, _ in
            var unread = false
            let report = try store.compact(before: .seq(try store.head())) { _, _ in
                // Appended while the store is copied, in the page of the deleted item.
                guard !unread else { return }
                unread = true
                _ = try store.perform(Command(user: "ann", .mark(.read, [.seq(2)])))
                _ = try store.perform(Command(user: "ann", .mark(.unread, [.seq(2)])))
            }
            #expect(unread)
            #expect(report.floor > 1)
            #expect(try store.tray(of: "ann").unread == 1)
        }
    }

    @Test func anAudienceKeepsTheOutcomesOfARetractedBroadcast() throws {
        try withStorePath { path in
            var content = Content(title: "Lunch?")
            content.actions = [ItemAction(id: "yes", label: "Yes")]
            let expected = try withStore(path) { store throws in
                for user in ["ann", "bob"] { _ = try store.perform(Command(user: user, .subscribe(topic: "team"))) }
                let item = try #require(
                    try store.perform(Command(user: nil, .broadcast(topic: "team", content))).seq)
                #expect(item == 3)
                for user in ["ann", "bob"] {
                    _ = try store.perform(Command(user: user, .act(.seq(item), action: "yes", note: nil)))
                }
                let mark = try #require(try store.perform(Command(user: "ann", .mark(.archived, [.seq(item)]))).seq)
                _ = try store.perform(Command(user: nil, .retract(.seq(item))))
                let floor = try store.head() + 1
                // To fold this undo, the whole past of one of them is needed, and of the topic with it.
                _ = try store.perform((0..<5).map { notify("cy", "\($0)") })
                _ = try store.perform(Command(user: "ann", .undo(event: mark)))
                var audience = try store.audience(of: item)
                #expect(audience.outcomes.map(\.count) == [2])
                _ = try store.compact(before: .seq(floor))
                audience.asOf = try store.head()
                #expect(try store.audience(of: item) == audience)
                return audience
            }
            try reopened(path) { store throws in #expect(try store.audience(of: 3) == expected) }
        }
    }

    @Test func itemsDueAfterTheFloorStillWakeAndExpire() throws {
        try withStorePath { path in
            try withStore(path) { store in
                var expiring = Content(title: "expires")
                expiring.expiresAt = time(4_000_000_000_000)
                _ = try store.perform(Command(user: "ann", .notify(expiring)))
                _ = try store.perform(notify("ann", "snoozed"))
                let until = time(4_000_000_000_000)
                _ = try store.perform(Command(user: "ann", .snooze(.seq(2), until: until)))
                var gone = expiring
                gone.title = "deleted"
                _ = try store.perform(Command(user: "ann", .notify(gone)))
                _ = try store.perform(Command(user: "ann", .mark(.deleted, [.seq(4)])))
                for number in 1...8 { _ = try store.perform(notify("bob", "\(number)")) }
                _ = try store.compact(before: .seq(10))
                #expect(try store.inbox(of: "ann", InboxQuery()).elements.map(\.content.title) == ["expires"])
            }
            try withStore(path) { store in
                let report = try store.tick(now: time(4_000_000_000_001))
                #expect(report.woken == 1 && report.expired == 1, "\(report)")
                #expect(try store.tick(now: time(4_000_000_000_002)).woken == 0)
            }
            try reopened(path) { store throws in
                #expect(try store.inbox(of: "ann").elements.map(\.content.title) == ["snoozed"])
            }
        }
    }

    @Test func aProjectionKeepsItsValueAcrossTheFloor() throws {
        try withStorePath { path in
            var value = MainDigest()
            try withStore(path) { store in
                let projector = try store.project(MainDigest.self, storedEveryMilliseconds: 0)
                for number in 0..<200 {
                    _ = try store.perform(notify("user\(number % 7)", "\(number)"))
                    if number > 0 {
                        _ = try? store.perform(Command(user: "user\(number % 7)", .markAll(.deleted)))
                    }
                }
                value = try projector.value()
                let report = try store.compact(before: .seq(150))
                #expect(report.dropped > 0)
                let after = try projector.value()
                let compacted = try store.events(from: store.head(), limit: 1).elements
                value.apply(try #require(compacted.first))
                #expect(after == value)
                #expect(projector.progress.origin == .new)
            }
            try withStore(path) { store in
                let projector = try store.project(MainDigest.self)
                #expect(try projector.value() == value)
                guard case .resumed = projector.progress.origin else {
                    Issue.record("\(projector.progress.origin)")
                    return
                }
                try projector.rebuild()
                #expect(try projector.value() == MainDigest.folded(try store.events(limit: .max).elements))
            }
        }
    }

    @Test func aBaseIsThereForEachStreamAndNothingChangesItButTheNextCompaction() throws {
        try withStorePath { path in
            var small = options(tailEvents: 4)
            small.landmarkDistance = 16
            func bases() throws -> [[UInt8]] {
                var rows: [[UInt8]] = []
                try RawStore.change(path) { rows = try $0.rows($0.tables.log.bases.database) }
                return rows
            }
            try withStore(path, small) { store in
                for number in 0..<300 {
                    _ = try store.perform(notify("user\(number % 3)", "\(number)", key: "k\(number)"))
                }
            }
            #expect(try bases().isEmpty)
            try withStore(path, small) { store in _ = try store.compact(before: .seq(250)) }
            let first = try bases()
            #expect(Set(first.map { Array($0.prefix(4)) }).count == 3)
            try withStore(path, small) { store in
                for number in 0..<300 {
                    _ = try store.perform(notify("user\(number % 4)", "later \(number)", key: "l\(number)"))
                    if number % 9 == 0 { _ = try store.perform(Command(user: "user1", .markAll(.read))) }
                }
            }
            #expect(try bases() == first)
            #expect(try replay(path).identical)
            try withStore(path, small) { store in _ = try store.compact(before: .seq(500)) }
            #expect(try bases() != first)
            try reopened(path) { store throws in
                #expect(try store.tray(of: "user3", asOf: .seq(500)).total > 0)
                #expect(try store.perform(notify("user0", "0", key: "k0")) == .duplicate(1))
            }
        }
    }

    @Test func aDamagedBaseIsNamed() throws {
        for space in [StateTable.Space.root, .page(.items), .page(.events)] {
            try withStorePath { path in
                try withStore(path) { store in
                    for number in 0..<700 { _ = try store.perform(notify("ann", "\(number)")) }
                    _ = try store.compact(before: .seq(690))
                }
                try RawStore.change(path) { raw in
                    let bases = raw.tables.log.bases.database
                    let key = try #require(try raw.firstKeyIfAny(try raw.stream(of: "ann"), space, of: bases))
                    try raw.change(bases, key) { $0[$0.count / 2] ^= 1 }
                }
                #expect(try findings(path) != [], "\(space)")
                try withStore(path) { store throws in #expect(try store.tray(of: "ann").total == 700) }
                guard space == .root else { return }
                #expect(try failure { try replay(path) }?.code == .damaged)
                #expect(try failure { try replay(path, rebuild: true) }?.code == .damaged)
            }
        }
    }
}
