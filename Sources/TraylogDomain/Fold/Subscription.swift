/// What a state knows of a topic that its user is or was subscribed to.
package struct Subscription: Hashable, Sendable {
    /// The topic's identity (``IdentityHasher``).
    package var topic: UInt64
    /// Broadcasts are received. Without, the topic stays known for the items that came from it, because they can still
    /// be edited, retracted and expired.
    package var isActive: Bool
    /// Any item of the tray came from it.
    package var hasItems = false

    package init(topic: UInt64, isActive: Bool) {
        self.topic = topic
        self.isActive = isActive
    }
}

extension TrayState {
    /// Where the topic stands in ``topics``; nil when the user has nothing to do with it.
    package func subscription(to topic: UInt64) -> Int? {
        topics.firstIndex { $0.topic == topic }
    }

    mutating func subscribe(to topic: UInt64) {
        if let index = subscription(to: topic) {
            topics[index].isActive = true
        } else {
            let index = topics.firstIndex { $0.topic > topic } ?? topics.count
            topics.insert(Subscription(topic: topic, isActive: true), at: index)
        }
    }

    /// What was received stays, and so does the topic then.
    mutating func unsubscribe(from topic: UInt64) {
        guard let index = subscription(to: topic) else { return }
        topics[index].isActive = false
        if !topics[index].hasItems { topics.remove(at: index) }
    }
}
