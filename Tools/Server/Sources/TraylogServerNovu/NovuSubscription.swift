import TraylogServer
@_spi(Replication) import Traylog

/// One user's subscription to a topic.
struct NovuSubscription: Sendable {
    let topic: String
    let user: String
    let since: Timestamp

    static func prefix(_ topic: String) -> String { "tk=\(topic):si=" }

    private var identifier: String { Self.prefix(topic) + user }

    var novu: JSONValue {
        [
            "_id": .string(identifier), "id": .string(identifier), "identifier": .string(identifier),
            "topic": ["_id": .string(topic), "key": .string(topic)],
            "subscriber": ["_id": .string(user), "subscriberId": .string(user)],
            "createdAt": .string(since.description), "updatedAt": .string(since.description),
        ]
    }
}

extension Store {
    /// In the order of the topics' bytes.
    func novuSubscriptions(of user: String) async throws -> [NovuSubscription] {
        let topics = try await snapshot(of: user, limit: 1, contents: 0).topics.filter { $0.until == nil }
        var all: [NovuSubscription] = []
        for topic in topics {
            all.append(
                NovuSubscription(topic: topic.topic, user: user, since: try await log.event(topic.from).recordedAt))
        }
        return all
    }

    func novuSubscription(of user: String, to topic: String) async throws -> NovuSubscription? {
        try await novuSubscriptions(of: user).first { $0.topic.utf8.elementsEqual(topic.utf8) }
    }

    func isSubscribed(_ user: String, to topic: String) async throws -> Bool {
        try await subscriptions(of: user).contains { $0.utf8.elementsEqual(topic.utf8) }
    }
}

/// All users of a store with their topics, asked user by user: the store knows the topics of a user, not the users of a topic.
struct NovuAudience {
    /// In the order of the names' bytes.
    private var users: [(name: String, topics: Set<[UInt8]>)] = []

    /// Where there are more, a request would take too long.
    private static let mostUsers = 10_000

    /// - Throws: ``Problem`` 422 for a store with too many users.
    /// - Complexity: O(users), and of each the events since the oldest subscription.
    init(of store: Store) async throws {
        let names = try await store.users(limit: Self.mostUsers + 1).elements
        guard names.count <= Self.mostUsers else {
            throw NovuTriggers.unsupported(
                "a request that concerns all users, where there are more than \(Self.mostUsers),")
        }
        for name in names { users.append((name, Set(try await store.subscriptions(of: name).map { Array($0.utf8) }))) }
    }

    var topics: Set<[UInt8]> { users.reduce(into: []) { $0.formUnion($1.topics) } }

    /// Those who are subscribed to one of the topics.
    func subscribers(of topics: [String]) -> [String] {
        let wanted = Set(topics.map { Array($0.utf8) })
        return users.filter { !$0.topics.isDisjoint(with: wanted) }.map(\.name)
    }
}

extension Call {
    private var stores: [Store] { partitions?.services.map(\.store) ?? [store] }

    /// The topics that somebody in any partition is subscribed to, in the order of their bytes.
    func novuTopics() async throws -> [String] {
        var names: Set<[UInt8]> = []
        for store in stores { names.formUnion(try await NovuAudience(of: store).topics) }
        return names.sorted { $0.lexicographicallyPrecedes($1) }.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Subscribers in any partition, in the order of their names' bytes.
    func novuSubscribers(of topic: String) async throws -> [String] {
        var all: [String] = []
        for store in stores { all += try await NovuAudience(of: store).subscribers(of: [topic]) }
        return all.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// The subscription of a user in any partition.
    func novuSubscription(of user: String, to topic: String) async throws -> NovuSubscription? {
        try await (partitions?.service(of: user).store ?? store).novuSubscription(of: user, to: topic)
    }
}
