import TraylogDomain

/// An item with one plain flag for each word of Docs/concepts.md.
package struct NaiveItem: Hashable, Sendable {
    package var seq: Seq
    package var position: Seq
    package var key: String?
    /// Set for a broadcast.
    package var topic: String?
    package var actor: String?
    package var occurredAt: Timestamp?
    package var recordedAt: Timestamp
    package var content: Content
    package var muted = false
    package var seen = false
    package var read = false
    package var archived = false
    package var deleted = false
    package var gone = false
    package var snoozedUntil: Timestamp?
    package var outcome: Outcome?
    /// Somebody was reminded for the present time to remind.
    package var reminded = false
    /// Not in the tray yet.
    package var scheduled = false
    /// The event with which it arrived, and its time, of one that was scheduled.
    package var arrival: Seq?
    package var arrivedAt: Timestamp?

    package init(_ event: Event, _ content: Content, topic: String?) {
        seq = event.seq
        position = event.seq
        key = event.key
        self.topic = topic
        actor = event.actor
        occurredAt = event.occurredAt
        recordedAt = event.recordedAt
        self.content = content
        scheduled = content.notBefore != nil
    }

    /// Comes into the tray.
    package mutating func arrive(_ event: Event, _ content: Content) {
        self.content = content
        (position, arrival, arrivedAt, scheduled) = (event.seq, event.seq, event.recordedAt, false)
    }

    package var isLive: Bool { !deleted && !gone && !scheduled }
    package var isInInbox: Bool { isLive && !archived && snoozedUntil == nil }
    package var isListed: Bool { isInInbox && !content.isSilent }
    package var isCounted: Bool { isListed && !muted }
    package var isUnseen: Bool { isCounted && !seen }
    package var isUnread: Bool { isCounted && !read }
    package var isAwaiting: Bool { !content.actions.isEmpty && outcome == nil }

    /// Changes the content; another time to remind allows a new reminder.
    package mutating func take(_ edit: ContentEdit) {
        let old = content.remindAt
        content = content.edited(edit)
        if content.remindAt != old { reminded = false }
    }

    package func matches(_ thread: ItemFilter.Thread, _ category: String?) -> Bool {
        if let category, Name(category) != Name(content.category) { return false }
        switch thread {
        case .any: return true
        case .unthreaded: return content.thread == nil
        case .named(let name): return Name(name) == Name(content.thread)
        }
    }

    /// The rest of a filter: its conditions on texts, times and the sender.
    func isFound(by filter: ItemFilter, of user: String) -> Bool {
        if let actor = filter.actor, Name(self.actor ?? (topic == nil ? user : nil)) != Name(actor) { return false }
        let levels: [InterruptionLevel] = [.passive, .active, .timeSensitive, .critical]
        if let level = filter.level, !levels.drop(while: { $0 != level }).contains(content.level) { return false }
        if let since = filter.since, recordedAt < since { return false }
        if let until = filter.until, recordedAt > until { return false }
        guard let text = filter.text else { return true }
        let texts = [content.title, content.body].compactMap(\.self).map(NaiveText.folded)
        return text.split(whereSeparator: \.isWhitespace).allSatisfy { word in
            let word = NaiveText.folded(String(word))
            return texts.contains { NaiveText.contains($0, word) } || word.isEmpty
        }
    }

    /// Sets the flags of `mark`.
    package mutating func take(_ mark: Mark) {
        switch mark {
        case .seen: seen = true
        case .read:
            seen = true
            read = true
        case .unread: read = false
        case .archived: archived = true
        case .unarchived: archived = false
        case .deleted: deleted = true
        case .restored: deleted = false
        }
    }

    /// The item as a query shows it.
    package var shown: Item {
        Item(
            seq: seq, position: position, key: key, topic: topic, content: content, isMuted: muted, isSeen: seen,
            isRead: read, isArchived: archived, isDeleted: deleted, isGone: gone, snoozedUntil: snoozedUntil,
            outcome: outcome, actor: actor,
            occurredAt: occurredAt, recordedAt: recordedAt, arrivedAt: arrivedAt
        )
    }
}

extension Content {
    /// The content with the edit applied; a cleared field returns to its default.
    package func edited(_ edit: ContentEdit) -> Content {
        func value<Value>(_ change: Change<Value>, _ old: Value?, _ fallback: Value?) -> Value? {
            switch change {
            case .keep: old
            case .clear: fallback
            case .set(let new): new
            }
        }
        var result = self
        result.title = value(edit.title, title, nil)
        result.body = value(edit.body, body, nil)
        result.summaryArgument = value(edit.summaryArgument, summaryArgument, nil)
        result.summaryCount = value(edit.summaryCount, summaryCount, 1) ?? 1
        result.level = value(edit.level, level, .active) ?? .active
        result.expiresAt = value(edit.expiresAt, expiresAt, nil)
        result.remindAt = value(edit.remindAt, remindAt, nil)
        result.notBefore = value(edit.notBefore, notBefore, nil)
        result.data = value(edit.data, data, nil)
        return result
    }
}
