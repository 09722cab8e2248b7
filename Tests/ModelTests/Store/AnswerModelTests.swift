import TestSupport
import Testing
import Traylog
import TraylogDomain

/// Answers to items that are edited all the time, by what was on the screen; before the naive model.
@Suite struct AnswerModelTests {
    private static let content = Content(
        title: "Pay?", actions: [ItemAction(id: "yes", label: "Pay"), ItemAction(id: "no", label: "Do not")])

    private func command(_ random: inout SeededRandom, _ questions: [Seq], head: UInt64) -> Command {
        let newest = questions.suffix(5) + [Seq(UInt64(random.between(1, Int(head) + 1)))]
        let item = ItemReference.seq(random.pick(Array(newest)))
        switch random.below(12) {
        case 0: return .notify(random.pick(["ann", "bob"]), Self.content)
        case 1: return .broadcast(to: "news", Self.content)
        case 2...6:
            var edit = ContentEdit()
            if random.chance(50) { edit.title = .set("Pay \(random.below(3))?") } else { edit.body = .set("\(head)") }
            return Command(user: random.pick(["ann", "bob", nil]), .edit(item, edit))
        case 7: return .mark(.deleted, [item], of: "ann")
        default:
            let asOf = random.chance(80) ? Seq(UInt64(random.between(max(0, Int(head) - 20), Int(head) + 1))) : nil
            return .act(item, of: random.pick(["ann", "bob"]), action: random.pick(["yes", "no"]), asOf: asOf)
        }
    }

    @Test(arguments: UInt64(0)..<sized(6, nightly: 100))
    func everyAnswerIsDecidedAsTheNaiveModelDoes(seed: UInt64) throws {
        try withTemporaryDirectory { directory in
            var options = StoreOptions()
            (options.ticking, options.durability) = (.manual, .relaxed)
            let store = try Store.open(directory + "/store", options: options)
            defer { store.close() }
            var (naive, random, refused) = (NaiveStore(), SeededRandom(seed: seed), 0)
            var questions: [Seq] = []
            for index in 0..<600 {
                let command =
                    index < 2
                    ? Command.subscribe(["ann", "bob"][index], to: "news")
                    : command(&random, questions, head: UInt64(naive.head))
                let wanted = naive.perform(command, now: Timestamp(milliseconds: 1))
                let found: Result<Receipt, Refusal>
                do throws(TraylogError) {
                    found = .success(try store.perform(command))
                } catch {
                    guard case .refused(let refusal) = error else { throw error }
                    found = .failure(refusal)
                }
                switch (wanted, found) {
                case (.failure(.invalid(let field, _)), .failure(.invalid(let ours, _))):
                    #expect(field == ours, "seed \(seed), command \(index): \(command)")
                default: #expect(wanted == found, "seed \(seed), command \(index): \(command)")
                }
                if case .failure(.changedSince) = found { refused += 1 }
                switch command.action {
                case .notify, .broadcast: questions.append(naive.head)
                default: break
                }
            }
            #expect(refused > 5, "seed \(seed)")
            for user in ["ann", "bob"] {
                for shown in try store.inbox(of: user, InboxQuery(limit: 100)).elements {
                    let item = naive.state(of: user).item(shown.seq)
                    #expect(item?.outcome?.asOf == shown.outcome?.asOf && item?.outcome?.seq == shown.outcome?.seq)
                }
            }
        }
    }
}
