import Foundation
import Testing
import TestSupport
@_spi(Operations) import Traylog
import TraylogDomain

/// What another process reads while this one writes, against the naive model.
///
/// LMDB allows one environment a process and file, so the reader is the built `traylog` program.
@Suite struct OtherProcessTests {
    @Test(arguments: UInt64(0)..<2)
    func anotherProcessSeesEventsThatAreNotFlushedYet(seed: UInt64) throws {
        try withTemporaryDirectory { directory in
            var options = StoreOptions()
            options.ticking = .manual
            options.durability = .relaxed
            // Some states are flushed by then, and some of them behind the tail.
            options.tailEvents = seed == 0 ? 200_000 : 100
            // Foundation takes canonically equivalent members of an object for one, so no two categories are.
            var mix = HistoryMix.typical
            mix.categories = 2
            var run = try ModelRun(seed: seed, mix: mix.with(.all)) { try Store.open(directory, options: options) }
            for _ in 0..<3 {
                try run.play(steps: sized(45, nightly: 90), checkEvery: sized(45, nightly: 90))
                try compare(run, directory)
            }
            run.store.close()
            try compare(run, directory)
        }
    }

    private func compare(_ run: ModelRun, _ directory: String) throws {
        let tool = TraylogProgram(store: directory)
        let recordedAt = try events(run, tool)
        let json = NaiveJSON(naive: run.naive, recordedAt: recordedAt)
        let users = run.naive.users()
        let label = "seed \(run.seed), head \(run.naive.head)"

        let lines = try tool.lines("users", "--json")
        #expect(lines.count == users.count, "\(label)")
        for (user, line) in zip(users, lines) { expect(json.tray(user), line, "\(label), users, \(user)") }

        for user in users + ["nobody"] {
            expect(json.tray(user), try tool.object("tray", user, "--json"), "\(label), tray \(user)")
        }
        for user in users.prefix(2) {
            let inbox = try tool.object("inbox", user, "--json", "--limit", "100")
            expect(member("items", inbox), try json.items(user, InboxQuery()).firstHundred, "\(label), inbox \(user)")
            let filtered = try tool.object(
                "inbox", user, "--json", "--limit", "100", "--archived", "--unread", "--include-silent")
            let query = InboxQuery(ItemFilter(includeSilent: true, onlyUnread: true), view: .archived)
            expect(member("items", filtered), try json.items(user, query).firstHundred, "\(label), archived \(user)")
            let threads = try tool.object("threads", user, "--json", "--limit", "100")
            expect(member("threads", threads), try json.threads(user).firstHundred, "\(label), threads \(user)")
        }
    }

    /// The times that the store stamped; after the writer is closed only the log of the other process has them.
    private func events(_ run: ModelRun, _ tool: TraylogProgram) throws -> [Timestamp] {
        if let events = try? run.store.events(from: 1, limit: .max).elements { return events.map(\.recordedAt) }
        let reader = try StoreReader.open(tool.store)
        defer { reader.close() }
        return try reader.events(from: 1, limit: .max).elements.map(\.recordedAt)
    }

    private func member(_ name: String, _ object: NSDictionary) -> NSArray {
        object[name] as? NSArray ?? []
    }

    private func expect(_ expected: NSObject, _ found: NSObject, _ label: String) {
        guard let difference = jsonDifference(expected, found) else { return }
        Issue.record("\(label)\(difference)")
    }
}

extension NSArray {
    fileprivate var firstHundred: NSArray {
        subarray(with: NSRange(location: 0, length: Swift.min(100, count))) as NSArray
    }
}
