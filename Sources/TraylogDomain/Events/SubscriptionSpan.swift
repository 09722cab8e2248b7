/// A part of the log in which a user received a topic's broadcasts.
public struct SubscriptionSpan: Hashable, Sendable {
    /// The topic.
    public var topic: String
    /// Broadcasts after this event arrived: the `subscribed`, as a rule.
    public var from: Seq
    /// Broadcasts before this event arrived: the `unsubscribed`, or the `erased`.
    public var to: Seq

    /// The broadcasts to a topic between two events.
    package init(topic: String, from: Seq, to: Seq) {
        self.topic = topic
        self.from = from
        self.to = to
    }

    /// Whether a broadcast to the topic arrived.
    package func contains(_ seq: Seq) -> Bool { from < seq && seq < to }
}
