/// A topic's newest revision at some moment.
public struct TopicRevision: Hashable, Sendable {
    /// The topic.
    public var topic: String
    /// The revision of the topic's newest event; 0 before its first broadcast.
    public var revision: UInt64

    /// The topic, and the revision of its newest event.
    package init(topic: String, revision: UInt64) {
        self.topic = topic
        self.revision = revision
    }
}
