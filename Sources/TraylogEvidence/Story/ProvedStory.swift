import TraylogDomain

/// A story that follows from its events alone: each sentence names one of them, or says that none is known.
package struct ProvedStory {
    let user: String
    let item: Seq
    /// Ascending: those that sentences name, mutes from before the item, the subscription that a broadcast came by, and, where something
    /// was undone, what else tells how the item was before that.
    package let events: [Event]
    package let story: ItemStory
    /// The title with which the item came.
    let title: String?
    /// How a broadcast reached the user; nil for any other item.
    private let delivery: String?

    /// - Throws: ``Refusal/invalid(field:reason:)`` where the events are not those of one story.
    package init(of item: Seq, user: String, telling events: [Event]) throws(Refusal) {
        guard let arrival = events.first(where: { $0.brings(item) }), let content = arrival.content else {
            throw Self.wrong("none of them brought item \(item)")
        }
        for (event, next) in zip(events, events.dropFirst()) where event.seq >= next.seq {
            throw Self.wrong("event \(next.seq) comes after event \(event.seq): the order is not that of the log")
        }
        (self.user, self.item, self.events, title) = (user, item, events, content.title)
        story = ItemStory(of: item, content, user: user, arrival: arrival, telling: events)
        let told = Set(story.events)
        let undone = Set(events.compactMap { if case .undone(let seq) = $0.body { seq } else { nil } })
        var delivery = arrival.arrivalTopic.map { _ in "subscription stated" }
        for event in events {
            guard Self.belongs(event, to: arrival, of: item, user) else {
                throw Self.wrong("event \(event.seq) is not of the tray of \(user)")
            }
            switch event.body {
            case .subscribed(let topic, _)
            where event.seq < arrival.seq && arrival.arrivalTopic.hasSameBytes(as: topic):
                delivery = "subscribed by event \(event.seq)"
            case .muted where event.seq < arrival.seq: break
            case .undone(let seq) where events.contains(where: { $0.seq == seq }): break
            case _
            where !undone.isEmpty && event.seq > arrival.seq
                && event.mayConcern(item, collapseKey: content.collapseKey):
                break
            default: guard told.contains(event.seq) else { throw Self.wrong("no sentence names event \(event.seq)") }
            }
        }
        self.delivery = delivery
    }

    /// Whether it is the user's, or one that everybody with the broadcast has in common.
    private static func belongs(_ event: Event, to arrival: Event, of item: Seq, _ user: String) -> Bool {
        if let owner = event.user { return owner.hasSameBytes(as: user) }
        guard arrival.arrivalTopic != nil else { return false }
        return switch event.body {
        case .edited(item, _), .retracted(item), .expired(item), .reminded(item): true
        default: event.seq == arrival.seq
        }
    }

    private static func wrong(_ reason: String) -> Refusal { .invalid(field: "proofs", reason: reason) }
}

extension Event {
    /// Whether it may change an item: it names it, looks at or marks whatever is there, or brings what may replace it.
    package func mayConcern(_ item: Seq, collapseKey: String?) -> Bool {
        switch body {
        case .traySeen, .allMarked: true
        case .marked(_, let items): items.contains(item)
        case .snoozed(item, _), .woken(item), .acted(item, _, _, _), .edited(item, _), .reminded(item),
            .retracted(item),
            .expired(item):
            true
        case .notified, .arrived:
            collapseKey.map { key in content?.collapseKey.map { $0.hasSameBytes(as: key) } ?? false } ?? false
        default: false
        }
    }

    /// Whether the item came by it: what is scheduled comes later.
    package func brings(_ item: Seq) -> Bool {
        switch body {
        case .notified(let content), .broadcast(_, let content): seq == item && content.notBefore == nil
        case .arrived(item, _, _, _, _): true
        default: false
        }
    }
}

// MARK: Words

extension ProvedStory {
    /// What a sentence rests on.
    func source(of clause: ItemStory.Clause) -> String {
        guard let event = clause.event else { return "stated" }
        guard clause.topic == .arrival, let delivery else { return "event \(event)" }
        return "event \(event), \(delivery)"
    }
}
