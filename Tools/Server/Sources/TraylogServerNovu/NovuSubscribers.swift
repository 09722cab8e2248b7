import TraylogServer
import Hummingbird
@_spi(Wire) import Traylog

/// Novu's view of one subscriber's notifications.
enum NovuSubscribers {
    private static let path = "/compat/novu/v2/subscribers/{u}/notifications"
    private static let mostFilters = 30

    static var all: [Route] { [list, count, delete] + marks + bulk }

    /// `read-archive` as `ReadArchive`.
    private static func words(_ name: String) -> String {
        name.split(separator: "-").map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }

    private static var list: Route {
        Route(
            .get, path, as: "novuListNotifications", "Novu: a subscriber's notifications", .novu(.users),
            origins: .allowed,
            query: [
                "limit", "after", "offset", "read", "archived", "snoozed", "seen", "data", "severity", "tags",
                "createdGte",
                "createdLte", "contextKeys",
            ], answers: .json(.novuNotifications)
        ) { call in
            for name in ["data", "contextKeys"] where call.query[name] != nil { throw NovuTriggers.unsupported(name) }
            let filter = try NovuFilter(call)
            let limit = try call.novuLimit()
            var skipped = try call.novuNumber("offset")?.clamped(to: 0...Int.max) ?? 0
            var after = try call.number("after")?.seq
            var shown: [Item] = []
            let hasMore = try await filter.walk(call.store, call.user) { item in
                if let last = after {
                    if item.seq == last { after = nil }
                    return true
                }
                if skipped > 0 {
                    skipped -= 1
                    return true
                }
                guard shown.count < limit else { return false }
                shown.append(item)
                return true
            }
            return .json([
                "data": .array(shown.map { $0.novu(of: call.user) }), "hasMore": .bool(hasMore), "filter": filter.json,
            ])
        }
    }

    private static var count: Route {
        Route(
            .get, "\(path)/count", as: "novuCountNotifications", "Novu: how many notifications", .novu(.users),
            origins: .allowed, query: ["filters"], answers: .array(.novuCount)
        ) { call in
            let filters =
                try call.query["filters"].map { try JSONValue(json: Array($0.utf8)).array ?? [] } ?? [.object([])]
            guard (1...mostFilters).contains(filters.count) else {
                throw Problem.invalid("filters", "must be an array of 1 to \(mostFilters)")
            }
            var counts: [JSONValue] = []
            for value in filters {
                let filter = try NovuFilter(value)
                var count = 0
                _ = try await filter.walk(call.store, call.user) { _ in
                    count += 1
                    return true
                }
                counts.append(["count": .int(count), "filter": value])
            }
            return .json(.array(counts))
        }
    }

    private static var delete: Route {
        Route(
            .delete, "\(path)/{item}", as: "novuDeleteNotification", "Novu: delete a notification", .novu(.users),
            origins: .allowed, status: 204, answers: .none
        ) {
            call in
            _ = try await call.store.perform(call.attributed(Command(user: call.user, .mark(.deleted, [call.item()]))))
            return .noContent
        }
    }

    private static var marks: [Route] {
        let marks: [(String, Mark)] = [
            ("read", .read), ("unread", .unread), ("archive", .archived), ("unarchive", .unarchived),
        ]
        return marks.map { name, mark in
            change(name) { _, item in .mark(mark, [item]) }
        } + [
            change("snooze", ["snoozeUntil"]) { body, item in
                let text = body["snoozeUntil"]?.string ?? ""
                return .snooze(item, until: try Timestamp(parsing: text, field: "snoozeUntil"))
            },
            change("unsnooze") { _, item in .wake(item) },
        ]
    }

    /// A route that changes one notification, and answers with it.
    private static func change(
        _ name: String, _ members: [String] = [],
        _ action: @escaping @Sendable (JSONValue, ItemReference) throws -> Command.Action
    ) -> Route {
        Route(
            .patch, "\(path)/{item}/\(name)", as: "novu\(words(name))Notification", "Novu: \(name) a notification",
            .novu(.users), origins: .allowed,
            body: .object(members), shows: .user, answers: .json(.novuNotification)
        ) { call in
            let item = try call.item()
            let action = try action(try await call.members(Set(members)), item)
            _ = try await call.store.perform(call.attributed(Command(user: call.user, action)))
            return .json(try await call.store.item(item, of: call.user).novu(of: call.user))
        }
    }

    private static var bulk: [Route] {
        let tags = ["tags", "data", "contextKeys"]
        let marks: [(String, BulkMark)] = [("read", .read), ("archive", .archived), ("delete", .deleted)]
        return marks.map { name, mark in
            all(name, tags) { call, body in
                let categories = try NovuFilter(body).categories
                for category in categories.isEmpty ? [[]] : categories.map({ [$0] }) {
                    let action = Command.Action.markAll(mark, ItemFilter(categories: category))
                    _ = try await call.store.perform(call.attributed(Command(user: call.user, action)))
                }
            }
        } + [
            all("read-archive", tags) { call, body in
                var filter = try NovuFilter(body)
                filter.isRead = true
                try await mark(.archived, filter, call)
            },
            all("seen", tags + ["notificationIds"]) { call, body in
                guard let ids = body["notificationIds"]?.array else {
                    return try await mark(.seen, NovuFilter(body), call)
                }
                let items = try ids.map { id in
                    guard let seq = id.string.flatMap({ Seq($0) }) else {
                        throw Problem.invalid("notificationIds", "must be ids of notifications")
                    }
                    return ItemReference.seq(seq)
                }
                _ = try await call.store.perform(call.attributed(Command(user: call.user, .mark(.seen, items))))
            },
        ]
    }

    private static func all(
        _ name: String, _ members: [String], _ body: @escaping @Sendable (Call, JSONValue) async throws -> Void
    ) -> Route {
        Route(
            .post, "\(path)/\(name)", as: "novu\(words(name))All", "Novu: \(name) notifications", .novu(.users),
            origins: .allowed,
            body: .object(members), status: 204, answers: .none
        ) { call in
            let given = try await call.members(Set(members))
            for name in ["data", "contextKeys"] where given[name] != nil { throw NovuTriggers.unsupported(name) }
            try await body(call, given)
            return .noContent
        }
    }

    private static func mark(_ mark: Mark, _ filter: NovuFilter, _ call: Call) async throws {
        var items: [ItemReference] = []
        _ = try await filter.walk(call.store, call.user) { item in
            items.append(.seq(item.seq))
            return true
        }
        for start in stride(from: 0, to: items.count, by: Limits.markedItems) {
            let part = Array(items[start..<min(start + Limits.markedItems, items.count)])
            _ = try await call.store.perform(call.attributed(Command(user: call.user, .mark(mark, part))))
        }
    }
}

/// Which notifications Novu asks for.
struct NovuFilter {
    var view = InboxQuery.View.inbox
    var isRead: Bool?
    var isSeen: Bool?
    /// Any of them; none stands for all.
    var categories: [String] = []
    var levels: [InterruptionLevel] = []
    var since: Timestamp?
    var until: Timestamp?
    let json: JSONValue

    /// The filter of a query.
    init(_ call: Call) throws {
        var members: [(name: String, value: JSONValue)] = []
        for name in ["read", "seen", "archived", "snoozed"] where call.query[name] != nil {
            members.append((name, .bool(try call.flag(name))))
        }
        for name in ["severity", "tags"] {
            if let text = call.query[name] { members.append((name, .string(text))) }
        }
        for name in ["createdGte", "createdLte"] {
            if let time = try call.novuNumber(name) { members.append((name, .number("\(time)"))) }
        }
        try self.init(.object(members))
    }

    init(_ value: JSONValue) throws {
        guard case .object(let members) = value else { throw Problem.invalid("filters", "must be objects") }
        json = value
        for member in members {
            switch member.name {
            case "read": isRead = try Self.flag(member)
            case "seen": isSeen = try Self.flag(member)
            case "archived": if try Self.flag(member) == true { view = .archived }
            case "snoozed": if try Self.flag(member) == true { view = .snoozed }
            case "tags": categories = try Self.texts(member.value, "tags")
            case "severity":
                levels = try Self.texts(member.value, "severity").map { name in
                    guard let level = InterruptionLevel(novu: name) else {
                        throw Problem.invalid("severity", "must be high, medium, low or none")
                    }
                    return level
                }
            case "createdGte": since = try Self.time(member)
            case "createdLte": until = try Self.time(member)
            case "notificationIds": break
            default: throw NovuTriggers.unsupported("the filter \(member.name.prefix(64))")
            }
        }
    }

    /// The end of the year 9999, in milliseconds since 1970.
    private static let latest: Int64 = 253_402_300_799_999

    /// Nil for `null`.
    private static func flag(_ member: (name: String, value: JSONValue)) throws -> Bool? {
        guard member.value != .null else { return nil }
        guard let flag = member.value.bool else { throw Problem.invalid(member.name, "must be true or false") }
        return flag
    }

    private static func time(_ member: (name: String, value: JSONValue)) throws -> Timestamp? {
        guard member.value != .null else { return nil }
        guard let time = member.value.integer?.within(0...Self.latest) else {
            throw Problem.invalid(member.name, "must be milliseconds since 1970")
        }
        return Timestamp(milliseconds: time)
    }

    /// One text, or an array of them.
    ///
    /// Novu's SDKs write an empty object for nothing.
    private static func texts(_ value: JSONValue, _ name: String) throws -> [String] {
        if let text = value.string { return [text] }
        if case .object(let members) = value {
            guard members.isEmpty else { throw NovuTriggers.unsupported("groups of \(name)") }
            return []
        }
        return try (value.array ?? []).map { element in
            guard let text = element.string else { throw Problem.invalid(name, "must be texts") }
            return text
        }
    }

    /// Visits the notifications, newest first, as long as `body` returns true.
    ///
    /// - Returns: whether there are more.
    func walk(_ store: Store, _ user: String, _ body: (Item) throws -> Bool) async throws -> Bool {
        var query = InboxQuery(ItemFilter(onlyUnread: isRead == false, onlyUnseen: isSeen == false), view: view)
        query.filter.categories = categories
        query.limit = Limits.pageItems
        repeat {
            let page = try await store.inbox(of: user, query)
            for item in page.elements where admits(item) {
                if try !body(item) { return true }
            }
            query.cursor = page.next
        } while query.cursor != nil
        return false
    }

    private func admits(_ item: Item) -> Bool {
        isRead.map { $0 == item.isRead } ?? true && isSeen.map { $0 == item.isSeen } ?? true
            && (levels.isEmpty || levels.contains { $0.novu == item.content.level.novu })
            && since.map { item.recordedAt >= $0 } ?? true
            && until.map { item.recordedAt <= $0 } ?? true
    }
}

extension Call {
    /// Novu's clients write whole numbers with a point, too.
    func novuNumber(_ name: String) throws(Problem) -> WireNumber? {
        guard let text = query[name] else { return nil }
        guard let number = WireNumber(json: text) else { throw .invalid(name, "must be a whole number") }
        return number
    }

    /// How many a page has.
    func novuLimit() throws(Problem) -> Int {
        guard let given = try novuNumber("limit") else { return 10 }
        guard let limit = given.within(1...100) else { throw .invalid("limit", "must be 1 to 100") }
        return limit
    }
}

extension Item {
    /// The item as Novu's notification.
    fileprivate func novu(of user: String) -> JSONValue {
        let category = content.category ?? "none"
        return .present([
            ("id", .string(seq.description)), ("transactionId", .string(key ?? seq.description)),
            ("subject", content.title.map { .string($0) }), ("body", .string(content.body ?? "")),
            ("to", ["id": .string(user), "subscriberId": .string(user)]), ("isRead", .bool(isRead)),
            ("isSeen", .bool(isSeen)), ("isArchived", .bool(isArchived)), ("isSnoozed", .bool(snoozedUntil != nil)),
            ("snoozedUntil", snoozedUntil.map { .string($0.description) }),
            ("createdAt", .string(recordedAt.description)),
            ("channelType", "in_app"), ("severity", .string(content.level.novu)),
            ("tags", .array(content.category.map { [.string($0)] } ?? [])),
            ("data", content.data.map { .raw(Array($0.utf8)) }),
            (
                "workflow",
                [
                    "id": .string(category), "identifier": .string(category), "name": .string(category),
                    "critical": false,
                    "severity": .string(content.level.novu),
                ]
            ),
        ])
    }
}
