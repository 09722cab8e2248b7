import TestSupport
import Testing
import Traylog
import TraylogClient

struct RandomClientTests {
    private static let actions = [ItemAction(id: "yes", label: "Yes"), ItemAction(id: "no", label: "No")]

    /// Requests are lost, answered without an answer, and done twice; the process ends anywhere.
    @Test(arguments: seeds(2, nightly: 60))
    func afterAllIsQuietTheClientEqualsTheServerAndEachEntryIsStoredOnce(seed: UInt64) async throws {
        try await withClient(seed: seed) { tested in
            var random = SeededRandom(seed: seed &+ 1_000)
            let store = tested.service.store
            _ = try await store.perform(.subscribe("ann", to: "news"))
            for index in 0..<10 {
                _ = try await store.perform(.notify("ann", title: "n\(index)", thread: index % 3 == 0 ? "t" : nil))
            }
            #expect(await tested.client.wait(for: .synced, seconds: 30))
            var sent: [String] = []
            for step in 0..<120 {
                tested.service.weather = [.fine, .stormy, .stormy, .offline].randomElement(using: &random) ?? .fine
                switch random.next() % 15 {
                case 0: _ = try await store.perform(.notify("ann", title: "later \(step)", thread: "t"))
                case 12:
                    let content = Content(title: "question \(step)", actions: Self.actions)
                    _ = try await store.perform(.notify("ann", content))
                case 13:
                    let asking = InboxQuery(ItemFilter(onlyAwaiting: true), limit: 100)
                    let items = try await tested.client.inbox(asking).elements
                    guard let item = items.randomElement(using: &random) else { break }
                    let (mine, theirs) = random.next() % 2 == 0 ? ("yes", "no") : ("no", "yes")
                    // Now and then another device is faster.
                    if random.next() % 3 == 0 {
                        _ = try? await store.perform(.act(.seq(item.seq), of: "ann", action: theirs))
                    }
                    try await tested.client.act(.seq(item.seq), action: mine)
                case 14:
                    let until = random.next() % 2 == 0 ? nil : Timestamp(milliseconds: 4_000_000_000_000)
                    let isQuiet = try await tested.client.mutes().mutes.contains { $0.scope == .all }
                    if isQuiet, until == nil {
                        try await tested.client.unmute(.all)
                    } else {
                        try await tested.client.mute(.all, until: until)
                    }
                case 1: _ = try await store.perform(.broadcast(to: "news", Content(title: "news \(step)")))
                case 2: try await tested.client.see()
                case 3: try await tested.client.markAll(.read, ItemFilter(thread: .named("t")))
                case 4...6:
                    let items = try await tested.client.inbox(InboxQuery(limit: 100)).elements
                    guard let item = items.randomElement(using: &random) else { break }
                    let mark = [Mark.read, .unread, .archived, .deleted].randomElement(using: &random) ?? .read
                    try await tested.client.mark(mark, [.seq(item.seq)])
                case 7:
                    let marks = await tested.client.outbox.entries.filter { $0.lane == "marks" && $0.state != .failed }
                    if let mark = marks.randomElement(using: &random) { try await tested.client.undo(mark.id) }
                case 8: sent.append(try await tested.client.send(to: "bob", Content(title: "m\(step)")).id)
                case 9: await tested.client.refresh(.pull)
                case 10: try await tested.restart()
                default: _ = await tested.client.wait(for: .idle, seconds: 0.02)
                }
                #expect(await tested.client.tray.tray.unseen >= 0)
            }
            tested.service.weather = .fine
            await tested.client.refresh(.pull)
            #expect(await tested.client.wait(for: .synced, seconds: 60), "seed \(seed)")
            // The user must resend a message that was under way when the process ended.
            for entry in await tested.client.outbox.entries where entry.lane == "text" && entry.state == .failed {
                try await tested.client.outbox.resend(entry.id)
            }
            #expect(await tested.client.wait(for: .synced, seconds: 60), "seed \(seed)")
            try await tested.expectEqual("seed \(seed)")
            let arrived = try await store.inbox(of: "bob", InboxQuery(limit: 100)).elements.compactMap(\.key)
            #expect(arrived.sorted() == sent.sorted(), "seed \(seed)")
        }
    }
}
