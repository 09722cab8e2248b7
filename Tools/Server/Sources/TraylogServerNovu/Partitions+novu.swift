import TraylogServer
import HTTPTypes
import Hummingbird
@_spi(Wire) import Traylog

/// Novu's routes without a subscriber in the path: each partition gets the part of its users.
extension Partitions {
    func trigger(_ call: Call) async throws -> Response {
        let trigger = try NovuTriggers.Trigger(await JSONValue(json: call.body()), key: call.idempotencyKey())
        let parts = parts(of: trigger).mapValues(\.bytes)
        if let failure = try await perform(parts, call) { return failure }
        return .json(trigger.answer, .created)
    }

    func triggers(_ call: Call) async throws -> Response {
        let triggers = try await NovuTriggers.triggers(call)
        var parts: [Int: [JSONValue]] = [:]
        for trigger in triggers {
            for (index, part) in self.parts(of: trigger) { parts[index, default: []].append(part) }
        }
        let bodies = parts.mapValues { JSONValue.object([("events", .array($0))]).bytes }
        if let failure = try await perform(bodies, call) { return failure }
        return .json(.array(triggers.map(\.answer)), .created)
    }

    func triggerForAll(_ call: Call) async throws -> Response {
        let body = try await JSONValue(json: call.body())
        let trigger = try NovuTriggers.Trigger(body, key: call.idempotencyKey(), isForAll: true)
        let whole = trigger.body(to: nil, topics: []).bytes
        let parts = services.indices.map { ($0, whole) }
        if let failure = try await perform(Dictionary(uniqueKeysWithValues: parts), call) { return failure }
        return .json(trigger.answer, .created)
    }

    /// Ends all subscriptions of a topic.
    func leaveTopic(_ call: Call) async throws -> Response {
        let answers = try await each(Array(services.indices)) { index in
            try await call.at(services[index], given: index, body: []).answer()
        }
        return answers.first { !$0.isSuccess }?.response ?? answers[0].response
    }

    /// Answers what is about all partitions, and only read.
    func read(_ call: Call) async throws -> Response {
        try call.checkPartitionsOfSeqs()
        for service in services { try await call.at(service).waitForWrites() }
        return try await call.answer()
    }

    /// The trigger for each partition: with its own users, and with the topics.
    private func parts(of trigger: NovuTriggers.Trigger) -> [Int: JSONValue] {
        var users = Dictionary(grouping: trigger.users) { map.index(of: $0) }
        if !trigger.topics.isEmpty { for index in services.indices where users[index] == nil { users[index] = [] } }
        return users.mapValues { trigger.body(to: $0, topics: trigger.topics) }
    }

    /// - Returns: the answer of a partition that failed.
    private func perform(_ bodies: [Int: [UInt8]], _ call: Call) async throws -> Response? {
        let answers = try await each(bodies.keys.sorted()) { index in
            try await call.at(services[index], given: index, body: bodies[index] ?? []).answer()
        }
        return answers.first { !$0.isSuccess }?.response
    }

    /// Subscribes, or ends subscriptions, of users of several partitions; the answer has all of them in their order.
    func subscriptions(_ call: Call) async throws -> Response {
        let body = try await JSONValue(json: call.body())
        let users = try NovuTopics.subscribers(body, of: call.segment("topic"))
        let rest = body.members.filter { $0.name != "subscriptions" && $0.name != "subscriberIds" }
        let parts = Dictionary(grouping: users) { map.index(of: $0) }
        let answers = try await each(parts.keys.sorted()) { index in
            let own = JSONValue.array((parts[index] ?? []).map { .string($0) })
            return try await call.at(
                services[index], given: index, body: JSONValue.object(rest + [("subscriptions", own)]).bytes
            ).answer()
        }
        if let failed = answers.first(where: { !$0.isSuccess }) { return failed.response }
        func merged(_ name: String, _ user: (JSONValue) -> String?) -> [JSONValue] {
            let all = answers.flatMap { $0.value[name]?.array ?? [] }
            return users.flatMap { name in all.filter { user($0)?.utf8.elementsEqual(name.utf8) ?? false } }
        }
        let errors = merged("errors") { $0["subscriberId"]?.string }
        let meta = ["totalCount", "successful", "failed"].map { name in
            (
                name: name,
                value: JSONValue.int(
                    answers.reduce(0) { $0 + ($1.value["meta"]?[name]?.integer?.clamped(to: 0...Int(Int32.max)) ?? 0) })
            )
        }
        return .json(
            .present([
                ("data", .array(merged("data") { $0["subscriber"]?["subscriberId"]?.string })), ("meta", .object(meta)),
                ("errors", errors.isEmpty ? nil : .array(errors)),
            ]), answers[0].status)
    }
}
