/// What an item shows of the event that brought it.
package struct ItemOrigin: Hashable, Sendable {
    package var key: String?
    /// The topic of a broadcast.
    package var topic: String?
    package var actor: String?
    package var occurredAt: Timestamp?
    package var recordedAt: Timestamp
    /// As the publisher said it first, without edits.
    package var content: Content

    package init(
        key: String?, topic: String?, actor: String?, occurredAt: Timestamp?, recordedAt: Timestamp, content: Content
    ) {
        self.key = key
        self.topic = topic
        self.actor = actor
        self.occurredAt = occurredAt
        self.recordedAt = recordedAt
        self.content = content
    }

    package init(_ event: Event) {
        var topic: String?
        if case .broadcast(let name, _) = event.body { topic = name }
        self.init(
            key: event.key, topic: topic, actor: event.actor, occurredAt: event.occurredAt,
            recordedAt: event.recordedAt, content: event.content ?? Content())
    }
}
