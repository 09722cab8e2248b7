import Hummingbird
import Traylog

/// Novu's way to notify: a workflow is a category, a subscriber a user, and the payload says the rest.
enum NovuTriggers {
    static let mostRecipients = 100
    static let one = "/compat/novu/v1/events/trigger"
    static let bulk = "\(one)/bulk"
    static let everybody = "\(one)/broadcast"

    static var all: [Route] {
        [
            Route(
                .post, one, "Novu: notify", .key(.publish), body: .object(members),
                status: 201
            ) { call in
                let trigger = try Trigger(await JSONParser.value(call.body()), key: call.idempotencyKey())
                return .json(try await perform([trigger], call)[0], .created)
            },
            Route(
                .post, bulk, "Novu: notify many", .key(.publish),
                body: .object(["events"]),
                status: 201
            ) { call in
                .json(.array(try await perform(triggers(call), call)), .created)
            },
            Route(
                .post, everybody, "Novu: notify everybody", .key(.publish),
                body: .object(members.filter { $0 != "to" }), status: 201
            ) { call in
                let trigger = try Trigger(
                    await JSONParser.value(call.body()), key: call.idempotencyKey(), isForAll: true)
                var last: String?
                while true {
                    let names = try await call.store.users(after: last, limit: 1_000).users
                    guard let newLast = names.last else { break }
                    last = newLast
                    try await check(call.store.performEach(names.map { trigger.notify($0) }))
                }
                return .json(trigger.answer, .created)
            },
        ]
    }

    /// Those of a bulk.
    static func triggers(_ call: Call) async throws -> [Trigger] {
        let events = try await call.members(["events"])["events"]?.array ?? []
        guard (1...mostRecipients).contains(events.count) else {
            throw Problem.invalid("events", "must be 1 to \(mostRecipients)")
        }
        return try events.map { try Trigger($0, key: nil) }
    }

    private static let members = [
        "name", "payload", "to", "overrides", "transactionId", "actor", "tenant", "context", "agentId", "bridgeUrl",
    ]

    private static func perform(_ triggers: [Trigger], _ call: Call) async throws -> [JSONValue] {
        try await check(call.store.performEach(triggers.flatMap(\.commands)))
        return triggers.map(\.answer)
    }

    private static func check(_ results: [Result<Receipt, Refusal>]) throws {
        for case .failure(let refusal) in results { throw Problem(refusal) }
    }

    static func unsupported(_ what: String) -> Problem {
        Problem(.unprocessableContent, "Not supported", "\(what) is not supported by Traylog", error: "unsupported")
    }

    /// One event as Novu sends it.
    struct Trigger {
        enum Recipient {
            case user(String)
            case topic(String)
        }

        private(set) var recipients: [Recipient] = []
        /// The same as they were sent.
        private(set) var to: [JSONValue] = []
        private let members: [(name: String, value: JSONValue)]
        private var content = Content()
        private let transaction: String
        private var actor: String?

        init(_ body: JSONValue, key: String?, isForAll: Bool = false) throws {
            guard case .object(let given) = body else { throw Problem.invalid("body", "must be one JSON object") }
            for member in given where !NovuTriggers.members.contains(member.name) {
                throw Problem.invalid(String(member.name.prefix(64)), "unknown field")
            }
            for name in ["tenant", "context", "agentId", "bridgeUrl"] {
                if let value = body[name], value != .null { throw NovuTriggers.unsupported(name) }
            }
            guard let workflow = body["name"]?.string else { throw Problem.invalid("name", "must be given") }
            members = given
            transaction = body["transactionId"]?.string ?? key ?? "txn_" + [UInt8].random(12).hex
            actor = try body["actor"].map { try Self.subscriber($0, "actor") }
            content.category = workflow
            try read(payload: body["payload"])
            try read(overrides: body["overrides"])
            guard !isForAll else { return }
            to = body["to"].map { $0.array ?? [$0] } ?? []
            recipients = try Self.recipients(to)
        }

        /// The event as it was sent, with other recipients, and with its transaction's identifier in any case.
        func body(to recipients: [JSONValue]?) -> JSONValue {
            .present(
                members.filter { $0.name != "to" && $0.name != "transactionId" }.map { ($0.name, $0.value) }
                    + [("to", recipients.map { .array($0) }), ("transactionId", .string(transaction))])
        }

        private mutating func read(payload: JSONValue?) throws {
            guard let payload else { return }
            guard case .object = payload else { throw Problem.invalid("payload", "must be an object") }
            content.title = payload["subject"]?.string
            content.body = payload["body"]?.string
            content.thread = payload["threadId"]?.string
            content.data = String(decoding: payload.bytes, as: UTF8.self)
        }

        private mutating func read(overrides: JSONValue?) throws {
            guard case .object(let members)? = overrides else { return }
            for member in members {
                guard member.name == "severity" else { throw NovuTriggers.unsupported("overrides.\(member.name)") }
                guard let level = member.value.string.flatMap(InterruptionLevel.init(novu:)) else {
                    throw Problem.invalid("overrides.severity", "must be high, medium, low or none")
                }
                content.level = level
            }
        }

        private static func recipients(_ all: [JSONValue]) throws -> [Recipient] {
            guard (1...NovuTriggers.mostRecipients).contains(all.count) else {
                throw Problem.invalid("to", "must be 1 to \(NovuTriggers.mostRecipients)")
            }
            return try all.map { recipient in
                guard recipient["type"]?.string == "Topic" else { return .user(try subscriber(recipient, "to")) }
                if let excluded = recipient["exclude"], excluded != .null, excluded != .array([]) {
                    throw NovuTriggers.unsupported("a topic's exclude")
                }
                guard let topic = recipient["topicKey"]?.string else {
                    throw Problem.invalid("to", "a topic must have a topicKey")
                }
                return .topic(topic)
            }
        }

        private static func subscriber(_ value: JSONValue, _ field: String) throws -> String {
            guard let name = value.string ?? value["subscriberId"]?.string else {
                throw Problem.invalid(field, "must be a subscriber")
            }
            return name
        }

        var commands: [Command] {
            recipients.map { recipient in
                switch recipient {
                case .user(let user): notify(user)
                case .topic(let topic):
                    Command(user: nil, .broadcast(topic: topic, content), key: transaction, actor: actor)
                }
            }
        }

        func notify(_ user: String) -> Command { Command(user: user, .notify(content), key: transaction, actor: actor) }

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
