import TraylogServer
import Crypto
import Hummingbird
@_spi(Operations) import Traylog

/// Novu's way to notify: a workflow is a category, a subscriber a user, and the payload says the rest.
enum NovuTriggers {
    static let mostRecipients = 100
    static let root = "/compat/novu"
    private static let path = "\(root)/v1/events/trigger"

    /// Commands of more bytes are performed one after the other, because a transaction of them would be too large.
    private static let mostBytesTogether = 512 << 10

    static var all: [Route] {
        [
            Route(
                .post, path, as: "novuTrigger", "Novu: notify", .novu(.publish), origins: .allowed,
                body: .object(members),
                partition: .all { try await $0.trigger($1) },
                status: 201, answers: .json(.novuTriggered)
            ) { call in
                let trigger = try Trigger(await JSONValue(json: call.body()), key: call.idempotencyKey())
                return .json(try await perform([trigger], call)[0], .created)
            },
            Route(
                .post, "\(path)/bulk", as: "novuTriggerBulk", "Novu: notify many", .novu(.publish), origins: .allowed,
                body: .object(["events"]), partition: .all { try await $0.triggers($1) },
                status: 201, answers: .array(.novuTriggered)
            ) { call in
                .json(.array(try await perform(triggers(call), call)), .created)
            },
            Route(
                .post, "\(path)/broadcast", as: "novuTriggerBroadcast", "Novu: notify everybody", .novu(.publish),
                origins: .allowed,
                body: .object(members.filter { $0 != "to" }),
                partition: .all { try await $0.triggerForAll($1) }, status: 201, answers: .json(.novuTriggered)
            ) { call in
                let trigger = try Trigger(
                    await JSONValue(json: call.body()), key: call.idempotencyKey(), isForAll: true)
                var last: String?
                while true {
                    let names = try await call.store.users(after: last, limit: 1_000).elements
                    guard let newLast = names.last else { break }
                    last = newLast
                    let commands = names.filter { !trigger.isActor($0) }.map { call.attributed(trigger.notify($0)) }
                    for case .failure(let refusal) in try await call.store.perform(commands, mode: .each) {
                        throw trigger.problem(refusal)
                    }
                }
                return .json(trigger.answer, .created)
            },
        ]
    }

    /// Those of a bulk: all are checked before any is performed.
    static func triggers(_ call: Call) async throws -> [Trigger] {
        let key = try call.idempotencyKey()
        let events = try await call.members(["events"])["events"]?.array ?? []
        guard (1...mostRecipients).contains(events.count) else {
            throw Problem.invalid("events", "must be 1 to \(mostRecipients)")
        }
        return try events.enumerated().map { index, event in
            do {
                // A bulk that is sent again has the same keys.
                return try Trigger(event, key: key.map { Self.key($0, index) }, place: "events[\(index)].")
            } catch let problem as Problem {
                throw problem.at("events[\(index)].")
            }
        }
    }

    /// The key of one event of a bulk that has one.
    private static func key(_ key: String, _ index: Int) -> String {
        let whole = "\(key)/\(index)"
        guard whole.utf8.count > Limits.identifierBytes else { return whole }
        return "txn_\(Array(SHA256.hash(data: Array(whole.utf8))).hex)"
    }

    private static let members = [
        "name", "payload", "to", "overrides", "transactionId", "actor", "tenant", "context", "agentId", "bridgeUrl",
    ]

    /// Performs all or, where one is refused, none.
    private static func perform(_ triggers: [Trigger], _ call: Call) async throws -> [JSONValue] {
        var (commands, owners): ([Command], [Trigger]) = ([], [])
        var audience: NovuAudience?
        var bytes = 0
        for trigger in triggers {
            let own = try await trigger.commands(call, &audience).map(call.attributed)
            commands += own
            owners += own.map { _ in trigger }
            bytes += own.count * trigger.bytes
        }
        let isSmall = bytes <= mostBytesTogether
        let results =
            if isSmall { try await call.store.perform(commands, mode: .atomic) } else {
                try await call.store.perform(commands, mode: .untilRefusal)
            }
        for (result, trigger) in zip(results, owners) {
            if case .failure(let refusal) = result { throw trigger.problem(refusal) }
        }
        return triggers.map(\.answer)
    }

    static func unsupported(_ what: String) -> Problem {
        Problem(.unprocessableContent, "Not supported", "\(what) is not supported by Traylog", error: "unsupported")
    }

    /// One event as Novu sends it.
    ///
    /// A user who is reached in several ways gets one notification. The actor gets none through a topic.
    struct Trigger {
        /// Each once.
        private(set) var users: [String] = []
        private(set) var topics: [String] = []
        private let members: [(name: String, value: JSONValue)]
        private var content = Content()
        private let transaction: String
        private var actor: String?
        /// Where in the request it stands.
        private let place: String

        /// - Parameter key: the request's, where the event has no transaction.
        /// - Throws: ``Problem`` 400 and 422, with Novu's names of fields.
        init(_ body: JSONValue, key: String?, isForAll: Bool = false, place: String = "") throws {
            guard case .object(let given) = body else { throw Problem.invalid("body", "must be one JSON object") }
            for member in given where !NovuTriggers.members.contains(member.name) {
                throw Problem.invalid(String(member.name.prefix(64)), "unknown field")
            }
            for name in ["tenant", "context", "agentId", "bridgeUrl"] {
                if let value = body[name], value != .null { throw NovuTriggers.unsupported(name) }
            }
            guard let workflow = body["name"]?.string else { throw Problem.invalid("name", "must be given") }
            (members, self.place) = (given, place)
            let identifier = body["transactionId"].flatMap { $0 == .null ? nil : $0 }
            guard identifier == nil || identifier?.string != nil else {
                throw Problem.invalid("transactionId", "must be a string")
            }
            transaction = identifier?.string ?? key ?? "txn_" + [UInt8].random(12).hex
            if let value = body["actor"], value != .null { actor = try Self.subscriber(value, "actor") }
            content.category = workflow
            try read(payload: body["payload"])
            try read(overrides: body["overrides"])
            if !isForAll { try read(to: body["to"].map { $0.array ?? [$0] } ?? []) }
            try check()
        }

        /// All that can be checked before anything is stored.
        private func check() throws {
            do throws(TraylogError) {
                for user in users.isEmpty ? ["any"] : users { try notify(user).check() }
                for topic in topics { try broadcast(topic).check() }
            } catch {
                throw problem(Problem.refusal(error))
            }
        }

        /// The event as it was sent, for some of its recipients, and with its transaction's identifier in any case.
        func body(to users: [String]?, topics: [String]) -> JSONValue {
            let recipients = users.map { users in
                users.map { .string($0) } + topics.map { ["type": "Topic", "topicKey": .string($0)] as JSONValue }
            }
            return .present(
                members.filter { $0.name != "to" && $0.name != "transactionId" }.map { ($0.name, $0.value) }
                    + [("to", recipients.map { .array($0) }), ("transactionId", .string(transaction))])
        }

        private mutating func read(payload: JSONValue?) throws {
            guard let payload, payload != .null else { return }
            guard case .object = payload else { throw Problem.invalid("payload", "must be an object") }
            content.title = payload["subject"]?.string
            content.body = payload["body"]?.string
            content.thread = payload["threadId"]?.string
            content.data = String(decoding: payload.bytes, as: UTF8.self)
        }

        private mutating func read(overrides: JSONValue?) throws {
            guard let overrides, overrides != .null else { return }
            guard case .object(let members) = overrides else { throw Problem.invalid("overrides", "must be an object") }
            for member in members {
                guard member.name == "severity" else { throw NovuTriggers.unsupported("overrides.\(member.name)") }
                guard let level = member.value.string.flatMap(InterruptionLevel.init(novu:)) else {
                    throw Problem.invalid("overrides.severity", "must be high, medium, low or none")
                }
                content.level = level
            }
        }

        private mutating func read(to all: [JSONValue]) throws {
            guard (1...NovuTriggers.mostRecipients).contains(all.count) else {
                throw Problem.invalid("to", "must be 1 to \(NovuTriggers.mostRecipients)")
            }
            // By bytes, as the store tells names apart.
            var seen: (users: Set<[UInt8]>, topics: Set<[UInt8]>) = ([], [])
            for recipient in all {
                guard recipient["type"]?.string == "Topic" else {
                    let user = try Self.subscriber(recipient, "to")
                    if seen.users.insert(Array(user.utf8)).inserted { users.append(user) }
                    continue
                }
                if let excluded = recipient["exclude"], excluded != .null, excluded != .array([]) {
                    throw NovuTriggers.unsupported("a topic's exclude")
                }
                guard let topic = recipient["topicKey"]?.string else {
                    throw Problem.invalid("to", "a topic must have a topicKey")
                }
                if seen.topics.insert(Array(topic.utf8)).inserted { topics.append(topic) }
            }
        }

        private static func subscriber(_ value: JSONValue, _ field: String) throws -> String {
            guard let name = value.string ?? value["subscriberId"]?.string else {
                throw Problem.invalid(field, "must be a subscriber")
            }
            return name
        }

        func isActor(_ user: String) -> Bool { actor.map { $0.utf8.elementsEqual(user.utf8) } ?? false }

        /// What is to be stored: one broadcast where that reaches everybody once, else a notification for each.
        ///
        /// - Parameter audience: of the store; found here where it is asked for first.
        fileprivate func commands(_ call: Call, _ audience: inout NovuAudience?) async throws -> [Command] {
            guard !topics.isEmpty else { return users.map { notify($0) } }
            if users.isEmpty, topics.count == 1 {
                let isToActor =
                    if let actor { try await call.store.isSubscribed(actor, to: topics[0]) } else { false }
                if !isToActor { return [broadcast(topics[0])] }
            }
            var (all, known) = (users, Set(users.map { Array($0.utf8) }))
            let found = if let audience { audience } else { try await NovuAudience(of: call.store) }
            audience = found
            for user in found.subscribers(of: topics) where !isActor(user) {
                if known.insert(Array(user.utf8)).inserted { all.append(user) }
            }
            return all.map { notify($0) }
        }

        /// About how many bytes one of its commands has.
        fileprivate var bytes: Int { content.jsonBytes.count + Limits.identifierBytes }

        func notify(_ user: String) -> Command { Command(user: user, .notify(content), key: transaction, actor: actor) }

        private func broadcast(_ topic: String) -> Command {
            Command(user: nil, .broadcast(topic: topic, content), key: transaction, actor: actor)
        }

        /// A refusal, by Novu's names of fields.
        func problem(_ refusal: Refusal) -> Problem {
            guard case .invalid(let field, let reason) = refusal else { return Problem(refusal) }
            let names = [
                "title": "payload.subject", "body": "payload.body", "thread": "payload.threadId", "data": "payload",
                "category": "name", "key": "transactionId", "user": "to", "topic": "to",
            ]
            return .invalid(place + (names[field] ?? field), reason)
        }

        var answer: JSONValue {
            ["acknowledged": true, "status": "processed", "transactionId": .string(transaction)]
        }
    }
}

extension InterruptionLevel {
    init?(novu severity: String) {
        switch severity {
        case "high": self = .timeSensitive
        case "medium", "none": self = .active
        case "low": self = .passive
        default: return nil
        }
    }

    var novu: String {
        switch self {
        case .passive: "low"
        case .active: "medium"
        case .timeSensitive, .critical: "high"
        }
    }
}
