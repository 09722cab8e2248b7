import Testing
import TestSupport
@testable import Traylog
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
                let events = try await store.events(from: 1, limit: .max).elements.filter { $0.kind == .acted }
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
