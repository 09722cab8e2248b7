import TraylogServer
import HTTPTypes
import Hummingbird
import Traylog

/// Novu's topics: a topic is listed as long as somebody is subscribed to it, and has no name but its key.
enum NovuTopics {
    private static let path = "/compat/novu/v2/topics"
    private static let ofAll = Route.Partitioning.all { try await $0.read($1) }
    private static let pageFields = ["limit", "after", "before", "includeCursor", "orderDirection", "orderBy"]
    private static let mostSubscribers = 100

    static var all: [Route] {
        [list, create, find, delete, subscriptions, subscribe, unsubscribe, subscription, ofSubscriber, check]
    }

    private static var list: Route {
        Route(
            .get, path, as: "novuListTopics", "Novu: topics", .novu(.users), origins: .allowed,
            query: pageFields + ["key", "name"],
            partition: ofAll, answers: .json(.novuTopics)
        ) { call in
            if call.query["name"] != nil { throw NovuTriggers.unsupported("names of topics") }
            let key = call.query["key"]
            let topics = try await call.novuTopics().filter { key.map($0.contains) ?? true }
            return try await page(call, topics, name: { $0 }) { ["_id": .string($0), "key": .string($0)] }
        }
    }

    private static var create: Route {
        Route(
            .post, path, as: "novuCreateTopic", "Novu: a topic", .novu(.publish), origins: .allowed,
            query: ["failIfExists"],
            body: .object(["key", "name"]), partition: ofAll, answers: .json(.novuTopic)
        ) {
            call in
            guard let key = try await call.members(["key", "name"])["key"]?.string else {
                throw Problem.invalid("key", "must be given")
            }
            let isStrict = try call.flag("failIfExists")
            if isStrict, try await !call.novuSubscribers(of: key).isEmpty {
                throw Problem(.unprocessableContent, "Refused", "the topic is there already", error: "keyConflict")
            }
            return .json(try topic(key))
        }
    }

    private static var find: Route {
        Route(
            .get, "\(path)/{topic}", as: "novuGetTopic", "Novu: a topic", .novu(.users), origins: .allowed,
            partition: ofAll, answers: .json(.novuTopic)
        ) {
            .json(try topic($0.segment("topic")))
        }
    }

    private static var delete: Route {
        Route(
            .delete, "\(path)/{topic}", as: "novuDeleteTopic", "Novu: everybody leaves a topic", .novu(.users),
            origins: .allowed,
            partition: .all { try await $0.leaveTopic($1) }, answers: .json(.novuAcknowledged)
        ) { call in
            let name = call.segment("topic")
            let users = try await NovuAudience(of: call.store).subscribers(of: [name])
            _ = try await perform(users, .unsubscribe(topic: name), call)
            return .json(["acknowledged": true])
        }
    }

    private static var subscriptions: Route {
        Route(
            .get, "\(path)/{topic}/subscriptions", as: "novuListSubscriptions", "Novu: who is subscribed",
            .novu(.users), origins: .allowed,
            query: pageFields + ["subscriberId"], partition: ofAll, answers: .json(.novuSubscriptions)
        ) { call in
            let topic = call.segment("topic")
            let users =
                if let user = call.query["subscriberId"] {
                    try await call.novuSubscription(of: user, to: topic).map { [$0.user] } ?? []
                } else { try await call.novuSubscribers(of: topic) }
            return try await page(call, users, name: { $0 }) {
                try await call.novuSubscription(of: $0, to: topic)?.novu
            }
        }
    }

    private static var ofSubscriber: Route {
        Route(
            .get, "/compat/novu/v2/subscribers/{u}/subscriptions", as: "novuListTopicsOfSubscriber",
            "Novu: a subscriber's topics", .novu(.users),
            origins: .allowed,
            query: pageFields + ["key"], answers: .json(.novuSubscriptions)
        ) { call in
            let key = call.query["key"]
            let all = try await call.store.novuSubscriptions(of: call.user)
                .filter { key?.utf8.elementsEqual($0.topic.utf8) ?? true }
            return try await page(call, all, name: \.topic) { $0.novu }
        }
    }

    private static var subscription: Route {
        Route(
            .get, "\(path)/{topic}/subscriptions/{identifier}", as: "novuGetSubscription", "Novu: a subscription",
            .novu(.users),
            origins: .allowed, partition: ofAll, answers: .json(.novuSubscription)
        ) { call in
            let topic = call.segment("topic")
            guard let user = subscriber(of: call.segment("identifier"), topic),
                let found = try await call.novuSubscription(of: user, to: topic)
            else {
                throw Problem(.notFound, "Not found", "there is no such subscription")
            }
            return .json(found.novu)
        }
    }

    private static var check: Route {
        Route(
            .get, "/compat/novu/v1/topics/{topic}/subscribers/{u}", as: "novuCheckSubscriber",
            "Novu: whether somebody is subscribed",
            .novu(.users), origins: .allowed, answers: .json(.novuTopicSubscriber)
        ) { call in
            let (name, user) = (call.segment("topic"), call.user)
            guard try await call.store.isSubscribed(user, to: name) else {
                throw Problem(.notFound, "Not found", "the subscriber is not subscribed to the topic")
            }
            return .json([
                "_organizationId": "traylog", "_environmentId": "traylog", "_subscriberId": .string(user),
                "_topicId": .string(name), "topicKey": .string(name), "externalSubscriberId": .string(user),
            ])
        }
    }

    private static var subscribe: Route {
        change(.post, "Novu: subscribe to a topic", ["context", "preferences", "name"], 201) { .subscribe(topic: $0) }
    }

    private static var unsubscribe: Route {
        change(.delete, "Novu: leave a topic", [], 200) { .unsubscribe(topic: $0) }
    }

    /// A route that subscribes, or ends the subscriptions of, those whom the body names.
    private static func change(
        _ method: HTTPRequest.Method, _ summary: String, _ members: [String], _ status: Int,
        _ action: @escaping @Sendable (String) -> Command.Action
    ) -> Route {
        let members = ["subscriberIds", "subscriptions"] + members
        return Route(
            method, "\(path)/{topic}/subscriptions", as: method == .post ? "novuSubscribe" : "novuUnsubscribe", summary,
            .novu(.users), origins: .allowed, body: .object(members),
            partition: .all { try await $0.subscriptions($1) }, status: status, answers: .json(.novuSubscriptionResults)
        ) { call in
            let body = try await call.members(Set(members))
            for name in ["context", "preferences"] {
                if let value = body[name], value != .null, value != .array([]) { throw NovuTriggers.unsupported(name) }
            }
            let topic = call.segment("topic")
            let users = try subscribers(body, of: topic)
            var known = try await subscriptions(of: users, to: topic, call)
            let results = try await perform(users, action(topic), call)
            if method == .post { known = try await subscriptions(of: users, to: topic, call) }
            return .json(answer(users, results, known), status == 201 ? .created : .ok)
        }
    }

    /// Those whom a body names.
    static func subscribers(_ body: JSONValue, of topic: String) throws -> [String] {
        let given = (body["subscriptions"]?.array ?? []) + (body["subscriberIds"]?.array ?? [])
        guard (1...mostSubscribers).contains(given.count) else {
            throw Problem.invalid("subscriptions", "must be 1 to \(mostSubscribers)")
        }
        return try given.map { value -> String in
            let identified = value["identifier"]?.string.flatMap { subscriber(of: $0, topic) }
            guard let name = value.string ?? value["subscriberId"]?.string ?? identified else {
                throw Problem.invalid("subscriptions", "must be subscribers")
            }
            return name
        }
    }

    private static func perform(
        _ users: [String], _ action: Command.Action, _ call: Call
    ) async throws -> [Result<Receipt, Refusal>] {
        try await call.store.perform(users.map { call.attributed(Command(user: $0, action)) }, mode: .each)
    }

    /// The subscription of each user; nil for one who has none, or whose name nobody can have.
    private static func subscriptions(
        of users: [String], to topic: String, _ call: Call
    ) async throws -> [NovuSubscription?] {
        var all: [NovuSubscription?] = []
        for user in users {
            do {
                all.append(try await call.store.novuSubscription(of: user, to: topic))
            } catch TraylogError.refused {
                all.append(nil)
            }
        }
        return all
    }

    private static func answer(
        _ users: [String], _ results: [Result<Receipt, Refusal>], _ known: [NovuSubscription?]
    ) -> JSONValue {
        var (data, errors): ([JSONValue], [JSONValue]) = ([], [])
        for ((user, result), subscription) in zip(zip(users, results), known) {
            if case .failure(let refusal) = result {
                errors.append([
                    "subscriberId": .string(user), "code": .string(refusal.code.rawValue),
                    "message": .string(refusal.message),
                ])
            } else if let subscription {
                data.append(subscription.novu)
            }
        }
        let counts: JSONValue = [
            "totalCount": .int(users.count), "successful": .int(users.count - errors.count),
            "failed": .int(errors.count),
        ]
        return .present([
            ("data", .array(data)), ("meta", counts), ("errors", errors.isEmpty ? nil : .array(errors)),
        ])
    }

    /// A topic, which is there as soon as it is named.
    ///
    /// - Throws: ``Problem`` 400 for a name that no topic can have.
    private static func topic(_ key: String) throws(Problem) -> JSONValue {
        guard ServerKeys.isName(key) else { throw .invalid("key", ServerKeys.nameRule) }
        return ["_id": .string(key), "key": .string(key)]
    }

    /// A part of a list that is in the order of its names' bytes.
    private static func page<Element>(
        _ call: Call, _ all: [Element], name: (Element) -> String, _ json: (Element) async throws -> JSONValue?
    ) async throws -> Response {
        for field in ["orderDirection", "orderBy"] where call.query[field] != nil {
            throw NovuTriggers.unsupported(field)
        }
        let limit = try call.novuLimit()
        func precedes(_ left: String, _ right: String) -> Bool { left.utf8.lexicographicallyPrecedes(right.utf8) }
        var range = all.indices
        if let after = call.query["after"] {
            range = (all.firstIndex { precedes(after, name($0)) } ?? all.endIndex)..<range.upperBound
        }
        if let before = call.query["before"] {
            let end = all.firstIndex { !precedes(name($0), before) } ?? all.endIndex
            range = max(range.lowerBound, end - limit)..<max(range.lowerBound, end)
        }
        let shown = all[range].prefix(limit)
        var data: [JSONValue] = []
        for element in shown {
            if let value = try await json(element) { data.append(value) }
        }
        return .json([
            "data": .array(data),
            "next": shown.last.flatMap { shown.endIndex < all.endIndex ? .string(name($0)) : nil } ?? .null,
            "previous": shown.first.flatMap { shown.startIndex > 0 ? .string(name($0)) : nil } ?? .null,
            "totalCount": .int(all.count), "totalCountCapped": false,
        ])
    }

    /// Whose subscription has this identifier.
    private static func subscriber(of identifier: String, _ topic: String) -> String? {
        let prefix = NovuSubscription.prefix(topic)
        guard identifier.utf8.starts(with: prefix.utf8) else { return nil }
        return String(decoding: identifier.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
    }
}
