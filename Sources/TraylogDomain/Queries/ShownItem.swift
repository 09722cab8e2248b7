/// One item of a page, as the state holds it; a query adds its content from the log.
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
        return (origin, try content(origin, from: source))
    }

    /// The content that the event brought, with every edit applied.
    func content(_ origin: Event, from source: some StateSource) throws -> Content {
        guard var content = origin.content else { return Content() }
        if content.notBefore != nil, let arrived = try arrival.flatMap({ try source.event($0).content }) {
            content = arrived
        }
        try applyEdits(to: &content, from: source)
        return content
    }

    /// The event with which it arrived, of an item that was scheduled.
    package var arrival: UInt64? { overrides.first { $0.field == .arrival }?.event }

    /// The event that says its content, but for edits after it.
    package var base: UInt64 { arrival ?? entry.seq }

    private func applyEdits(to content: inout Content, from source: some StateSource) throws {
        for override in overrides where override.field.isContent {
            guard case .edited(_, let edit) = try source.event(override.event).body else { continue }
            content.take(override.field, from: edit)
        }
    }

    /// When the item wakes; nil when it is not snoozed.
    package func snoozedUntil(from source: some StateSource) throws -> Timestamp? {
        guard entry.flags.contains(.snoozed), let override = overrides.first(where: { $0.field == .snoozedUntil }),
            case .snoozed(_, let until) = try source.event(override.event).body
        else { return nil }
        return until
    }

    /// What the user decided; nil when nothing yet.
    package func outcome(from source: some StateSource) throws -> Outcome? {
        guard entry.flags.contains(.acted), let override = overrides.first(where: { $0.field == .outcome }) else {
            return nil
        }
        let event = try source.event(override.event)
        return Outcome(event)
    }

    /// The first event after `seq` that still gives a field its value, or with which the item arrived; nil when the item is as
    /// it was after `seq`.
    ///
    /// Edits between the two may have been replaced since.
    package func firstEdit(after seq: UInt64) -> UInt64? {
        overrides.filter { ($0.field.isContent || $0.field == .arrival) && $0.event > seq }.map(\.event).min()
    }

    /// How often it was edited, of an item with actions.
    ///
    /// The newest edit gives some field its value, so it is at hand.
    package func edits(from source: some StateSource) throws -> UInt64 {
        let newest = overrides.filter { $0.field.isContent || $0.field == .arrival }.map(\.event).max()
        return try newest.map { try source.event($0).edits } ?? 0
    }

    package func item(from source: some StateSource) throws -> Item {
        var item = Item(source: try source.event(entry.seq))
        try update(&item, from: source)
        return item
    }

    /// Brings an item up to date that is as its event brought it: marks, position and edits.
    package func update(_ item: inout Item, from source: some StateSource) throws {
        item.position = Seq(entry.position)
        item.isMuted = entry.flags.contains(.muted)
        item.isSeen = isSeen
        item.isRead = entry.flags.contains(.read)
        item.isArchived = entry.flags.contains(.archived)
        item.isDeleted = entry.flags.contains(.deleted)
        item.isGone = entry.flags.contains(.gone)
        guard !overrides.isEmpty else { return }
        if let arrival {
            let event = try source.event(arrival)
            if item.content.notBefore != nil, let content = event.content { item.content = content }
            item.arrivedAt = event.recordedAt
        }
        try applyEdits(to: &item.content, from: source)
        item.snoozedUntil = try snoozedUntil(from: source)
        item.outcome = try outcome(from: source)
    }
}

extension Item {
    /// The item as its event brought it, without edits and marks.
    fileprivate init(source event: Event) {
        var topic: String?
        if case .broadcast(let name, _) = event.body { topic = name }
        self.init(
            seq: event.seq, position: event.seq, key: event.key, topic: topic, content: event.content ?? Content(),
            actor: event.actor, occurredAt: event.occurredAt, recordedAt: event.recordedAt)
    }
}

extension [Item] {
    /// Makes items without content, to be decoded into.
    ///
    /// Copying so large a value field by field counts references that a blank item does not have, and takes as long as decoding
    /// its texts.
    package init(blanks count: Int) {
        let blank = Item(seq: .zero, position: .zero, content: Content(), recordedAt: Timestamp(milliseconds: 0))
        unsafe self.init(unsafeUninitializedCapacity: count) { items, initializedCount in
            unsafe withUnsafePointer(to: blank) { blank in
                // Sound: its strings are nil and its array is the empty one, which nobody counts; so its bytes are a value.
                for index in items.indices {
                    unsafe UnsafeMutableRawPointer(items.baseAddress! + index)
                        .copyMemory(from: blank, byteCount: MemoryLayout<Item>.size)
                }
            }
            initializedCount = count
        }
    }
}

extension Outcome {
    /// The answer that an `acted` holds; nil for any other event.
    package init?(_ event: Event) {
        guard case .acted(_, let action, let note, let asOf) = event.body else { return nil }
        self.init(
            action: action, note: note, actor: event.actor ?? event.user ?? "", seq: event.seq, at: event.recordedAt,
            asOf: asOf)
    }
}

extension Event {
    /// The content of an event that brings an item; nil for any other event.
    package var content: Content? {
        switch body {
        case .notified(let content), .broadcast(_, let content), .arrived(_, _, _, _, let content): content
        default: nil
        }
    }
}

extension Content {
    /// The content without what only people read.
    package var withoutTexts: Content {
        var rest = self
        (rest.title, rest.body, rest.data) = (nil, nil, nil)
        return rest
    }

    /// Applies an edit to one field.
    package mutating func take(_ field: ContentFields, from edit: ContentEdit) {
        switch field {
        case .title: edit.title.apply(to: &title)
        case .body: edit.body.apply(to: &body)
        case .summaryArgument: edit.summaryArgument.apply(to: &summaryArgument)
        case .summaryCount: edit.summaryCount.apply(to: &summaryCount, default: 1)
        case .level: edit.level.apply(to: &level, default: .active)
        case .expiresAt: edit.expiresAt.apply(to: &expiresAt)
        case .remindAt: edit.remindAt.apply(to: &remindAt)
        case .notBefore: edit.notBefore.apply(to: &notBefore)
        case .data: edit.data.apply(to: &data)
        default: break
        }
    }

    /// The content after the whole edit.
    package func applying(_ edit: ContentEdit) -> Content {
        var content = self
        for field in ContentFields.editable { content.take(field, from: edit) }
        return content
    }
}

extension Change {
    /// Whether a value is the same after it.
    func leaves(_ value: Value?) -> Bool {
        var changed = value
        apply(to: &changed)
        return changed == value
    }

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
