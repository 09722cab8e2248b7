import HTTPTypes
import Hummingbird
import Traylog

/// The routes that store events.
enum WritingRoutes {
    private static let common = ["key", "occurredAt", "actor", "device"]
    private static let content = [
        "thread", "category", "title", "body", "summaryArgument", "summaryCount", "silent", "level", "expiresAt",
        "collapseKey", "data",
    ]
    private static let editable = ["title", "body", "summaryArgument", "summaryCount", "level", "expiresAt", "data"]

    static var all: [Route] { publishing + own + topics }

    private static var publishing: [Route] {
        [
            Route(
                .post, "/v1/users/{u}/notifications", "Notify a user",
                Access(key: .publish, user: .publish, isAnyUser: true), origins: .allowed,
                body: .object(common + content), status: 201
            ) { call in
                let command = try await call.command("notify", user: call.user, needsBody: true)
                return try await call.perform(command, created: .created) { seq in
                    "/v1/users/\(PercentEncoding.encode(call.user))/items/\(seq)"
                }
            },
            Route(
                .post, "/v1/topics/{t}/broadcasts", "Broadcast to a topic", .key(.publish), origins: .allowed,
                body: .object(common + content.filter { $0 != "collapseKey" }),
                partition: .all { try await $0.broadcast($1) }, status: 201
            ) { call in
                let topic = call.segment("t")
                let command = try await call.command("broadcast", user: nil, topic: topic, needsBody: true)
                let query = call.service.partition.map { "?\(Call.partition)=\($0)" } ?? ""
                return try await call.perform(command, created: .created) { "/v1/items/\($0)\(query)" }
            },
            Route(
                .patch, "/v1/users/{u}/items/{item}", "Edit an item", .key(.publish), origins: .allowed,
                body: .object(common + editable)
            ) { call in
                try await call.perform(
                    call.command("edit", user: call.user, item: call.item(), needsBody: true))
            },
            Route(
                .delete, "/v1/users/{u}/items/{item}", "Take an item back", .key(.publish), origins: .allowed,
                body: .fields(common)
            ) {
                call in
                try await call.perform(
                    call.command("retract", user: call.user, item: call.item()))
            },
            Route(
                .patch, "/v1/items/{seq}", "Edit a broadcast", .key(.publish), origins: .allowed,
                body: .object(common + editable), partition: .named
            ) {
                call in
                try await call.perform(call.command("edit", user: nil, item: .seq(Seq(call.seq())), needsBody: true))
            },
            Route(
                .delete, "/v1/items/{seq}", "Take a broadcast back", .key(.publish), origins: .allowed,
                body: .fields(common), partition: .named
            ) { call in
                try await call.perform(call.command("retract", user: nil, item: .seq(Seq(call.seq()))))
            },
        ]
    }

    /// What a user does with the own tray.
    private static var own: [Route] {
        [
            Route(
                .post, "/v1/users/{u}/seen", "See the tray", .writing, origins: .allowed,
                body: .fields(common + ["upTo"])
            ) { call in
                let command = try await call.command("seeTray", user: call.user)
                if case .seeTray(nil) = command.action { try await call.checkMayMarkUnshown() }
                return try await call.perform(command, withTray: true)
            },
            Route(
                .post, "/v1/users/{u}/marks", "Mark items", .writing, origins: .allowed,
                body: .object(common + ["as", "items"]),
                required: ["as", "items"]
            ) {
                call in
                try await call.perform(call.command("mark", user: call.user), withTray: true)
            },
            Route(
                .post, "/v1/users/{u}/marks/all", "Mark all items that match", .writing, origins: .allowed,
                body: .object(common + ["as", "thread", "category", "upTo"]), required: ["as"]
            ) { call in
                let command = try await call.command("markAll", user: call.user)
                if case .markAll(_, let selection) = command.action, selection.upTo == nil {
                    try await call.checkMayMarkUnshown()
                }
                return try await call.perform(command, withTray: true)
            },
            Route(
                .put, "/v1/users/{u}/items/{item}/snooze", "Snooze an item", .writing, origins: .allowed,
                body: .object(common + ["until"]), required: ["until"]
            ) { call in
                let command = try await call.command("snooze", user: call.user, item: call.item())
                return try await call.perform(command, withTray: true)
            },
            Route(
                .delete, "/v1/users/{u}/items/{item}/snooze", "Wake an item", .writing, origins: .allowed,
                body: .fields(common)
            ) {
                call in
                let command = try await call.command("wake", user: call.user, item: call.item())
                return try await call.perform(command, withTray: true)
            },
            Route(
                .post, "/v1/users/{u}/undo", "Undo a mark", .writing, origins: .allowed,
                body: .object(common + ["event"]),
                required: ["event"]
            ) { call in
                try await call.perform(call.command("undo", user: call.user), withTray: true)
            },
        ] + mutes("threads", "thread") + mutes("categories", "category")
    }

    private static func mutes(_ path: String, _ member: String) -> [Route] {
        [(HTTPRequest.Method.put, "mute", "Mute"), (.delete, "unmute", "Unmute")].map { method, kind, title in
            Route(
                method, "/v1/users/{u}/mutes/\(path)/{name}", "\(title) a \(member)", .writing, origins: .allowed,
                body: .fields(common)
            ) { call in
                let name = call.segment("name")
                let command = try await call.command(
                    kind, user: call.user, thread: member == "thread" ? name : nil,
                    category: member == "category" ? name : nil)
                return try await call.perform(command, withTray: true)
            }
        }
    }

    private static var topics: [Route] {
        [
            Route(
                .put, "/v1/users/{u}/subscriptions/{topic}", "Subscribe to a topic", .key(.users), origins: .allowed,
                body: .fields(common)
            ) { call in
                try await call.perform(subscription("subscribe", call), withTray: true)
            },
            Route(
                .delete, "/v1/users/{u}/subscriptions/{topic}", "Leave a topic", .key(.users), origins: .allowed,
                body: .fields(common)
            ) { call in
                try await call.perform(subscription("unsubscribe", call), withTray: true)
            },
            Route(.get, "/v1/users/{u}/subscriptions", "The topics of a user", .key(.users), origins: .allowed) {
                call in
                let snapshot = try await call.store.snapshot(of: call.user, limit: 1, contents: 0)
                let topics = snapshot.topics.filter { $0.until == nil }.map { topic -> JSONValue in
                    ["topic": .string(topic.topic), "from": .int(topic.from.rawValue)]
                }
                return .json(["subscriptions": .array(topics)])
            },
        ]
    }

    private static func subscription(_ kind: String, _ call: Call) async throws -> Command {
        try await call.command(kind, user: call.user, topic: call.segment("topic"))
    }
}

extension Call {
    /// Refuses a user's own mark that does not say what was on the screen: it would mark what came since.
    fileprivate func checkMayMarkUnshown() async throws {
        guard case .user = caller else { return }
        let newest = try await store.tray(of: user).newest
        throw Problem.invalid(
            "upTo",
            "must be given: the 'newest' of the tray that was on the screen"
                + (newest.map { ", such as \($0) for the present one" } ?? ""))
    }
}
