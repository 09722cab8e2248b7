import TestSupport
import Testing
@_spi(Operations) import Traylog
import TraylogAudit
import TraylogDomain

/// A story that is handed out says what the store says, and nothing on its page can be changed.
@Suite struct StoryPageTests {
    private static let signer = try? NotePrivateKey(name: "stories.example")

    @Test(arguments: seeds(4, nightly: 100))
    func aPageRepeatsTheStoryOfRandomLives(seed: UInt64) throws {
        let key = try #require(Self.signer)
        try withTemporaryDirectory { directory in
            var random = SeededRandom(seed: seed &+ 12)
            var options = StoreOptions()
            (options.ticking, options.durability) = (.manual, .relaxed)
            let store = try Store.open(directory, options: options)
            let now = try Self.live(in: store, &random)
            var pages = 0
            for event in try store.events(matching: EventFilter(), limit: 1_000).elements {
                guard event.kind == .notified || event.kind == .broadcast, random.chance(50) else { continue }
                let end =
                    random.chance(60) ? now : Seq(UInt64(random.between(Int(UInt64(event.seq)), Int(UInt64(now)))))
                for user in Self.users {
                    // It is in nobody else's tray, and what is scheduled in none.
                    guard let life = try? store.life(of: .seq(event.seq), of: user, asOf: .seq(end)) else { continue }
                    let (story, head) = (try store.story(of: life), try store.treeHead(asOf: .seq(end)))
                    let place: Comment = "seed \(seed), \(user), item \(event.seq), as of \(end)"
                    let page = try Array(store.provedStory(of: life).page(signedBy: key).utf8)
                    for (heads, key) in [([], key.publicKey), ([Self.text(head)], nil)] as [([String], NotePublicKey?)]
                    {
                        let check = try Self.check(page, heads, key)
                        #expect(check.findings.isEmpty, place)
                        #expect(check.story == story && check.user == user && check.item == event.seq, place)
                        #expect(check.treeHead == head, place)
                    }
                    try change(page, head, &random, place)
                    pages += 1
                }
            }
            #expect(pages > 10)
            store.close()
        }
    }

    @Test func aPageTellsEachChangeOfAnItem() throws {
        let key = try #require(Self.signer)
        try withTemporaryDirectory { directory in
            var options = StoreOptions()
            options.ticking = .manual
            let store = try Store.open(directory, options: options)
            func act(_ action: Command.Action, by actor: String? = nil) throws {
                try store.perform(Command(user: "ann", action, actor: actor))
            }
            func words(of item: Seq) throws -> [String] {
                let life = try store.life(of: .seq(item), of: "ann")
                let story = try store.story(of: life)
                let page = try Array(store.provedStory(of: life).page(signedBy: key).utf8)
                let check = try Self.check(page, [], key.publicKey)
                #expect(check.findings.isEmpty && check.story == story)
                // What differs from run to run is the time.
                return story.clauses.map { clause in
                    clause.parts.map { if case .words(let words) = $0 { words } else { "T" } }.joined()
                }
            }
            let start = ["ann got this on T from shop.", "It counted as new."]
            let soon = Timestamp(milliseconds: Timestamp.now.milliseconds + 3_600_000)
            // 1 is edited, read, and then answered.
            let ask = Content(title: "89 EUR", actions: [ItemAction(id: "yes", label: "Confirm")])
            try act(.notify(ask), by: "shop")
            try act(.edit(.seq(1), ContentEdit(title: .set("99 EUR"))), by: "shop")
            try act(.mark(.read, [.seq(1)]))
            try act(.act(.seq(1), action: "yes"))
            #expect(
                try words(of: 1) == start + [
                    "Its sender edited it on T by shop: its title changed from “89 EUR” to “99 EUR”.",
                    "It was read on T.",
                    "ann answered “Confirm” on T.", "It is still in the tray.",
                ])
            #expect(try store.life(of: .seq(1), of: "ann").events.map(\.kind) == [.notified, .edited, .marked, .acted])
            // 5 is deleted with 6 when the tray is looked at, and expires.
            try act(.notify(Content(title: "Sale", expiresAt: soon)), by: "shop")
            try act(.notify(Content(title: "Other")), by: "shop")
            try act(.mark(.deleted, [.seq(5), .seq(6)]))
            try act(.notify(Content(title: "New")), by: "shop")
            try act(.seeTray())
            try store.tick(now: Timestamp(milliseconds: soon.milliseconds + 1))
            #expect(
                try words(of: 5) == start + [
                    "It was deleted together with another item on T.",
                    "It was marked as seen when the tray was looked at on T; the item was not in it.",
                    "It was never read.", "It expired on T.",
                ])
            #expect(
                try words(of: 8) == start + [
                    "The list with it was on screen on T.", "It was not read yet.", "It is still in the tray.",
                ])
            // 11 is archived when the tray is looked at; that is undone only then.
            try act(.notify(Content(title: "Away")), by: "shop")
            let away = try store.head()
            try act(.mark(.archived, [.seq(away)]))
            try act(.notify(Content(title: "Newer")), by: "shop")
            try act(.seeTray())
            try act(.undo(event: away + 1))
            #expect(
                try words(of: away) == start + [
                    "It was archived on T.", "ann undid this on T.",
                    "It was marked as seen when the tray was looked at on T; the item was not in it.",
                    "It was not read yet.", "It is still in the tray.",
                ])
            try act(.mark(.deleted, [.seq(away)]))
            try act(.mark(.restored, [.seq(away)]))
            #expect(
                try words(of: away).suffix(4) == [
                    "It was deleted on T.", "It was restored on T.", "It was not read yet.", "It is still in the tray.",
                ])
            store.close()
        }
    }

    @Test func aPageTellsWhatWasUndoneAndWhatCountsInstead() throws {
        let key = try #require(Self.signer)
        try withTemporaryDirectory { directory in
            var options = StoreOptions()
            options.ticking = .manual
            let store = try Store.open(directory, options: options)
            func act(_ action: Command.Action, by actor: String? = nil, on device: String? = nil) throws {
                try store.perform(Command(user: "ann", action, actor: actor, device: device))
            }
            func told() throws -> (page: String, check: StoryCheck, words: [String]) {
                let life = try store.life(of: .seq(1), of: "ann")
                let page = try store.provedStory(of: life).page(signedBy: key)
                let check = try Self.check(Array(page.utf8), [], key.publicKey)
                #expect(check.findings.isEmpty)
                #expect(try store.story(of: life) == check.story)
                return (page, check, check.story?.clauses.map { $0.text { _ in "T" } } ?? [])
            }
            try act(.notify(Content(title: "Invoice")), by: "shop")
            try act(.notify(Content(title: "Other")), by: "shop")
            try act(.mark(.read, [.seq(1)]), on: "tablet")
            try act(.markAll(.read, ItemFilter()), on: "laptop")
            let start = ["ann got this on T from shop.", "It counted as new."]
            #expect(try told().words == start + ["It was read on T on tablet.", "It is still in the tray."])
            #expect(try told().check.story?.read?.event == 3)
            try act(.undo(event: 3), by: "ada")
            let undone = ["It was read on T on tablet.", "ada undid this on T."]
            let all = "It was marked as read with “mark all” on T on laptop, and not opened individually."
            #expect(try told().words == start + undone + [all, "It is still in the tray."])
            let instead = try told().check.story
            #expect(instead?.read?.event == 4 && instead?.seen?.event == 4)
            try act(.undo(event: 4), by: "ada", on: "console")
            let last = try told()
            #expect(
                last.words == start + undone + [
                    all, "ada undid this on T on console.", "It was not on screen after that.",
                    "It was not read after that.", "It is still in the tray.",
                ])
            #expect(last.check.story?.read == nil && last.check.story?.seen == nil)
            #expect(last.check.sentences.map(\.source).contains("event 6"))
            // Neither the sentence nor the event can be missing.
            for line in last.page.split(separator: "\n") where line.contains("undid this") {
                let without = Array(last.page.replacing(line + "\n", with: "").utf8)
                #expect(try !Self.check(without, [], key.publicKey).findings.isEmpty)
            }
            store.close()
        }
    }

    private static let users = ["ann", "bo\u{308}b"]

    /// Makes items of every kind, and does everything with them that people, publishers and the clock do.
    private static func live(in store: Store, _ random: inout SeededRandom) throws -> Seq {
        var now = Timestamp(milliseconds: 1_700_000_000_000)
        for _ in 0..<160 {
            let head = Int(UInt64(try store.head()))
            func item() -> ItemReference { .seq(Seq(UInt64(random.between(1, max(1, head))))) }
            let (user, later) = (
                random.pick(users), Timestamp(milliseconds: now.milliseconds + Int64(random.between(1, 30_000)))
            )
            var content = Content(
                thread: random.pick([nil, "t", "u"]), category: random.pick([nil, "c"]), title: "<\(head)>",
                isSilent: random.chance(10), level: random.chance(10) ? .critical : .active,
                expiresAt: random.chance(20) ? later : nil, remindAt: random.chance(20) ? later : nil)
            if random.chance(30) { content.actions = [ItemAction(id: "yes", label: "Yes & no")] }
            if random.chance(15) { (content.notBefore, content.expiresAt, content.remindAt) = (later, nil, nil) }
            let action: Command.Action
            switch random.below(34) {
            case 0...8:
                if random.chance(30) { content.collapseKey = "k" }
                action = .notify(content)
            case 9...10: action = .broadcast(topic: "news", content)
            case 11...12: action = .subscribe(topic: "news")
            case 13: action = .unsubscribe(topic: "news")
            case 14...15: action = .mute(random.pick([.all, .thread("t"), .category("c"), .topic("news")]))
            case 16: action = .unmute(random.pick([.all, .thread("t"), .category("c"), .topic("news")]))
            case 17...18: action = .seeTray()
            case 19...21:
                let mark = random.pick([Mark.seen, .read, .unread, .archived, .unarchived, .deleted, .restored])
                action = .mark(mark, (0..<random.between(1, 3)).map { _ in item() })
            case 22:
                let filter = random.chance(50) ? ItemFilter() : ItemFilter(thread: .named("t"))
                action = .markAll(random.pick([.seen, .read, .archived, .deleted]), filter)
            case 23: action = .snooze(item(), until: later)
            case 24: action = .wake(item())
            case 25: action = .act(item(), action: "yes")
            case 26: action = .retract(item())
            case 27...28: action = .undo(event: Seq(UInt64(max(1, head - random.below(4)))))
            case 29...30:
                action = .edit(
                    item(), random.pick([ContentEdit(title: .set("<\(head)>")), ContentEdit(body: .set("B"))]))
            default:
                now = later
                try store.tick(now: now)
                continue
            }
            let isOfTopic =
                switch action {
                case .broadcast: true
                case .edit: random.chance(30)
                default: false
                }
            // Many are refused: of a wrong item, or of one that is gone.
            _ = try? store.perform(
                Command(
                    user: isOfTopic ? nil : user, action, occurredAt: random.chance(10) ? later : nil,
                    actor: random.chance(30) ? "support" : nil, device: random.chance(30) ? "phone" : nil))
        }
        return try store.head()
    }

    /// Bytes that are changed, left out and added, before a checker that looks at no signature.
    private func change(
        _ page: [UInt8], _ head: TreeHead, _ random: inout SeededRandom, _ place: Comment
    ) throws {
        for _ in 0..<12 {
            var changed = page
            let at = random.between(0, page.count - 2)
            switch random.between(0, 2) {
            case 0: changed[at] ^= UInt8(1) << UInt8(random.between(0, 7))
            case 1: changed.remove(at: at)
            default: changed.insert(page[random.between(0, page.count - 2)], at: at)
            }
            guard changed != page else { continue }
            let check = try Self.check(changed, [Self.text(head)], nil)
            #expect(!check.findings.isEmpty && check.story == nil && check.conclusion.isEmpty, "\(place): byte \(at)")
        }
    }

    @Test func aPageCountsOnlyWithTheKeyThatSignedItAndInItsTree() throws {
        let key = try #require(Self.signer)
        try withTemporaryDirectory { directory in
            let store = try Store.open(directory, options: StoreOptions())
            try store.perform(Command(user: "ann", .notify(Content(title: "A <b>\u{202E}\r\n</pre>"))))
            try store.perform(Command(user: "ann", .markAll(.read, ItemFilter())))
            let life = try store.life(of: .seq(1), of: "ann")
            let page = try Array(store.provedStory(of: life).page(signedBy: key).utf8)
            #expect(try Self.check(page, [], key.publicKey).findings.isEmpty)
            let other = try NotePrivateKey(name: "stories.example").publicKey
            #expect(try !Self.check(page, [], other).findings.isEmpty)
            let first = try store.treeHead(asOf: .seq(1))
            #expect(try !Self.check(page, [Self.text(first)], nil).findings.isEmpty)
            #expect(throws: TraylogError.self) { try StoryCheck(treeHeads: [], publicKey: nil) }
            store.close()
        }
    }

    private static func text(_ head: TreeHead) -> String {
        #"{"treeSize":\#(head.size),"rootHash":"\#(head.root.hex)"}"#
    }

    private static func check(_ page: [UInt8], _ heads: [String], _ key: NotePublicKey?) throws -> StoryCheck {
        var check = try StoryCheck(treeHeads: heads, publicKey: key)
        for line in page.split(separator: 0x0A, omittingEmptySubsequences: false).dropLast() { check.add(Array(line)) }
        check.finish()
        return check
    }
}
