/// One item as a state holds it, for a query to fill in from the log.
package struct ShownItem: Hashable, Sendable {
    package var entry: ItemEntry
    package var isSeen: Bool
    package var overrides: [ItemOverride]

    package init(entry: ItemEntry, isSeen: Bool, overrides: [ItemOverride]) {
        self.entry = entry
        self.isSeen = isSeen
        self.overrides = overrides
    }
}

extension ShownItem {
    /// The event that brought the item, and its content with every edit applied.
    package func content(from source: some StateSource) throws -> (origin: Event, content: Content) {
        let origin = try source.event(entry.seq)
        guard var content = origin.content else { return (origin, Content()) }
        for override in overrides where override.field != .snoozedUntil {
            guard case .edited(_, let edit) = try source.event(override.event).body else { continue }
            content.take(override.field, from: edit)
        }
        return (origin, content)
    }

    /// When the item wakes; nil when it is not snoozed.
    package func snoozedUntil(from source: some StateSource) throws -> Timestamp? {
        guard entry.flags.contains(.snoozed), let override = overrides.first(where: { $0.field == .snoozedUntil }),
            case .snoozed(_, let until) = try source.event(override.event).body
        else { return nil }
        return until
    }

    package func item(from source: some StateSource) throws -> Item {
        let (origin, content) = try content(from: source)
        var topic: String?
        if case .broadcast(let name, _) = origin.body { topic = name }
        let snoozedUntil = try snoozedUntil(from: source)
        return Item(
            seq: Seq(entry.seq), position: Seq(entry.position), key: origin.key, topic: topic, content: content,
            muted: entry.flags.contains(.muted), seen: isSeen, read: entry.flags.contains(.read),
            archived: entry.flags.contains(.archived), snoozedUntil: snoozedUntil, actor: origin.actor,
            occurredAt: origin.occurredAt,
            recordedAt: origin.recordedAt)
    }
}

extension Event {
    /// What the publisher said, of an event that brings an item.
    package var content: Content? {
        switch body {
        case .notified(let content), .broadcast(_, let content): content
        default: nil
        }
    }
}

extension Content {
    /// Takes over what an edit did to one field.
    package mutating func take(_ field: ContentFields, from edit: ContentEdit) {
        switch field {
        case .title: edit.title.apply(to: &title)
        case .body: edit.body.apply(to: &body)
        case .summaryArgument: edit.summaryArgument.apply(to: &summaryArgument)
        case .summaryCount: edit.summaryCount.apply(to: &summaryCount, default: 1)
        case .level: edit.level.apply(to: &level, default: .active)
        case .expiresAt: edit.expiresAt.apply(to: &expiresAt)
        case .data: edit.data.apply(to: &data)
        default: break
        }
    }

    /// The content after the whole edit.
    package func applying(_ edit: ContentEdit) -> Content {
        var content = self
        for bit in 0..<7 { content.take(ContentFields(rawValue: 1 << bit), from: edit) }
        return content
    }
}

extension Change {
    fileprivate func apply(to field: inout Value?) {
        switch self {
        case .keep: break
        case .clear: field = nil
        case .set(let value): field = value
        }
    }

    fileprivate func apply(to field: inout Value, default: Value) {
        switch self {
        case .keep: break
        case .clear: field = `default`
        case .set(let value): field = value
        }
    }
}
