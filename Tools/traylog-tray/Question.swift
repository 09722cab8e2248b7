import Foundation
import TraylogClient
@_spi(JSON) import TraylogJSON

/// One line of input.
struct Question {
    private let fields: WireObject
    private let verb: String

    /// - Throws: for a line that is no object, or has no `do`.
    init(_ line: [UInt8]) throws {
        fields = try WireObject(question: line)
        verb = try fields.string("do")
    }

    /// The members that each verb takes.
    private static let members: [String: Set<String>] = [
        "tray": [], "mutes": [], "see": ["upTo"], "outbox": [], "discardFailed": [], "refresh": ["trigger"],
        "logout": [], "dot": [],
        "inbox": [
            "limit", "cursor", "unread", "unseen", "awaiting", "thread", "unthreaded", "category", "view",
            "includeSilent", "actor", "level", "since", "until", "text",
        ],
        "threads": ["limit", "cursor"], "mark": ["as", "items"], "markAll": ["as", "thread", "category", "upTo"],
        "snooze": ["item", "until"], "wake": ["item"], "act": ["item", "action", "note", "asOf"],
        "mute": ["thread", "category", "all", "until"], "unmute": ["thread", "category", "all"],
        "subscribe": ["topic"], "unsubscribe": ["topic"], "undo": ["id"],
        "send": ["to", "lane", "content", "attachment"], "resend": ["id"], "discard": ["id"], "live": ["on"],
        "poll": ["seconds"], "offline": ["on"], "wait": ["for", "seconds"],
    ]

    /// The answer, as one line.
    func answer(from client: TrayClient) async throws -> [UInt8] {
        guard let known = Self.members[verb] else { throw WireFault("do: there is no \(verb)") }
        if let other = fields.ranges.keys.sorted().first(where: { $0 != "do" && !known.contains($0) }) {
            throw WireFault("\(other): \(verb) has no such field")
        }
        if let answer = try await shown(by: client) { return answer }
        if let id = try await entry(of: client) { return Self.line { $0.member("id", id) } }
        return try await managed(client)
    }

    /// Questions about the tray.
    private func shown(by client: TrayClient) async throws -> [UInt8]? {
        switch verb {
        case "tray":
            let view = await client.tray
            var writer = JSONWriter()
            writer.write(view, event: nil)
            return writer.bytes
        case "mutes": return Array(try await client.mutes().json.utf8)
        case "inbox":
            let page = try await client.inbox(query())
            return Self.text { $0.write(page, of: client.user) }
        case "threads":
            let page = try await client.threads(limit: limit(), cursor: cursor())
            return Self.text { $0.write(page, of: client.user) }
        case "dot":
            let dot = await client.dot
            return Self.line { $0.member("dot", dot) }
        default: return nil
        }
    }

    /// What a user does: the id of the entry that it becomes.
    private func entry(of client: TrayClient) async throws -> String? {
        switch verb {
        case "see": return try await client.see(upTo: fields.seq(maybe: "upTo")).id
        case "mark": return try await client.mark(Mark(wire: fields), fields.references("items")).id
        case "markAll":
            guard let mark = BulkMark(try Mark(wire: fields)) else {
                throw WireFault("as: must be seen, read, archived or deleted")
            }
            return try await client.markAll(mark, ItemFilter(wire: fields), upTo: fields.seq(maybe: "upTo")).id
        case "snooze": return try await client.snooze(fields.reference("item"), until: fields.time("until")).id
        case "wake": return try await client.wake(fields.reference("item")).id
        case "act":
            return try await client.act(
                fields.reference("item"), action: fields.string("action"), note: fields.string(maybe: "note"),
                asOf: fields.seq(maybe: "asOf")
            ).id
        case "mute": return try await client.mute(scope(), until: fields.time(maybe: "until")).id
        case "unmute": return try await client.unmute(scope()).id
        case "subscribe": return try await client.subscribe(to: fields.string("topic")).id
        case "unsubscribe": return try await client.unsubscribe(from: fields.string("topic")).id
        case "undo": return try await client.undo(fields.string("id"))
        case "send":
            let content = try fields.has("content") ? fields.object("content") : WireObject(Array("{}".utf8))
            return try await client.send(
                to: fields.string("to"), Self.content(content), lane: lane(),
                attachment: fields.string(maybe: "attachment")
            ).id
        default: return nil
        }
    }

    /// Notify's fields, by the reader that the store uses: it refuses what is unknown.
    private static func content(_ fields: WireObject) throws -> Content {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("kind", "notify")
        writer.member("user", "u")
        for (name, range) in fields.ranges.sorted(by: { $0.key < $1.key }) {
            writer.name(escaping: name)
            writer.raw(String(decoding: fields.text[range], as: UTF8.self))
        }
        writer.endObject()
        for name in ["key", "device", "occurredAt"] where fields.has(name) {
            throw WireFault("\(name): the device gives it to an entry, and takes none")
        }
        guard case .notify(let content) = try Command(json: writer.bytes.span).action else {
            throw WireFault("content: kind is given with `do`")
        }
        return content
    }

    /// What keeps the outbox and the connection.
    private func managed(_ client: TrayClient) async throws -> [UInt8] {
        let outbox = client.outbox
        switch verb {
        case "outbox":
            let entries = await outbox.entries
            return Self.line { writer in
                writer.name("entries")
                writer.write(entries)
            }
        case "resend": try await outbox.resend(fields.string("id"))
        case "discard": try await outbox.discard(fields.string("id"))
        case "discardFailed":
            let count = try await outbox.discardFailed()
            return Self.line { $0.member("discarded", count) }
        case "refresh": await client.refresh(.pull)
        case "live": await client.setLive(try fields.boolean("on"))
        case "poll":
            let seconds = await client.poll(everySeconds: try fields.count("seconds"))
            return Self.line { $0.member("seconds", seconds) }
        case "offline": await client.setOffline(try fields.boolean("on"))
        case "wait":
            guard let goal = TrayClient.Goal(rawValue: try fields.string("for")) else {
                throw WireFault("for: must be idle or synced")
            }
            let isReached = await client.wait(for: goal, seconds: try seconds())
            return Self.line { $0.member("ok", isReached) }
        default: try await client.logOut()
        }
        return Self.line { $0.member("ok", true) }
    }

    private func lane() throws -> String {
        let lane = try fields.string(maybe: "lane") ?? "text"
        let isPlain = lane.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f }
        guard (1...256).contains(lane.utf8.count), isPlain else {
            throw WireFault("lane: must have 1 to 256 bytes, without control characters")
        }
        return lane
    }

    /// One of `thread`, `category`, `topic` and `all`.
    private func scope() throws -> MuteScope {
        let isAll = try fields.boolean(maybe: "all") ?? false
        let isGiven = ["thread", "category", "topic"].map(fields.isSet) + [isAll]
        guard isGiven.count(where: { $0 }) == 1 else {
            throw WireFault("\(verb): needs one of thread, category, topic and all")
        }
        return try MuteScope(wire: fields)
    }

    private func seconds() throws -> Double {
        guard let text = fields.raw("seconds") else { return 30 }
        guard let seconds = Double(text), seconds >= 0 else { throw WireFault("seconds: must be a number") }
        return seconds
    }

    private func limit() throws -> Int {
        fields.isSet("limit") ? try fields.count("limit") : 20
    }

    private func cursor() throws -> Cursor? {
        guard let text = try fields.string(maybe: "cursor") else { return nil }
        guard let cursor = Cursor(text) else { throw WireFault("cursor: no page gave it out") }
        return cursor
    }

    private func query() throws -> InboxQuery {
        var query = InboxQuery(
            ItemFilter(
                includeSilent: try fields.boolean(maybe: "includeSilent") ?? false,
                onlyUnread: try fields.boolean(maybe: "unread") ?? false,
                onlyUnseen: try fields.boolean(maybe: "unseen") ?? false,
                onlyAwaiting: try fields.boolean(maybe: "awaiting") ?? false,
                categories: try fields.strings("category"), actor: try fields.string(maybe: "actor"),
                since: try fields.time(maybe: "since"), until: try fields.time(maybe: "until"),
                text: try fields.string(maybe: "text")), limit: try limit(), cursor: try cursor())
        if let name = try fields.string(maybe: "level") {
            query.filter.level = InterruptionLevel(rawValue: name)
            guard query.filter.level != nil else {
                throw WireFault("level: must be passive, active, timeSensitive or critical")
            }
        }
        if let thread = try fields.string(maybe: "thread") { query.filter.thread = .named(thread) }
        if try fields.boolean(maybe: "unthreaded") == true {
            guard query.filter.thread == .any else { throw WireFault("unthreaded: cannot be combined with thread") }
            query.filter.thread = .unthreaded
        }
        switch try fields.string(maybe: "view") {
        case nil, "inbox": break
        case "archived": query.view = .archived
        case "snoozed": query.view = .snoozed
        default: throw WireFault("view: must be inbox, archived or snoozed")
        }
        return query
    }

    private static func text(_ body: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        body(&writer)
        return writer.bytes
    }

    /// An object of the members that `body` writes.
    private static func line(_ body: (inout JSONWriter) -> Void) -> [UInt8] {
        text { writer in
            writer.beginObject()
            body(&writer)
            writer.endObject()
        }
    }
}

extension JSONWriter {
    /// The tray's own members, with what is pending and how the client stands.
    mutating func write(_ view: TrayView, event: String?) {
        beginObject()
        member("event", event)
        // A tray is an object: what follows its brace are the members.
        raw(members: view.tray.json)
        name("pending")
        write(view.pending)
        members(view.status)
        // Not beside the counts: `error` and `message` are the answer to a question that is refused.
        name("connection")
        beginObject()
        member("status", view.status.name)
        member("error", view.error?.code)
        member("message", view.error?.message)
        endObject()
        endObject()
    }

    private mutating func raw(members object: String) {
        guard let fields = try? WireObject(Array(object.utf8)) else { return }
        for (name, range) in fields.ranges.sorted(by: { $0.value.lowerBound < $1.value.lowerBound }) {
            self.name(escaping: name)
            raw(String(decoding: fields.text[range], as: UTF8.self))
        }
    }

    mutating func members(_ status: TrayStatus) {
        member("status", status.name)
        if case .upToDate(let through) = status { member("through", through) }
    }

    mutating func write(_ entries: [OutboxEntry]) {
        beginArray()
        for entry in entries {
            beginObject()
            member("id", entry.id)
            member("lane", entry.lane)
            member("state", entry.state.rawValue)
            member("attempts", entry.attempts)
            member("error", orNull: entry.problem?.code)
            member("message", entry.problem?.message)
            member("createdAt", entry.createdAt)
            endObject()
        }
        endArray()
    }

    /// The members of `{"event":"outbox"}`.
    mutating func members(update entry: OutboxEntry) {
        member("id", entry.id)
        member("lane", entry.lane)
        member("state", entry.state.rawValue)
        name("fraction")
        if let fraction = entry.fraction { raw("\(fraction)") } else { null() }
        member("attempts", entry.attempts)
        member("error", orNull: entry.problem?.code)
        member("message", entry.problem?.message)
    }
}
