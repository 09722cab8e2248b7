import Traylog

/// Finds the subscribers of a topic, because the store itself knows only the topics of a user.
///
/// Made of the log when it is asked for, and brought up to its head each time: O(events since then).
package actor TopicIndex {
    package struct Subscription: Sendable {
        package let topic: String
        package let user: String
        package let since: Timestamp
    }

    private static let eventsAtOnce = 1_000

    private let store: Store
    private var through = Seq.zero
    /// The erasures that the names in ``topics`` know of.
    private var erasedThrough = Seq.zero
    // By bytes, as the store tells names apart.
    private var topics: [[UInt8]: [[UInt8]: Subscription]] = [:]

    package init(_ store: Store) { self.store = store }

    /// The topics that somebody is subscribed to, or that had a broadcast, in the order of their bytes.
    package func allTopics() async throws -> [String] {
        try await catchUp()
        return topics.keys.sorted { $0.lexicographicallyPrecedes($1) }.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Those who are subscribed to a topic, in the order of their names' bytes.
    package func subscriptions(to topic: String) async throws -> [Subscription] {
        try await catchUp()
        return (topics[Array(topic.utf8)] ?? [:]).sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.value)
    }

    /// The topics that a user is subscribed to, in the order of their bytes.
    package func subscriptions(of user: String) async throws -> [Subscription] {
        try await catchUp()
        let name = Array(user.utf8)
        return topics.sorted { $0.key.lexicographicallyPrecedes($1.key) }.compactMap { $0.value[name] }
    }

    private func catchUp() async throws {
        let head = try await store.log.head()
        var filter = EventFilter()
        filter.kinds = [.subscribed, .unsubscribed, .broadcast, .erased]
        while through < head {
            // Before the first event, every erasure so far is part of the names that the log has.
            if through == .zero { erasedThrough = head }
            let page = try await store.log.events(matching: filter, from: through + 1, limit: Self.eventsAtOnce)
            // Somebody else may have come further meanwhile.
            let new = page.elements.drop { $0.seq <= through }
            if new.contains(where: { $0.kind == .erased && $0.seq > erasedThrough }) {
                (topics, through) = ([:], .zero)
                continue
            }
            for event in new { add(event) }
            through = max(through, page.next.map { $0 - 1 } ?? head, new.last?.seq ?? .zero)
        }
    }

    private func add(_ event: Event) {
        switch event.body {
        case .broadcast(let topic, _):
            if topics[Array(topic.utf8)] == nil { topics[Array(topic.utf8)] = [:] }
        case .subscribed(let topic, _):
            guard let user = event.user else { return }
            topics[Array(topic.utf8), default: [:]][Array(user.utf8)] = Subscription(
                topic: topic, user: user, since: event.recordedAt)
        case .unsubscribed(let topic, _):
            if let user = event.user { topics[Array(topic.utf8)]?[Array(user.utf8)] = nil }
        default: break
        }
    }
}

/// The topics of all partitions.
package struct AllTopics: Sendable {
    fileprivate let indexes: [TopicIndex]

    /// As ``TopicIndex/allTopics()``.
    package func allTopics() async throws -> [String] {
        var names: Set<[UInt8]> = []
        for index in indexes { names.formUnion(try await index.allTopics().map { Array($0.utf8) }) }
        return names.sorted { $0.lexicographicallyPrecedes($1) }.map { String(decoding: $0, as: UTF8.self) }
    }

    /// As ``TopicIndex/subscriptions(to:)``.
    package func subscriptions(to topic: String) async throws -> [TopicIndex.Subscription] {
        var all: [TopicIndex.Subscription] = []
        for index in indexes { all += try await index.subscriptions(to: topic) }
        return all.sorted { $0.user.utf8.lexicographicallyPrecedes($1.user.utf8) }
    }
}

extension Call {
    /// Those of the server, of all its partitions.
    package var topics: AllTopics { AllTopics(indexes: (partitions?.services ?? [service]).map(\.topics)) }
}
