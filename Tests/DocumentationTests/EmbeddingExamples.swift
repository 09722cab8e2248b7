import Foundation
import Testing
import Traylog
import TraylogFoundation

// example: what a handler answers
/// The status of an HTTP answer for what a store throws.
func status(of error: TraylogError) -> Int {
    switch error {
    case .refused(let refusal):
        switch refusal.code {
        case .invalid: 400
        case .unknownItem, .unknownEvent: 404
        case .itemGone, .compacted, .erased, .rewound: 410
        default: 422
        }
    case .failed(let failure):
        switch failure.code {
        case .diskFull, .mapFull: 507
        // A later request may succeed, or nobody reads the answer any more.
        case .busy, .cancelled, .closed, .notFound, .notOwner, .outOfThreads, .unavailable: 503
        default: 500
        }
    }
}
// end

// example: a request
/// The receipt of `POST /notifications`, whose body is a command without `kind` and `user`.
func notify(_ body: [UInt8], _ user: String, by caller: String, key: String?, _ store: Store) async throws -> Receipt {
    let command = try Command(body: body.span, kind: "notify", user: user)
    return try await store.perform(command.with(key: key, actor: caller))
}
// end

// example: a position that a client sends
/// A page of the inbox, from where the client's text says.
func page(of user: String, cursor text: String?, _ store: Store) async throws -> Page<Item, Traylog.Cursor> {
    let cursor = try text.map { try Traylog.Cursor(parsing: $0) }
    return try await store.inbox(of: user, InboxQuery(cursor: cursor))
}
// end

// example: a table becomes commands
/// A row of the table that had the notifications before.
struct OldNotification {
    var id: Int
    var user: String
    var title: String
    var createdAt: Date
    var isRead: Bool
}

/// Safe to run again: every row has a key of its own.
func move(_ rows: [OldNotification], to store: Store) async throws {
    for chunk in stride(from: 0, to: rows.count, by: 1_000) {
        let part = rows[chunk..<min(chunk + 1_000, rows.count)]
        try await store.perform(
            part.map {
                .notify($0.user, title: $0.title, key: "old-\($0.id)").with(occurredAt: Timestamp($0.createdAt))
            })
        try await store.perform(
            part.filter(\.isRead).map { .mark(.read, [.key("old-\($0.id)")], of: $0.user) })
    }
}
// end

/// The Swift blocks of Docs/guides/embed-server.md and Docs/guides/coming-from.md.
@Suite struct EmbeddingExamples {
    @Test func aBodyNamesNeitherItsUserNorItsKind() async throws {
        try await Store.withTemporary { store in
            let receipt = try await notify(Array(#"{"title":"1"}"#.utf8), "ann", by: "ci", key: "k", store)
            #expect(receipt == .appended(1))
            let event = try await store.log.event(1)
            #expect((event.user, event.actor, event.key) == ("ann", "ci", "k"))
            await #expect(throws: TraylogError.self) {
                try await notify(Array(#"{"title":"1","user":"bob"}"#.utf8), "ann", by: "ci", key: nil, store)
            }
        }
    }

    @Test func aTextThatIsNoPositionIsTheClientsFault() async throws {
        try await Store.withTemporary { store in
            try await store.notify("ann", title: "1")
            #expect(try await page(of: "ann", cursor: nil, store).elements.count == 1)
            #expect(try await page(of: "ann", cursor: "c1-1", store).elements.isEmpty)
            let error = await #expect(throws: TraylogError.self) { try await page(of: "ann", cursor: "next", store) }
            #expect(error.map(status) == 400)
        }
    }

    @Test func aRefusalIsTheCallersAndAFailureTheServers() async throws {
        let store = try Store.temporary()
        do throws(TraylogError) {
            try await store.mark(.read, 7, of: "ann")
        } catch {
            #expect(status(of: error) == 404)
        }
        do throws(TraylogError) {
            try await store.notify("", title: "Hi")
        } catch {
            #expect(status(of: error) == 400)
        }
        await store.close()
        do throws(TraylogError) {
            _ = try await store.tray(of: "ann")
            Issue.record("a closed store answers")
        } catch {
            #expect(status(of: error) == 503)
        }
    }

    @Test func anOldTableMovesOnce() async throws {
        let store = try Store.temporary()
        let rows = (1...1_500).map {
            OldNotification(
                id: $0, user: "user-\($0 % 7)", title: "Row \($0)",
                createdAt: Date(timeIntervalSince1970: 1_700_000_000 + Double($0)), isRead: $0 % 3 == 0)
        }
        for _ in 1...2 { try await move(rows, to: store) }
        var (total, unread) = (0, 0)
        for try await user in store.allUsers() {
            let tray = try await store.tray(of: user)
            (total, unread) = (total + tray.total, unread + tray.unread)
        }
        #expect((total, unread) == (1_500, 1_000))
        #expect(try await store.item("old-1500", of: "user-2").occurredAt == Timestamp(rows[1_499].createdAt))
        await store.close()
    }

    @Test func aQueryOfATableIsAQueryOfATray() async throws {
        let store = try Store.temporary()
        for title in ["1", "2"] { try await store.notify("ann", title: title, thread: "ci") }
        // example: the same questions
        let badge = try await store.tray(of: "ann").unseen
        let unread = InboxQuery(ItemFilter(onlyUnread: true, thread: "ci"), limit: 20)
        let page = try await store.inbox(of: "ann", unread)
        try await store.mark(.read, page.elements, of: "ann")
        // end
        #expect(badge == 2 && page.elements.count == 2)
        #expect(try await store.inbox(of: "ann", unread).elements.isEmpty)
        await store.close()
    }
}
