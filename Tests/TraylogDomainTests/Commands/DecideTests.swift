import TestSupport
import Testing

@testable import TraylogDomain

/// Commands cause the events that Docs/concepts.md says, or are refused.
@Suite struct DecideTests {
    /// Items 1 (plain), 2 (retracted), 3 (deleted), 4 (archived, read), 5 (keyed, in a thread that was muted later); 6 is
    /// another user's; events 7…11 make these changes.
    ///
    /// Seen up to 1.
    private func script() throws -> Script {
        var script = Script()
        try script.notify(4, Content(title: "hi", summaryArgument: "Ann"))
        try script.append(.notified(Content(thread: "t", category: "c")), key: "k5", fingerprint: 55)
        script.skip()
        try script.append(.retracted(item: 2))
        try script.mark(.deleted, 3)
        try script.mark(.archived, 4)
        try script.append(.marked(.read, items: [4]), key: "k10", fingerprint: 1010)
        try script.append(.muted(.thread("t")))
        try script.append(.traySeen(upTo: 1))
        return script
    }

    private func refusal(_ action: Command.Action, key: String? = nil, fingerprint: UInt64 = 0) throws -> Refusal? {
        do {
            _ = try script().decide(action, key: key, fingerprint: fingerprint)
            return nil
        } catch let refusal as Refusal {
            return refusal
        }
    }

    @Test(arguments: [0, 6, 7, 99, .max] as [UInt64])
    func aReferenceToAnItemOutsideTheTrayIsUnknown(number: UInt64) throws {
        let item = ItemReference.seq(Seq(number))
        var edit = ContentEdit()
        edit.title = .set("x")
        for mark in Mark.allCases { #expect(try refusal(.mark(mark, [.seq(1), item])) == .unknownItem(item)) }
        #expect(try refusal(.edit(item, edit)) == .unknownItem(item))
        #expect(try refusal(.retract(item)) == .unknownItem(item))
    }

    @Test func keysNameItemsOnlyIfANotifyCarriedThem() throws {
        let script = try script()
        #expect(try script.decide(.mark(.read, [.key("k5")])) == .append(.marked(.read, items: [5])))
        #expect(try script.decide(.retract(.key("k5"))) == .append(.retracted(item: 5)))
        for key in ["k10", "k6", "", "K5"] {
            #expect(try refusal(.mark(.read, [.key(key)])) == .unknownItem(.key(key)))
            #expect(try refusal(.retract(.key(key))) == .unknownItem(.key(key)))
        }
    }

    @Test func goneItemsRefuseEditsAndRetractions() throws {
        var edit = ContentEdit()
        edit.title = .set("x")
        #expect(try refusal(.edit(.seq(2), edit)) == .itemGone(2))
        #expect(try refusal(.retract(.seq(2))) == .itemGone(2))
        #expect(try script().decide(.edit(.seq(3), edit)) == .append(.edited(item: 3, edit)))
        #expect(try script().decide(.retract(.seq(3))) == .append(.retracted(item: 3)))
        for mark in Mark.allCases { #expect(try script().decide(.mark(mark, [.seq(2)])) == .unchanged) }
    }

    /// For each mark: the items that it changes.
    @Test(
        arguments: [
            (.seen, [3, 5]), (.read, [1, 3, 5]), (.unread, [4]), (.archived, [1, 3, 5]), (.unarchived, [4]),
            (.deleted, [1, 4, 5]), (.restored, [3]),
        ] as [(Mark, [Seq])])
    func marksNameOnlyWhatTheyChange(mark: Mark, changing: [Seq]) throws {
        let references: [ItemReference] = [.key("k5"), .seq(4), .seq(3), .seq(2), .seq(1), .seq(5), .seq(1)]
        var script = try script()
        #expect(try script.decide(.mark(mark, references)) == .append(.marked(mark, items: changing)))
        try script.append(.marked(mark, items: changing))
        #expect(try script.decide(.mark(mark, references)) == .unchanged)
    }

    @Test func seeingStoresThePositionOfAnItem() throws {
        let script = try script()
        #expect(try script.decide(.seeTray()) == .append(.traySeen(upTo: 5)))
        #expect(try script.decide(.seeTray(upTo: 12)) == .append(.traySeen(upTo: 5)))
        #expect(try script.decide(.seeTray(upTo: 4)) == .append(.traySeen(upTo: 4)))
        #expect(try script.decide(.seeTray(upTo: 2)) == .append(.traySeen(upTo: 2)))
        #expect(try script.decide(.seeTray(upTo: 1)) == .unchanged)
        #expect(try script.decide(.seeTray(upTo: 0)) == .unchanged)
        #expect(try Script().decide(.seeTray()) == .unchanged)
        #expect(try refusal(.seeTray(upTo: 13)) == .upToBeyondHead(13, head: 12))
    }

    @Test func markAllIsAlwaysStoredWithItsPosition() throws {
        let script = try script()
        let filter = ItemFilter(thread: .named("none"), category: "none")
        for mark in BulkMark.allCases {
            #expect(try script.decide(.markAll(mark, filter)) == .append(.allMarked(mark, filter, upTo: 12)))
            #expect(try script.decide(.markAll(mark, filter, upTo: 0)) == .append(.allMarked(mark, filter, upTo: 0)))
            #expect(try refusal(.markAll(mark, ItemFilter(), upTo: 13)) == .upToBeyondHead(13, head: 12))
        }
    }

    @Test func aBulkMarkTakesOnlyTheFiltersThatItsEventCanName() {
        let filters: [(String, ItemFilter)] = [
            ("category", ItemFilter(categories: ["a", "b"])), ("unread", ItemFilter(onlyUnread: true)),
            ("unseen", ItemFilter(onlyUnseen: true)),
        ]
        for (field, filter) in filters {
            let refusal = #expect(throws: Refusal.self) { try Command(user: "ann", .markAll(.read, filter)).validate() }
            guard case .invalid(field, _) = refusal else {
                Issue.record("\(field): \(String(describing: refusal))")
                continue
            }
        }
    }

    @Test func mutingTwiceIsUnchanged() throws {
        let script = try script()
        #expect(try script.decide(.mute(.thread("t"))) == .unchanged)
        #expect(try script.decide(.unmute(.thread("t"))) == .append(.unmuted(.thread("t"))))
        #expect(try script.decide(.mute(.category("t"))) == .append(.muted(.category("t"))))
        #expect(try script.decide(.unmute(.category("t"))) == .unchanged)
    }

    @Test func anEditToTheSameValuesIsUnchanged() throws {
        var script = try script()
        var edit = ContentEdit()
        (edit.title, edit.summaryArgument, edit.summaryCount) = (.set("hi"), .set("Ann"), .set(1))
        (edit.level, edit.body, edit.expiresAt, edit.data) = (.clear, .clear, .clear, .clear)
        #expect(try script.decide(.edit(.seq(1), edit)) == .unchanged)
        edit.summaryCount = .clear
        #expect(try script.decide(.edit(.seq(1), edit)) == .unchanged)
        edit.summaryCount = .set(0)
        #expect(try script.decide(.edit(.seq(1), edit)) == .append(.edited(item: 1, edit)))
        try script.append(.edited(item: 1, edit))
        #expect(try script.decide(.edit(.seq(1), edit)) == .unchanged)
        edit.summaryCount = .clear
        #expect(try script.decide(.edit(.seq(1), edit)) == .append(.edited(item: 1, edit)))
    }

    @Test func theSameKeyIsADuplicateOrAConflict() throws {
        let script = try script()
        #expect(try script.decide(.notify(Content()), key: "k5", fingerprint: 55) == .duplicate(5))
        #expect(try script.decide(.seeTray(upTo: 99), key: "k10", fingerprint: 1010) == .duplicate(10))
        #expect(try refusal(.notify(Content()), key: "k5", fingerprint: 56) == .keyConflict(key: "k5", seq: 5))
        #expect(try refusal(.retract(.seq(99)), key: "k10", fingerprint: 1) == .keyConflict(key: "k10", seq: 10))
        #expect(try script.decide(.notify(Content()), key: "k11", fingerprint: 55) == .append(.notified(Content())))
    }

    @Test func textsThatOnlyLookTheSameAreDifferent() throws {
        let (short, long) = ("caf\u{e9}", "cafe\u{301}")
        var script = Script()
        let content = Content(thread: short, title: short, summaryArgument: short, collapseKey: short)
        try script.append(.notified(content), key: short, fingerprint: 1)
        try script.append(.muted(.thread(short)))
        #expect(try script.decide(.mark(.read, [.key(short)])) == .append(.marked(.read, items: [1])))
        #expect(throws: Refusal.self) { try script.decide(.mark(.read, [.key(long)])) }
        #expect(try script.decide(.seeTray(), key: long, fingerprint: 2) == .append(.traySeen(upTo: 1)))
        #expect(try script.decide(.mute(.thread(short))) == .unchanged)
        #expect(try script.decide(.mute(.thread(long))) == .append(.muted(.thread(long))))
        var edit = ContentEdit()
        edit.title = .set(short)
        #expect(try script.decide(.edit(.seq(1), edit)) == .unchanged)
        edit.title = .set(long)
        #expect(try script.decide(.edit(.seq(1), edit)) == .append(.edited(item: 1, edit)))
        try script.notify(1, Content(thread: long, collapseKey: long))
        #expect(try script.tray().total == 2)
        #expect(try script.tray().unread == 2)
        #expect(try script.threads().elements.count == 2)
    }

    /// A command that needs no state has the same result with one.
    @Test func blindDecisionsEqualDecisionsOnAnyState() throws {
        let script = try script()
        let actions: [Command.Action] = [
            .notify(Content(title: "x", collapseKey: "c")), .markAll(.read), .markAll(.seen, ItemFilter(), upTo: 3),
            .seeTray(), .mark(.read, [.seq(1)]), .mute(.thread("t")), .retract(.seq(1)),
        ]
        for action in actions {
            let blind = try Command(user: "ann", action).decideBlindly(head: script.head)
            if let blind { #expect(try script.decide(action) == .append(blind)) }
            #expect(try Command(user: "ann", action, key: "k").decideBlindly(head: script.head) == nil)
        }
        #expect(throws: Refusal.upToBeyondHead(13, head: 12)) {
            try Command(user: "ann", .markAll(.read, ItemFilter(), upTo: 13)).decideBlindly(head: 12)
        }
    }
}
