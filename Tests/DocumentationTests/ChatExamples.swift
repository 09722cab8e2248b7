import Testing
import Traylog

// example: the storage of a chat app
/// The trays behind the screens of a chat app.
struct ChatTrays: Sendable {
    let store: Store

    // MARK: What happens

    func post(_ text: String, id: String, by sender: String, in chat: String, to recipients: [String]) async throws {
        try await store.perform(
            recipients.map {
                .notify($0, title: sender, body: text, thread: chat, category: "message", key: id).with(actor: sender)
            })
    }

    func correct(_ id: String, to text: String, for recipients: [String]) async throws {
        var edit = ContentEdit()
        edit.body = .set(text)
        try await store.perform(recipients.map { .edit(.key(id), of: $0, edit) })
    }

    func withdraw(_ id: String, for recipients: [String]) async throws {
        try await store.perform(recipients.map { .retract(.key(id), of: $0) })
    }

    func announce(_ title: String, id: String) async throws {
        try await store.broadcast(to: "news", Content(category: "news", title: title), key: id)
    }

    // MARK: What the screens show

    func badges(of user: String) -> some AsyncSequence<Int, TraylogError> {
        store.trayUpdates(of: user).map { $0.unseen }
    }

    func chats(of user: String, after cursor: Cursor? = nil) async throws -> Page<ThreadGroup, Cursor> {
        try await store.threads(of: user, cursor: cursor)
    }

    func messages(in chat: String, of user: String, after cursor: Cursor? = nil) async throws -> Page<Item, Cursor> {
        try await store.inbox(of: user, InboxQuery(ItemFilter(thread: .named(chat)), cursor: cursor))
    }

    func liveInbox(of user: String) throws -> InboxFetcher<Store> {
        try InboxFetcher(store, of: user, pageSize: 50)
    }

    func activity(of user: String, from seq: Seq? = nil) async throws -> Page<Event, Seq> {
        try await store.history(of: user, newestFirst: true, from: seq, limit: 50)
    }

    // MARK: What a person does

    func joinNews(_ user: String) async throws { try await store.subscribe(user, to: "news") }

    func look(_ user: String, at page: Page<Item, Cursor>) async throws {
        try await store.seeTray(of: user, upTo: page.asOf)
    }

    func read(_ chat: String, of user: String, shown page: Page<Item, Cursor>) async throws -> Receipt {
        try await store.markAll(.read, of: user, ItemFilter(thread: .named(chat)), upTo: page.asOf)
    }

    func archive(_ items: [Item], of user: String) async throws -> Receipt {
        try await store.mark(.archived, items, of: user)
    }

    func takeBack(_ receipt: Receipt, of user: String) async throws {
        if let event = receipt.seq { try await store.undo(event, of: user) }
    }

    func snooze(_ item: Item, of user: String, until time: Timestamp) async throws {
        try await store.snooze(.seq(item.seq), of: user, until: time)
    }

    func mute(_ chat: String, of user: String) async throws { try await store.mute(.thread(chat), of: user) }

    func deleteAccount(_ user: String) async throws { try await store.erase(user) }
}
// end

/// The Swift blocks of Docs/guides/chat.md.
@Suite struct ChatExamples {
    @Test func aChatAppKeepsItsTrays() async throws {
        // example: a test of it
        let noon = Timestamp(milliseconds: 1_800_000_000_000)
        var options = StoreOptions()
        options.ticking = .manual
        options.clock = { noon }
        let trays = ChatTrays(store: try .temporary(options: options))

        try await trays.joinNews("ann")
        for _ in 1...2 {  // the sender tries again, and nobody gets it twice
            try await trays.post("Lunch?", id: "m1", by: "bob", in: "team", to: ["ann", "cid"])
        }
        try await trays.correct("m1", to: "Lunch at 1?", for: ["ann", "cid"])
        try await trays.announce("A new version", id: "n1")
        var badges = trays.badges(of: "ann").makeAsyncIterator()
        #expect(try await badges.next() == 2)

        let page = try await trays.messages(in: "team", of: "ann")
        #expect(page.elements.map(\.content.body) == ["Lunch at 1?"])
        try await trays.post("Or at 2?", id: "m2", by: "bob", in: "team", to: ["ann", "cid"])
        let read = try await trays.read("team", of: "ann", shown: page)
        #expect(try await trays.chats(of: "ann").elements.map(\.unread) == [1, 1], "what was not shown stays unread")
        try await trays.takeBack(read, of: "ann")
        #expect(try await trays.chats(of: "ann").elements.map(\.unread) == [2, 1])

        let archived = try await trays.archive(page.elements, of: "ann")
        try await trays.takeBack(archived, of: "ann")
        try await trays.snooze(page.elements[0], of: "ann", until: noon + .seconds(3_600))
        let list = try trays.liveInbox(of: "ann")
        try await list.fetchNew()
        #expect(list.items.count == 2)
        try await trays.store.tick(now: noon + .seconds(3_600))
        try await list.fetchNew()
        #expect(list.items.first?.content.body == "Lunch at 1?", "what wakes is on top")

        try await trays.mute("team", of: "ann")
        try await trays.withdraw("m2", for: ["ann", "cid"])
        try await trays.look("ann", at: trays.messages(in: "team", of: "ann"))
        #expect(try await badges.next() == 0)
        #expect(try await trays.activity(of: "ann").elements.first?.kind == .traySeen)
        try await trays.deleteAccount("ann")
        #expect(try await trays.store.tray(of: "ann").total == 0)
        await trays.store.close()
        // end
    }
}
