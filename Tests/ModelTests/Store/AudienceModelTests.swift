import TestSupport
import Testing
@_spi(Operations) import Traylog
import TraylogDomain

/// Audiences of one broadcast to many people; ``Comparison`` has those of random histories.
@Suite struct AudienceModelTests {
    private enum Deed {
        case mark(Mark), act(String)
    }

    /// What each of them did is drawn anew from the name and the round; nobody answers twice, or what is deleted.
    private func deed(_ user: Int, _ round: UInt64) -> Deed? {
        var random = SeededRandom(seed: UInt64(user) &* 31 &+ round)
        if user % 3 == Int(round) - 1, random.chance(50) { return .act(random.pick(["yes", "no", "later"])) }
        let marks: [Mark?] = [nil, nil, nil, nil, .read, .seen, .archived, .unread]
        return random.pick(round == 3 ? marks + [.deleted] : marks).map { .mark($0) }
    }

    @Test func anAudienceAgreesWithACountOverAllTraysAtEveryMoment() throws {
        let count = Int(sized(2_000, nightly: 1_000_000))
        try withTemporaryDirectory { directory in
            var options = StoreOptions()
            (options.ticking, options.durability) = (.manual, .relaxed)
            let store = try Store.open(directory + "/store", options: options)
            func perform(_ commands: some Sequence<Command>) throws {
                var batch: [Command] = []
                for command in commands {
                    batch.append(command)
                    guard batch.count == 1_000 else { continue }
                    _ = try store.perform(batch)
                    batch.removeAll()
                }
                if !batch.isEmpty { _ = try store.perform(batch) }
            }
            // One in eight gets nothing.
            let users = 0..<count
            let actions = ["yes", "no", "later"].map { ItemAction(id: $0, label: $0) }
            func name(_ user: Int) -> String { "user \(user)" }
            try perform(
                users.lazy.map { Command(user: name($0), .subscribe(topic: $0 % 8 == 0 ? "others" : "all")) })
            let content = Content(title: "Notice", actions: actions)
            let notice = try #require(try store.perform(Command(user: nil, .broadcast(topic: "all", content))).seq)
            var moments = [notice]
            for round in UInt64(1)...3 {
                try perform(
                    users.lazy.compactMap { user -> Command? in
                        guard user % 8 != 0 else { return nil }
                        return switch deed(user, round) {
                        case nil: nil
                        case .mark(let mark): Command(user: name(user), .mark(mark, [.seq(notice)]))
                        case .act(let action): Command(user: name(user), .act(.seq(notice), action: action))
                        }
                    })
                moments.append(try store.head())
            }
            for (round, moment) in moments.enumerated() {
                var expected = Audience(item: notice, asOf: moment)
                var listed: [Audience.Part: [String]] = [:]
                var answers: [String: Int] = [:]
                for user in users where user % 8 != 0 {
                    var item = NaiveItem(
                        Event(seq: notice, recordedAt: Timestamp(milliseconds: 0), user: nil, body: .held),
                        Content(actions: actions), topic: "all")
                    for past in UInt64(0)..<UInt64(round) {
                        switch deed(user, past + 1) {
                        case nil: break
                        case .mark(let mark): item.take(mark)
                        case .act(let action):
                            item.take(.read)
                            item.outcome = Outcome(
                                action: action, actor: name(user), seq: notice, at: Timestamp(milliseconds: 0),
                                asOf: notice)
                            answers[action, default: 0] += 1
                        }
                    }
                    expected.recipients += 1
                    expected.seen += item.seen ? 1 : 0
                    expected.read += item.read ? 1 : 0
                    expected.archived += item.archived ? 1 : 0
                    expected.deleted += item.deleted ? 1 : 0
                    expected.awaiting += item.isLive && item.isAwaiting ? 1 : 0
                    if !item.read { listed[.unread, default: []].append(name(user)) }
                    if item.outcome != nil { listed[.acted, default: []].append(name(user)) }
                    if item.isLive, item.isAwaiting { listed[.awaiting, default: []].append(name(user)) }
                }
                for (action, count) in answers.sorted(by: { $0.key < $1.key }) {
                    expected.outcomes.append(Audience.OutcomeCount(action: action, count: count))
                }
                let asOf: Moment? = round == 3 ? nil : .seq(moment)
                var told: (done: UInt64, total: UInt64) = (0, 0)
                let found = try store.audience(of: notice, asOf: asOf, progress: { told = ($0, $1) })
                #expect(found == expected)
                #expect(told == (UInt64(count), UInt64(count)))
                // A page of each list, from somewhere in the middle.
                for (part, names) in listed {
                    let names = names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
                    let page = try store.recipients(
                        of: notice, part, after: names[names.count / 2], limit: 20, asOf: asOf)
                    #expect(page.elements.map(\.user) == Array(names[(names.count / 2 + 1)...].prefix(20)))
                    #expect(page.next == page.elements.last?.user && page.asOf == moment)
                    if part == .acted { #expect(page.elements.allSatisfy { $0.outcome?.actor == $0.user }) }
                }
            }
            store.close()
        }
    }
}
