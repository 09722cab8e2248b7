import Testing
import TestSupport
@_spi(Operations) @testable import Traylog
@testable import TraylogDomain

/// An item's actions, of which its user chooses one.
@Suite struct AnswerTests {
    private static let question = Content(
        title: "Deploy?", actions: [ItemAction(id: "yes", label: "Deploy"), ItemAction(id: "no", label: "Wait")])

    @Test(arguments: StoreWay.allCases)
    func theFirstAnswerToAnItemCountsAndMakesItRead(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            let item = try store.notify("ann", Self.question, key: "deploy")
            #expect(
                try store.tray("ann").awaiting == 1
                    && store.inbox("ann", InboxQuery(ItemFilter(onlyAwaiting: true))) == [item])
            let acted = try store.act("ann", .act(.key("deploy"), action: "yes", note: "Now"))
            #expect(try store.receipt("ann", .act(.seq(item), action: "yes", note: "Later")) == .unchanged)
            #expect(try store.refusal("ann", .act(.seq(item), action: "no")) == .alreadyActed(item, action: "yes"))
            #expect(try store.refusal("ann", .undo(event: acted)) == .notUndoable(acted, kind: .acted))
            let shown = try #require(try store.items("ann").first)
            #expect(shown.isRead && shown.isSeen && shown.content.actions == Self.question.actions)
            #expect(shown.outcome?.action == "yes" && shown.outcome?.note == "Now" && shown.outcome?.actor == "ann")
            #expect(shown.outcome?.seq == acted)
            #expect(
                try store.tray("ann").awaiting == 0
                    && store.inbox("ann", InboxQuery(ItemFilter(onlyAwaiting: true))).isEmpty)
            #expect(try store.tray("ann", asOf: .seq(item)).awaiting == 1)
            // Unread again, it stays answered.
            try store.act("ann", .mark(.unread, [.seq(item)]))
            #expect(try store.tray("ann").unread == 1 && store.tray("ann").awaiting == 0)
        }
    }

    @Test(arguments: StoreWay.allCases)
    func whatIsWrongWithAnAnswerIsNamedInTheOrderOfTheRules(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            let plain = try store.notify("ann")
            let item = try store.notify("ann", Self.question)
            let first = try store.act("ann", .act(.seq(item), action: "yes"), key: "k")
            // A stranger's item comes before the key, the key before all else.
            #expect(try store.refusal("bob", .act(.seq(item), action: "yes"), key: "k") == .unknownItem(.seq(item)))
            #expect(try store.refusal("ann", .act(.seq(99), action: "yes"), key: "k") == .unknownItem(.seq(99)))
            #expect(
                try store.refusal("ann", .act(.seq(plain), action: "yes"), key: "k")
                    == .keyConflict(key: "k", seq: first))
            #expect(try store.receipt("ann", .act(.seq(item), action: "yes"), key: "k") == .duplicate(first))
            for (seq, action) in [(plain, "yes"), (item, "maybe"), (item, "Yes")] {
                guard case .invalid("action", _) = try store.refusal("ann", .act(.seq(seq), action: action)) else {
                    Issue.record("\(action) of \(seq) is not refused by its field")
                    return
                }
            }
            try store.act("ann", .mark(.deleted, [.seq(item), .seq(plain)]))
            #expect(try store.refusal("ann", .act(.seq(item), action: "yes")) == .itemGone(item))
            #expect(try store.refusal("ann", .act(.seq(plain), action: "?")) == .itemGone(plain))
            try store.act("ann", .mark(.restored, [.seq(item)]))
            try store.act("ann", .retract(.seq(item)))
            #expect(try store.refusal("ann", .act(.seq(item), action: "no")) == .itemGone(item))
            // A gone item keeps its answer.
            let life = try store.ask { try $0.life(of: .seq(item), of: "ann") }
            #expect(life.item.outcome?.action == "yes" && life.events.contains { $0.kind == .acted })
        }
    }

    @Test(arguments: StoreWay.allCases)
    func everyReceiverOfABroadcastAnswersForThemselves(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            for user in ["ann", "bob"] { try store.act(user, .subscribe(topic: "news")) }
            let item = try store.broadcast("news", Self.question)
            let acted = try store.act("ann", .act(.seq(item), action: "no"))
            #expect(try store.tray("ann").awaiting == 0 && store.tray("bob").awaiting == 1)
            try store.act("bob", .act(.seq(item), action: "yes"))
            #expect(try store.items("ann").first?.outcome?.action == "no")
            #expect(try store.items("bob").first?.outcome?.action == "yes")
            #expect(try store.events(after: item).first { $0.seq == acted }?.user == "ann")
        }
    }

    @Test(arguments: StoreWay.allCases)
    func anAnswerToATextThatWasEditedSinceIsRefusedWithTheFirstEdit(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            let item = try store.notify("ann", Self.question)
            let other = try store.notify("ann", Self.question)
            try store.act("ann", .edit(.seq(other), Self.title("Another")))
            // Each of these is the newest edit of its field: only the last one shows in the state.
            let edits = try (1...3).map { try store.act("ann", .edit(.seq(item), Self.title("Edited \($0)"))) }
            let body = try store.act("ann", .edit(.seq(item), Self.body("Read this")))
            for (asOf, first) in [
                (Seq(0), edits[0]), (item, edits[0]), (edits[0], edits[1]), (edits[1], edits[2]), (edits[2], body),
            ] {
                #expect(
                    try store.refusal("ann", .act(.seq(item), action: "yes", asOf: asOf))
                        == .changedSince(item, asOf: asOf, edited: first))
            }
            let acted = try store.act("ann", .act(.seq(item), action: "yes", asOf: body))
            #expect(try #require(try store.items("ann").first { $0.seq == item }).outcome?.asOf == body)
            #expect(try store.events(after: body).first?.body == .acted(item: item, action: "yes", asOf: body))
            // An edit after the answer changes nothing about it, and the same answer again compares nothing.
            try store.act("ann", .edit(.seq(item), Self.title("Later")))
            #expect(try store.receipt("ann", .act(.seq(item), action: "yes", asOf: item)) == .unchanged)
            #expect(
                try store.refusal("ann", .act(.seq(item), action: "no", asOf: item))
                    == .alreadyActed(item, action: "yes"))
            #expect(acted > body)
        }
    }

    @Test(arguments: StoreWay.allCases)
    func anAnswerToABroadcastComparesItsEdits(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            for user in ["ann", "bob"] { try store.act(user, .subscribe(topic: "news")) }
            let item = try store.broadcast("news", Self.question)
            let other = try store.broadcast("news", Self.question)
            try store.act("bob", .unsubscribe(topic: "news"))
            let first = try store.act(nil, .edit(.seq(item), Self.title("Edited")))
            try store.act(nil, .edit(.seq(other), Self.title("Another")))
            try store.act(nil, .edit(.seq(item), Self.title("Again")))
            for user in ["ann", "bob"] {
                #expect(
                    try store.refusal(user, .act(.seq(item), action: "yes", asOf: other))
                        == .changedSince(item, asOf: other, edited: first), "\(user)")
                try store.act(user, .act(.seq(item), action: "yes", asOf: try store.tray(user).asOf))
            }
            #expect(try store.ask { try $0.audience(of: item) }[action: "yes"] == 2)
        }
    }

    @Test(arguments: StoreWay.allCases)
    func theStateOfAnAnswerIsLookedAtAfterEverythingElse(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            let item = try store.notify("ann", Self.question)
            let edited = try store.act("ann", .edit(.seq(item), Self.title("Edited")))
            for asOf in [item, edited + 1] {
                #expect(
                    try store.refusal("ann", .act(.seq(99), action: "yes", asOf: asOf)) == .unknownItem(.seq(99)))
                guard case .invalid("action", _) = try store.refusal("ann", .act(.seq(item), action: "?", asOf: asOf))
                else {
                    Issue.record("an action that the item does not have is not refused by its field")
                    return
                }
            }
            #expect(
                try store.refusal("ann", .act(.seq(item), action: "yes", asOf: edited + 1))
                    == .upToBeyondHead(edited + 1, head: edited, field: "asOf"))
            var command = Command.act(.seq(item), of: "ann", action: "yes", asOf: item)
            command.expectedRevision = 9
            #expect(try refusal { try store.store.perform(command) } == .wrongRevision(expected: 9, revision: 2))
            // Without it the answer is to the state before it.
            let acted = try store.act("ann", .act(.seq(item), action: "yes"), key: "k")
            #expect(try store.items("ann").first?.outcome?.asOf == acted - 1)
            // A key compares it.
            #expect(try store.receipt("ann", .act(.seq(item), action: "yes"), key: "k") == .duplicate(acted))
            #expect(
                try store.refusal("ann", .act(.seq(item), action: "yes", asOf: acted - 1), key: "k")
                    == .keyConflict(key: "k", seq: acted))
        }
    }

    @Test(arguments: StoreWay.allCases)
    func anEditThatLeftTheLogIsNotTheOneThatARefusalNames(way: StoreWay) throws {
        try TestedStore.with(way) { store throws in
            let item = try store.notify("ann", Self.question)
            try store.act("ann", .edit(.seq(item), Self.title("Gone with the compaction")))
            let last = try store.act("ann", .edit(.seq(item), Self.title("Kept")))
            _ = try store.store.compact(before: .seq(try store.notify("ann")))
            #expect(
                try store.refusal("ann", .act(.seq(item), action: "yes", asOf: item))
                    == .changedSince(item, asOf: item, edited: last))
            #expect(try store.receipt("ann", .act(.seq(item), action: "yes", asOf: last)).seq != nil)
        }
    }

    private static func title(_ text: String) -> ContentEdit {
        var edit = ContentEdit()
        edit.title = .set(text)
        return edit
    }

    private static func body(_ text: String) -> ContentEdit {
        var edit = ContentEdit()
        edit.body = .set(text)
        return edit
    }

    /// One question, its publisher, and a person with two devices, who answer what they see.
    @Test func noStoredAnswerHasAnEditBetweenItsStateAndItself() async throws {
        try await withStorePath { path in
            let store = try Store.open(path, options: options(isRelaxed: true))
            try await store.perform(.subscribe("ann", to: "news"))
            for round in 0..<sized(200, nightly: 1_000) {
                let item = try #require(try await Self.ask(round, store))
                try await withThrowingTaskGroup { group in
                    group.addTask {
                        try await Self.edit(item, isBroadcast: round % 3 == 0, times: 1 + round % 3, store)
                    }
                    for device in ["phone", "laptop"] {
                        group.addTask { try await Self.answer(item, on: device, store) }
                    }
                    try await group.waitForAll()
                }
            }
            let events = try await store.log.events(from: 1, limit: .max).elements
            var answers = 0
            for event in events {
                guard case .acted(let item, _, _, let asOf) = event.body else { continue }
                answers += 1
                let edits = Self.edits(of: item, in: events)
                #expect(!edits.contains { $0 > asOf && $0 < event.seq }, "event \(event.seq)")
            }
            #expect(answers == sized(200, nightly: 1_000))
            await store.close()
        }
    }

    private static func ask(_ round: Int, _ store: Store) async throws -> Seq? {
        guard round % 3 == 0 else { return try await store.perform(.notify("ann", question)).seq }
        return try await store.perform(.broadcast(to: "news", question)).seq
    }

    private static func edit(_ item: Seq, isBroadcast: Bool, times: Int, _ store: Store) async throws {
        for time in 0..<times {
            await Task.yield()
            try await store.perform(
                Command(user: isBroadcast ? nil : "ann", .edit(.seq(item), title("Edit \(time)"))))
        }
    }

    /// Looks, answers, and looks again until the answer counts.
    private static func answer(_ item: Seq, on device: String, _ store: Store) async throws {
        while true {
            let page = try await store.inbox(of: "ann")
            guard let shown = page.elements.first(where: { $0.seq == item }), shown.outcome == nil else { return }
            await Task.yield()
            let command = Command.act(
                .seq(item), of: "ann", action: device == "phone" ? "yes" : "no", asOf: page.asOf)
            do throws(TraylogError) {
                try await store.perform(command.with(device: device))
                return
            } catch {
                switch error {
                case .refused(.alreadyActed): return
                case .refused(.changedSince(let changed, let asOf, let edited)):
                    let edits = edits(of: item, in: try await store.log.events(from: item, limit: .max).elements)
                    #expect(changed == item && asOf == page.asOf && edited == edits.first { $0 > asOf })
                default: throw error
                }
            }
        }
    }

    private static func edits(of item: Seq, in events: [Event]) -> [Seq] {
        events.filter { if case .edited(item, _) = $0.body { true } else { false } }.map(\.seq)
    }

    @Test func ofTwoDevicesAndARetryOneAnswerCounts() async throws {
        for round in 0..<sized(8, nightly: 300) {
            try await withStorePath { path in
                let store = try Store.open(path, options: options(isRelaxed: true))
                let item = try await store.perform(.notify("ann", Self.question)).seq
                let seq = try #require(item)
                // Both devices, and each once more with its key, in every order that the machine comes up with.
                let answers = await withTaskGroup(of: String.self) { group in
                    for device in ["phone", "laptop", "phone", "laptop"].shuffled() {
                        group.addTask {
                            let action = device == "phone" ? "yes" : "no"
                            let command = Command.act(.seq(seq), of: "ann", action: action)
                            do throws(TraylogError) {
                                let receipt = try await store.perform(command.with(key: device, device: device))
                                return "\(device) \(receipt)"
                            } catch {
                                guard case .refused(let refusal) = error else { return "\(error)" }
                                return "\(device) \(refusal.code)"
                            }
                        }
                    }
                    return await group.reduce(into: []) { $0.append($1) }.sorted()
                }
                let events = try await store.log.events(from: 1, limit: .max).elements.filter { $0.kind == .acted }
                #expect(events.count == 1, "round \(round): \(answers)")
                let winner = try #require(events.first?.device)
                let loser = winner == "phone" ? "laptop" : "phone"
                let acted = try #require(events.first?.seq)
                #expect(
                    answers
                        == [
                            "\(winner) \(Receipt.appended(acted))", "\(winner) \(Receipt.duplicate(acted))",
                            "\(loser) \(Refusal.Code.alreadyActed)", "\(loser) \(Refusal.Code.alreadyActed)",
                        ].sorted(), "round \(round)")
                await store.close()
            }
        }
    }
}
