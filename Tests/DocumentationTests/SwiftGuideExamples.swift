import Foundation
import Testing
import Traylog
import TraylogAudit

/// The Swift blocks of guides whose other blocks are commands and programs over HTTP.
struct SwiftGuideExamples {
    private actor Outbox {
        private(set) var mails: [String] = []
        func send(_ title: String, to user: String) { mails.append("\(user): \(title)") }
    }

    private let outbox = Outbox()

    private func send(_ title: String, to user: String) async throws { await outbox.send(title, to: user) }

    // example: mails for reminders
    /// Mails each item that is still unread when its time has come; `save` keeps the position, after the mail.
    func mailReminders(_ store: Store, after position: Seq, save: (Seq) throws -> Void) async throws {
        for try await event in store.follow(after: position) {
            if case .reminded(let seq) = event.body, let user = event.user {
                let item = try await store.item(seq, of: user)
                if !item.isRead, !item.isGone { try await send(item.content.title ?? "Something waits", to: user) }
            }
            try save(event.seq)
        }
    }
    // end

    @Test func remindersOfWhatIsUnreadAreMailed() async throws {
        let store = try Store.temporary(options: StoreOptions(ticking: .manual))
        let time = Timestamp(milliseconds: 1)
        try await store.notify("ann", Content(title: "Card expires", remindAt: time))
        try await store.notify("ann", Content(title: "Read", remindAt: time))
        try await store.mark(.read, 2, of: "ann")
        try await store.tick(now: Timestamp(milliseconds: 2))
        let mailing = Task { try await mailReminders(store, after: 0) { _ in } }
        while await outbox.mails.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
        await store.close()
        try await mailing.value
        #expect(await outbox.mails == ["ann: Card expires"])
    }

    // example: an approval
    /// Asks, and waits for the answer; nil when nobody answered in time.
    ///
    /// With the same key, a restarted program waits for the same answer.
    func ask(
        _ store: Store, _ user: String, key: String, _ question: String, until end: Timestamp
    ) async throws -> Outcome? {
        let actions = [ItemAction(id: "yes", label: "Deploy"), ItemAction(id: "no", label: "Not now")]
        let content = Content(title: question, level: .critical, expiresAt: end, actions: actions)
        guard let seq = try await store.notify(user, content, key: key).seq else { return nil }
        let later = store.follow(after: seq)
        let known = try await store.item(seq, of: user)
        if known.outcome != nil || known.isGone { return known.outcome }
        for try await event in later {
            switch event.body {
            case .acted(seq, _, _, _): return try await store.item(seq, of: user).outcome
            case .expired(seq), .retracted(seq): return nil
            default: continue
            }
        }
        return nil
    }
    // end

    @Test func anApprovalWaitsForItsAnswer() async throws {
        try await Store.withTemporary { store in
            let end = Timestamp.now + .seconds(600)
            let asking = Task { try await ask(store, "ann", key: "deploy-17", "Deploy build 17?", until: end) }
            while try await store.tray(of: "ann").awaiting == 0 { try await Task.sleep(for: .milliseconds(5)) }
            // example: an answer
            let page = try await store.inbox(of: "ann", InboxQuery(ItemFilter(onlyAwaiting: true)))
            for item in page.elements { try await store.act(item, of: "ann", action: "yes", asOf: page.asOf) }
            // end
            #expect(try await asking.value?.action == "yes")
            #expect(try await ask(store, "ann", key: "deploy-17", "Deploy build 17?", until: end)?.seq == 2)
        }
    }

    // example: an audience
    /// Sends a notice again to everybody who has not read it.
    func remind(_ store: Store, of notice: Seq) async throws -> Audience {
        let audience = try await store.audience(of: notice)
        var page = try await store.recipients(of: notice, .unread)
        while true {
            try await store.perform(
                page.elements.map { .notify($0.user, title: "Please read notice \(notice)", key: "again-\(notice)") })
            guard let next = page.next else { return audience }
            page = try await store.recipients(of: notice, .unread, after: next, asOf: .seq(audience.asOf))
        }
    }
    // end

    @Test func thoseWhoHaveNotReadANoticeAreReminded() async throws {
        try await Store.withTemporary { store in
            try await store.perform(["ann", "bo", "cyd"].map { .subscribe($0, to: "staff") })
            let notice = try #require(try await store.broadcast(to: "staff", Content(title: "Fire drill")).seq)
            try await store.mark(.read, notice, of: "bo")
            let audience = try await remind(store, of: notice)
            #expect(audience.recipients == 3 && audience.read == 1)
            #expect(try await store.tray(of: "ann").unread == 2)
            #expect(try await store.tray(of: "bo").unread == 0)
        }
    }

    // example: a complete history
    /// The lines of a person's complete history, and the tree head to keep elsewhere.
    func history(
        of user: String, _ store: Store, for purpose: String
    ) async throws -> (lines: [String], head: TreeHead) {
        let last = try await store.recordAccess(of: user, actor: "legal", purpose: purpose)
        let file = try await store.proofs.completeHistory(of: user, through: last)
        var text = ""
        while let block = try await file.next() { text += String(decoding: block, as: UTF8.self) }
        return (text.split(separator: "\n").map(String.init), file.treeHead)
    }

    /// Says in one sentence what the lines prove, or what is wrong; it needs no store.
    func verdict(on lines: [String], checkpoint: String, key: NotePublicKey) throws -> String {
        var check = try CompleteCheck(treeHeads: [checkpoint], publicKey: key)
        for line in lines { check.add(Array(line.utf8)) }
        check.finish()
        return check.findings.first ?? check.conclusion
    }
    // end

    @Test func aHistoryIsCheckedWithoutTheStore() async throws {
        try await Store.withTemporary { store in
            try await store.notify("ann", title: "1")
            try await store.notify("ann", title: "2")
            let (lines, head) = try await history(of: "ann", store, for: "complaint 17")
            let key = try NotePrivateKey(name: "trays.example.org")
            let checkpoint = try Checkpoint(origin: "trays.example.org", head: head).signed(with: key).text
            #expect(
                try verdict(on: lines, checkpoint: checkpoint, key: key.publicKey)
                    == "all 3 events of ann, and no others, lead to 2 unread, 2 unseen, 2 in all")
            var part = lines
            part.remove(at: 1)
            #expect(try verdict(on: part, checkpoint: checkpoint, key: key.publicKey) == "revision 1 of ann is missing")
            // example: what changed
            let difference = try await store.proofs.difference(of: "ann", from: .seq(1), to: .seq(2))
            for change in difference.items { print(change.item, change.after.isUnread, change.by) }
            if let disclosed = try await store.proofs.disclosure(of: 2) {
                let event = try Event(disclosure: disclosed, proof: try await store.proofs.proof(of: 2))
                print(event.json)
            }
            // end
            #expect(difference.items.map(\.item) == [2])
        }
    }

    // example: a count of what is unread
    /// The unread items of all users by category and day.
    struct UnreadByDay: TrayProjection, Codable {
        static let name = "unread-by-day"
        static let version: UInt32 = 1

        private(set) var unread: [String: [Int64: Int]] = [:]

        init() {}

        mutating func apply(_ changes: [TrayChange], of event: Event) {
            for change in changes where change.wasUnread != change.isUnread {
                let day = change.item.recordedAt.milliseconds / 86_400_000
                unread[change.item.content.category ?? "", default: [:]][day, default: 0] += change.isUnread ? 1 : -1
            }
        }

        func encoded() throws -> [UInt8] { Array(try JSONEncoder().encode(self)) }
        init(decoding bytes: [UInt8]) throws { self = try JSONDecoder().decode(Self.self, from: Data(bytes)) }
    }
    // end

    @Test func unreadItemsAreCountedByCategoryAndDay() async throws {
        try await Store.withTemporary { store in
            try await store.notify("ann", title: "1", category: "build")
            try await store.notify("bob", title: "2", category: "build")
            try await store.markAll(.read, of: "ann")
            let counts = try await store.projected(UnreadByDay.self).value.unread["build"] ?? [:]
            #expect(counts.values.reduce(0, +) == 1)
        }
    }
}
