import TestSupport
import Testing
import Traylog
import TraylogDomain

/// Audiences of one broadcast to many people; ``Comparison`` has those of random histories.
@Suite struct AudienceModelTests {
    /// What each of them did is drawn anew from the seed and the name.
    private func mark(_ user: Int, _ round: UInt64) -> Mark? {
        var random = SeededRandom(seed: UInt64(user) &* 31 &+ round)
        return random.pick([nil, nil, nil, nil, .read, .seen, .archived, .deleted, .unread])
    }

    @Test func anAudienceAgreesWithACountOverAllTraysAtEveryMoment() throws {
        let count = Int(sized(20_000, quick: 2_000, nightly: 1_000_000))
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
            func name(_ user: Int) -> String { "user \(user)" }
            try perform(
                users.lazy.map { Command(user: name($0), .subscribe(topic: $0 % 8 == 0 ? "others" : "all")) })
            let notice = try #require(
                try store.perform(Command(user: nil, .broadcast(topic: "all", Content(title: "Notice")))).seq)
            var moments = [notice]
            for round in UInt64(1)...3 {
                try perform(
                    users.lazy.compactMap { user -> Command? in
                        guard user % 8 != 0, let mark = mark(user, round) else { return nil }
                        return Command(user: name(user), .mark(mark, [.seq(notice)]))
                    })
                moments.append(try store.head())
            }
            for (round, moment) in moments.enumerated() {
                var expected = Audience(item: notice, asOf: moment)
                var unread: [String] = []
                for user in users where user % 8 != 0 {
                    var item = NaiveItem(
                        Event(seq: notice, recordedAt: Timestamp(milliseconds: 0), user: nil, body: .held), Content(),
                        topic: "all")
                    for past in UInt64(0)..<UInt64(round) { mark(user, past + 1).map { item.take($0) } }
                    expected.recipients += 1
                    expected.seen += item.seen ? 1 : 0
                    expected.read += item.read ? 1 : 0
                    expected.archived += item.archived ? 1 : 0
                    expected.deleted += item.deleted ? 1 : 0
                    if !item.read { unread.append(name(user)) }
                }
                let asOf: Moment? = round == 3 ? nil : .seq(moment)
                var told: (done: UInt64, total: UInt64) = (0, 0)
                let found = try store.audience(of: notice, asOf: asOf, progress: { told = ($0, $1) })
                #expect(found == expected)
                #expect(told == (UInt64(count), UInt64(count)))
                // A page of the list, from somewhere in the middle.
                let names = unread.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
                let page = try store.recipients(
                    of: notice, .unread, after: names[names.count / 2], limit: 20, asOf: asOf)
                #expect(page.recipients.map(\.user) == Array(names[(names.count / 2 + 1)...].prefix(20)))
                #expect(page.next == page.recipients.last?.user)
            }
            store.close()
        }
    }
}
