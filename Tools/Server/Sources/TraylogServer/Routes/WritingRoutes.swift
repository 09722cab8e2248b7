import HTTPTypes
import Hummingbird
@_spi(Operations) @_spi(Replication) import Traylog

/// The routes that store events.
enum WritingRoutes {
    private static let common = ["key", "occurredAt", "actor", "device", "expectedRevision"]
    private static let content = [
        "thread", "category", "title", "body", "summaryArgument", "summaryCount", "silent", "level", "expiresAt",
        "remindAt", "notBefore", "collapseKey", "actions", "data",
    ]
    /// What an edit may change: neither where the item is listed, nor what it replaces, nor what can be answered.
    private static let editable = content.filter {
        !["thread", "category", "silent", "collapseKey", "actions"].contains($0)
    }

    static var publishing: [Route] {
        [
            Route(
                .post, "/v1/users/{u}/notifications", as: "notify", "Notify a user",
                Access(key: .publish, user: .publish, isAnyUser: true, isForNodes: true), origins: .allowed,
                body: .object(common + content), status: 201, answers: .json(.receipt)
            ) { call in
                let command = try await call.command("notify", user: call.user, needsBody: true)
                return try await call.perform(command, created: .created) { seq in
                    "/v1/users/\(PercentEncoding.encode(call.user))/items/\(seq)"
                }
            },
            Route(
                .post, "/v1/topics/{t}/broadcasts", as: "broadcast", "Broadcast to a topic", .key(.publish),
                origins: .allowed,
                body: .object(common + content.filter { $0 != "collapseKey" }),
                partition: .all { try await $0.broadcast($1) }, status: 201, answers: .json(.receipt)
            ) { call in
                let topic = call.segment("t")
                let command = try await call.command("broadcast", user: nil, topic: topic, needsBody: true)
                let query = call.service.partition.map { "?\(Call.partition)=\($0)" } ?? ""
                return try await call.perform(command, created: .created) { "/v1/items/\($0)\(query)" }
            },
            Route(
                .patch, "/v1/users/{u}/items/{item}", as: "editItem", "Edit an item", .key(.publish), origins: .allowed,
                body: .object(common + editable), answers: .json(.receipt)
            ) { call in
                try await call.perform(
                    call.command("edit", user: call.user, item: call.item(), needsBody: true))
            },
            Route(
                .delete, "/v1/users/{u}/items/{item}", as: "retractItem", "Take an item back", .key(.publish),
                origins: .allowed,
                body: .fields(common), answers: .json(.receipt)
            ) {
                call in
                try await call.perform(
                    call.command("retract", user: call.user, item: call.item()))
            },
            Route(
                .patch, "/v1/items/{seq}", as: "editBroadcast", "Edit a broadcast", .key(.publish), origins: .allowed,
                body: .object(common + editable), partition: .named, takesLimitedKeys: true, answers: .json(.receipt)
            ) {
                call in
                try await call.perform(call.command("edit", user: nil, item: .seq(call.seq()), needsBody: true))
            },
            Route(
                .delete, "/v1/items/{seq}", as: "retractBroadcast", "Take a broadcast back", .key(.publish),
                origins: .allowed,
                body: .fields(common), partition: .named, takesLimitedKeys: true, answers: .json(.receipt)
            ) { call in
                try await call.perform(call.command("retract", user: nil, item: .seq(call.seq())))
            },
        ]
    }

    /// What a user does with the own tray.
    static var own: [Route] {
        [
            Route(
                .post, "/v1/users/{u}/seen", as: "seeTray", "See the tray", .writing, origins: .allowed,
                body: .fields(common + ["upTo"]), answers: .json(.trayReceipt)
            ) { call in
                let command = try await call.command("seeTray", user: call.user)
                if case .seeTray(nil) = command.action { try await call.checkMayMarkUnshown() }
                return try await call.perform(command, withTray: true)
            },
            Route(
                .post, "/v1/users/{u}/marks", as: "markItems", "Mark items", .writing, origins: .allowed,
                body: .object(common + ["as", "items"]),
                required: ["as", "items"], answers: .json(.trayReceipt)
            ) {
                call in
                try await call.perform(call.command("mark", user: call.user), withTray: true)
            },
            Route(
                .post, "/v1/users/{u}/marks/all", as: "markAll", "Mark all items that match", .writing,
                origins: .allowed,
                body: .object(common + ["as", "thread", "category", "upTo"]), required: ["as"],
                answers: .json(.trayReceipt)
            ) { call in
                let command = try await call.command("markAll", user: call.user)
                if case .markAll(_, _, nil) = command.action {
                    try await call.checkMayMarkUnshown()
                }
                return try await call.perform(command, withTray: true)
            },
            Route(
                .put, "/v1/users/{u}/items/{item}/snooze", as: "snoozeItem", "Snooze an item", .writing,
                origins: .allowed,
                body: .object(common + ["until"]), required: ["until"], answers: .json(.trayReceipt)
            ) { call in
                let command = try await call.command("snooze", user: call.user, item: call.item())
                return try await call.perform(command, withTray: true)
            },
            Route(
                .delete, "/v1/users/{u}/items/{item}/snooze", as: "wakeItem", "Wake an item", .writing,
                origins: .allowed,
                body: .fields(common), answers: .json(.trayReceipt)
            ) {
                call in
                let command = try await call.command("wake", user: call.user, item: call.item())
                return try await call.perform(command, withTray: true)
            },
            Route(
                .post, "/v1/users/{u}/items/{item}/action", as: "act", "Decide on one of an item's actions", .writing,
                origins: .allowed,
                body: .object(common + ["action", "note", "asOf"]), required: ["action"], answers: .json(.trayReceipt)
            ) { call in
                let command = try await call.command("act", user: call.user, item: call.item())
                if case .act(_, _, _, nil) = command.action { try call.checkMayAnswerUnshown() }
                return try await call.perform(command, withTray: true)
            },
            Route(
                .post, "/v1/users/{u}/undo", as: "undo", "Undo a mark", .writing, origins: .allowed,
                body: .object(common + ["event"]),
                required: ["event"], answers: .json(.trayReceipt)
            ) { call in
                try await call.perform(call.command("undo", user: call.user), withTray: true)
            },
        ] + mutes("threads/{name}", "thread") + mutes("categories/{name}", "category")
            + mutes("topics/{name}", "topic") + mutes("all", "all")
    }

    private static func mutes(_ path: String, _ member: String) -> [Route] {
        [(HTTPRequest.Method.put, "mute", "Mute"), (.delete, "unmute", "Unmute")].map { method, kind, title in
            Route(
                method, "/v1/users/{u}/mutes/\(path)",
                as: "\(kind)\(member.prefix(1).uppercased())\(member.dropFirst())",
                member == "all" ? "\(title) everything but critical items" : "\(title) a \(member)", .writing,
                origins: .allowed,
                body: .fields(kind == "mute" ? common + ["until"] : common), answers: .json(.trayReceipt)
            ) { call in
                let command = try await call.command(
                    kind, user: call.user, topic: member == "topic" ? call.segment("name") : nil,
                    thread: member == "thread" ? call.segment("name") : nil,
                    category: member == "category" ? call.segment("name") : nil, all: member == "all")
                return try await call.perform(command, withTray: true)
            }
        }
    }

    static var topics: [Route] {
        [
            Route(
                .put, "/v1/users/{u}/subscriptions/{topic}", as: "subscribe", "Subscribe to a topic", .key(.users),
                origins: .allowed,
                body: .fields(common), answers: .json(.trayReceipt)
            ) { call in
                try await call.perform(subscription("subscribe", call), withTray: true)
            },
            Route(
                .delete, "/v1/users/{u}/subscriptions/{topic}", as: "unsubscribe", "Leave a topic", .key(.users),
                origins: .allowed,
                body: .fields(common), answers: .json(.trayReceipt)
            ) { call in
                try await call.perform(subscription("unsubscribe", call), withTray: true)
            },
            Route(
                .get, "/v1/users/{u}/subscriptions", as: "getSubscriptions", "The topics of a user", .key(.users),
                origins: .allowed, answers: .json(.subscriptions)
            ) {
                call in
                let snapshot = try await call.store.snapshot(of: call.user, limit: 1, contents: 0)
                let topics = snapshot.topics.filter { $0.until == nil }.map { topic -> JSONValue in
                    ["topic": .string(topic.topic), "from": JSONValue(topic.from)]
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

    /// Refuses a user's own answer that does not say what was on the screen: it would hold for a text that came since.
    fileprivate func checkMayAnswerUnshown() throws {
        guard case .user = caller else { return }
        throw Problem.invalid("asOf", "must be given: the 'asOf' of the inbox that was on the screen")
    }
}
