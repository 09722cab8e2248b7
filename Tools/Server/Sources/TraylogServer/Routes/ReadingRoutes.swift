import HTTPTypes
import Hummingbird
@_spi(Operations) @_spi(Replication) import Traylog

/// The routes that show a user's tray.
enum ReadingRoutes {
    static var all: [Route] { [tray, mutes, inbox, threads, item, users, audience, scheduled, snapshot] }

    private static var tray: Route {
        Route(
            .get, "/v1/users/{u}/tray", as: "getTray", "A user's tray", .reading, origins: .allowed, query: ["asOf"],
            manner: .conditional, shows: .nobody, answers: .json(.tray)
        ) { call in
            let moment = try call.asOf()
            return try await call.unlessUnchanged(call.etag(asOf: moment)) {
                try await call.store.tray(of: call.user, asOf: moment).jsonBytes
            }
        }
    }

    private static var mutes: Route {
        Route(
            .get, "/v1/users/{u}/mutes", as: "getMutes", "What a user has muted, and until when", .reading,
            origins: .allowed, query: ["asOf"], manner: .conditional, answers: .json(.mutes)
        ) { call in
            let moment = try call.asOf()
            return try await call.unlessUnchanged(call.etag(asOf: moment)) {
                try await call.store.mutes(of: call.user, asOf: moment).jsonBytes
            }
        }
    }

    private static var inbox: Route {
        Route(
            .get, "/v1/users/{u}/inbox", as: "getInbox", "A page of a user's inbox", .reading, origins: .allowed,
            query: [
                "asOf", "limit", "cursor", "unread", "unseen", "awaiting", "thread", "unthreaded", "category", "view",
                "archived", "snoozed", "includeSilent", "actor", "level", "since", "until", "text", "with",
            ], manner: .conditional, answers: .json(.inboxPage)
        ) { call in
            let query = try call.inboxQuery()
            let moment = try call.asOf()
            let extras = try call.extras()
            return try await call.unlessUnchanged(call.etag(asOf: moment)) {
                let (user, store) = (call.user, call.store)
                guard !extras.isEmpty else {
                    return try await store.inbox(of: user, query, asOf: moment).jsonBytes(of: user)
                }
                // All parts are as of one seq.
                let page = try await store.inbox(of: user, query, asOf: moment)
                var bytes = page.jsonBytes(of: user)
                bytes.removeLast()
                if extras.contains("tray") {
                    bytes += ",\"tray\":".utf8
                    bytes += try await store.tray(of: user, asOf: .seq(page.asOf)).jsonBytes
                }
                if extras.contains("threads") {
                    bytes += ",\"threads\":".utf8
                    bytes += try await store.threads(of: user, asOf: .seq(page.asOf)).jsonBytes(of: user)
                }
                return bytes + [UInt8(ascii: "}")]
            }
        }
    }

    private static var threads: Route {
        Route(
            .get, "/v1/users/{u}/threads", as: "getThreads", "A page of a user's threads", .reading, origins: .allowed,
            query: ["asOf", "limit", "cursor"],
            manner: .conditional, answers: .json(.threadsPage)
        ) { call in
            let (limit, cursor, moment) = (try call.limit(), try call.cursor(), try call.asOf())
            return try await call.unlessUnchanged(call.etag(asOf: moment)) {
                try await call.store.threads(of: call.user, limit: limit, cursor: cursor, asOf: moment)
                    .jsonBytes(of: call.user)
            }
        }
    }

    private static var item: Route {
        Route(
            .get, "/v1/users/{u}/items/{item}", as: "getItem", "One item", .reading, origins: .allowed, query: ["asOf"],
            answers: .json(.item)
        ) { call in
            let item = try await call.store.item(call.item(), of: call.user, asOf: call.asOf())
            guard !item.isGone else { throw Refusal.itemGone(item.seq) }
            return .json(item.bytesWithDeleted, headers: [.cacheControl: "private, no-cache"])
        }
    }

    private static var users: Route {
        Route(
            .get, "/v1/users", as: "listUsers", "Users and their trays", .key(.users), origins: .allowed,
            query: ["prefix", "cursor", "limit"], partition: .all { try await $0.users($1) }, takesLimitedKeys: true,
            answers: .json(.usersPage)
        ) { call in
            let limit = try call.limit()
            let after = try call.nameCursor()
            let names = try await call.names(after: after, limit: limit + 1)
            var trays: [JSONValue] = []
            for name in names.prefix(limit) { trays.append(.raw(try await call.store.tray(of: name).jsonBytes)) }
            let next = names.count > limit ? names[limit - 1] : nil
            return .json([
                "users": .array(trays), "next": next.map { .string(Array($0.utf8).base64URL) } ?? .null,
            ])
        }
    }

    private static var audience: Route {
        Route(
            .get, "/v1/items/{seq}/audience", as: "getAudience", "How a broadcast's recipients have it", .key(.users),
            origins: .allowed, query: ["asOf", "list", "cursor", "limit"], partition: .named,
            shows: .persons, answers: .jsonOrLines(.audience, .recipientLine)
        ) { call in
            let (item, moment) = (try call.seq(), try call.asOf())
            guard let name = call.query["list"] else {
                for field in ["cursor", "limit"] where call.query[field] != nil {
                    throw Problem.invalid(field, "goes with list")
                }
                return .json(try await call.store.audience(of: item, asOf: moment).jsonBytes)
            }
            let part = try Audience.Part(named: name, by: "list")
            let page = try await call.store.recipients(
                of: item, part, after: call.nameCursor(), limit: call.limit(), asOf: moment)
            try await call.reader().record(persons: page.elements.map(\.user))
            return lines(page.elements.map(\.jsonBytes), next: page.next.map { Array($0.utf8).base64URL })
        }
    }

    private static var scheduled: Route {
        Route(
            .get, "/v1/scheduled", as: "listScheduled", "What was notified or broadcast for later and has not arrived",
            .key(.publish), origins: .allowed, query: ["user", "cursor", "limit"], partition: .named,
            takesLimitedKeys: true, shows: .persons, answers: .lines(.scheduledLine)
        ) { call in
            let user = call.query["user"]
            if let user { try call.limits?.check(user: user) }
            let page = try await call.store.scheduled(
                of: user, after: call.query["cursor"], limit: call.limit())
            let items = page.elements.filter { item in
                guard let limits = call.limits else { return true }
                return item.user.map { limits.admits(user: $0) } ?? item.topic.map { limits.admits(topic: $0) } ?? false
            }
            try await call.reader().record(persons: items.compactMap(\.user))
            return lines(items.map(\.jsonBytes), next: page.next)
        }
    }

    /// A page with one element a line, and where to go on in the last one.
    private static func lines(_ elements: [[UInt8]], next: String?) -> Response {
        let last = next.map { JSONValue.object([("next", .string($0))]).bytes }
        return .lines((elements + [last].compactMap(\.self)).flatMap { $0 + [UInt8(ascii: "\n")] })
    }

    private static var snapshot: Route {
        Route(
            .get, "/v1/users/{u}/snapshot", as: "getSnapshot", "A user's tray, to go on from elsewhere", .reading,
            origins: .allowed,
            query: ["asOf", "cursor"], answers: .lines(.snapshotLine)
        ) { call in
            var cursor: SnapshotCursor?
            if let text = call.query["cursor"] {
                cursor = SnapshotCursor(text)
                guard cursor != nil else { throw Problem.unknownCursor }
            }
            let page = try await call.store.snapshot(of: call.user, asOf: call.asOf(), cursor: cursor)
            let offset = FeedOffset(
                store: call.service.storeIdentity, feed: .user(page.stream), seq: page.asOf, in: call.service.history)
            return .lines(
                page.lines(store: call.service.storeIdentity, offset: offset), headers: [.cacheControl: "no-store"])
        }
    }
}

extension Call {
    /// The name that a page of names ended with.
    fileprivate func nameCursor() throws -> String? {
        guard let cursor = query["cursor"] else { return nil }
        guard let name = [UInt8](base64URL: cursor).flatMap({ String(validating: $0, as: UTF8.self) }) else {
            throw Problem.unknownCursor
        }
        return name
    }

    /// The names of users that begin as the query says, and as the caller's key demands.
    fileprivate func names(after: String?, limit: Int) async throws -> [String] {
        var prefix = query["prefix"] ?? ""
        if let limits {
            guard let own = limits.users else { return [] }
            if own.utf8.starts(with: prefix.utf8) { prefix = own }
            guard limits.admits(user: prefix) else { return [] }
        }
        return try await store.users(after: after, prefix: prefix, limit: limit).elements
    }

    fileprivate func inboxQuery() throws -> InboxQuery {
        var query = InboxQuery(limit: try limit(), cursor: try cursor())
        query.view = try view()
        query.filter.includeSilent = try flag("includeSilent")
        query.filter.onlyUnread = try flag("unread")
        query.filter.onlyUnseen = try flag("unseen")
        query.filter.onlyAwaiting = try flag("awaiting")
        query.filter.categories = try names("category")
        query.filter.actor = try name("actor")
        query.filter.level = try level()
        (query.filter.since, query.filter.until) = (try time("since"), try time("until"))
        query.filter.text = self.query["text"]
        if let thread = try name("thread") { query.filter.thread = .named(thread) }
        if try flag("unthreaded") {
            guard self.query["thread"] == nil else { throw Problem.invalid("unthreaded", "excludes thread") }
            query.filter.thread = .unthreaded
        }
        return query
    }

    private func level() throws -> InterruptionLevel? {
        try query["level"].map { name throws(Problem) in try InterruptionLevel(named: name, by: "level") }
    }

    /// The view, by its name or, as on the command line, by a flag.
    private func view() throws -> InboxQuery.View {
        let (isArchived, isSnoozed) = (try flag("archived"), try flag("snoozed"))
        if isArchived || isSnoozed {
            guard query["view"] == nil else { throw Problem.invalid("view", "excludes archived and snoozed") }
            guard isArchived != isSnoozed else { throw Problem.invalid("snoozed", "excludes archived") }
            return isArchived ? .archived : .snoozed
        }
        guard let name = query["view"] else { return .inbox }
        guard let view = InboxQuery.View(rawValue: name) else {
            throw Problem.invalid("view", "must be inbox, archived or snoozed")
        }
        return view
    }

    /// What `with` adds to an inbox.
    fileprivate func extras() throws -> Set<String> {
        guard let text = query["with"] else { return [] }
        let names = Set(text.split(separator: ",").map(String.init))
        guard !names.isEmpty, names.isSubset(of: ["tray", "threads"]) else {
            throw Problem.invalid("with", "must be of tray and threads")
        }
        return names
    }
}

extension TraySnapshot {
    /// The lines of `/snapshot`.
    func lines(store: String, offset: FeedOffset) -> [UInt8] {
        let topics = topics.map { topic -> JSONValue in
            [
                "topic": .string(topic.topic), "from": JSONValue(topic.from),
                "until": topic.until.map { JSONValue($0) } ?? .null,
            ]
        }
        let head: JSONValue = [
            "store": .string(store), "stream": .int(stream), "asOf": JSONValue(asOf),
            "offset": .string(offset.description),
            "history": .array(history.forks.map { ["mark": .string($0.mark), "after": JSONValue($0.after)] }),
            "floor": JSONValue(floor), "tray": .raw(tray.jsonBytes),
            "seenUpTo": JSONValue(tray.seenUpTo), "mutedThreads": .array(mutedThreads.map { .string($0) }),
            "mutedCategories": .array(mutedCategories.map { .string($0) }),
            "mutes": .array(mutes.map { .raw($0.jsonBytes) }), "topics": .array(topics),
            "voided": .array(voided.map { JSONValue($0) }),
        ]
        var bytes = head.bytes + [UInt8(ascii: "\n")]
        for part in items {
            bytes += part.item.bytesWithDeleted
            bytes.removeLast()
            bytes += ",\"hasContent\":\(part.hasContent)}\n".utf8
        }
        let last: JSONValue = ["next": next.map { .string($0.description) } ?? .null]
        return bytes + last.bytes + [UInt8(ascii: "\n")]
    }
}

extension Item {
    /// The item as JSON, with `deleted` in any case.
    fileprivate var bytesWithDeleted: [UInt8] {
        guard !isDeleted else { return jsonBytes }
        return jsonBytes.dropLast() + ",\"deleted\":false}".utf8
    }
}
