@_spi(Operations) import TraylogDomain

@_spi(JSON) extension JSONWriter {
    /// Writes a tray.
    public mutating func write(_ tray: Tray) {
        beginObject()
        member("user", tray.user)
        member("asOf", tray.asOf)
        member("revision", tray.revision)
        member("isSeen", tray.isSeen)
        member("unseen", tray.unseen)
        member("unread", tray.unread)
        member("awaiting", tray.awaiting)
        member("total", tray.total)
        member("seenUpTo", tray.seenUpTo)
        member("seenAt", orNull: tray.seenAt)
        member("newest", orNull: tray.newest)
        member("newestCounted", orNull: tray.newestCounted)
        name("categories")
        beginObject()
        for counts in tray.categories {
            name(escaping: counts.category)
            beginObject()
            member("unseen", counts.unseen)
            member("unread", counts.unread)
            endObject()
        }
        endObject()
        endObject()
    }

    /// Writes the mutes of a user.
    public mutating func write(_ mutes: Mutes) {
        beginObject()
        member("user", mutes.user)
        member("asOf", mutes.asOf)
        member("mutes", each: mutes.mutes) { $0.write($1) }
        endObject()
    }

    /// Writes one mute: its scope, `since`, and `until` if any.
    public mutating func write(_ mute: Mute) {
        beginObject()
        members(mute.scope)
        member("since", mute.since)
        member("until", mute.until)
        endObject()
    }

    /// Writes one page of an inbox.
    public mutating func write(_ page: Page<Item, Cursor>, of user: String) {
        beginObject()
        member("user", user)
        member("asOf", page.asOf)
        member("items", each: page.elements) { $0.write($1) }
        member("next", orNull: page.next?.description)
        endObject()
    }

    /// Writes one page of threads.
    public mutating func write(_ page: Page<ThreadGroup, Cursor>, of user: String) {
        beginObject()
        member("user", user)
        member("asOf", page.asOf)
        member("threads", each: page.elements) { $0.write($1) }
        member("next", orNull: page.next?.description)
        endObject()
    }

    /// Writes a value in the form of the program.
    public mutating func write(_ group: ThreadGroup) {
        beginObject()
        member("thread", orNull: group.thread)
        member("count", group.count)
        member("unseen", group.unseen)
        member("unread", group.unread)
        name("newest")
        write(group.newest)
        member("summary", orNull: group.summary)
        member("more", group.more)
        member("names", each: group.names) { $0.value($1) }
        endObject()
    }

    /// Writes an item.
    ///
    /// Flags, level and summary count are always present.
    public mutating func write(_ item: Item) {
        let content = item.content
        beginObject()
        member("seq", item.seq)
        member("position", item.position)
        member("key", item.key)
        member("topic", item.topic)
        member("thread", content.thread)
        member("category", content.category)
        member("title", content.title)
        member("body", content.body)
        member("summaryArgument", content.summaryArgument)
        member("summaryCount", UInt64(content.summaryCount))
        member("level", content.level.rawValue)
        member("collapseKey", content.collapseKey)
        member("silent", content.isSilent)
        member("muted", item.isMuted)
        member("seen", item.isSeen)
        member("read", item.isRead)
        member("archived", item.isArchived)
        // No page has such items.
        if item.isDeleted { member("deleted", true) }
        if item.isGone { member("gone", true) }
        member("snoozedUntil", item.snoozedUntil)
        member("expiresAt", content.expiresAt)
        member("remindAt", content.remindAt)
        members(content.actions)
        if let outcome = item.outcome {
            name("outcome")
            write(outcome)
        }
        member("actor", item.actor)
        member("occurredAt", item.occurredAt)
        member("recordedAt", item.recordedAt)
        member("arrivedAt", item.arrivedAt)
        member("data", raw: content.data)
        endObject()
    }

    /// Writes a user's answer.
    public mutating func write(_ outcome: Outcome) {
        beginObject()
        member("action", outcome.action)
        member("note", outcome.note)
        member("actor", outcome.actor)
        member("seq", outcome.seq)
        member("at", outcome.at)
        member("asOf", outcome.asOf)
        endObject()
    }

    /// Writes an item with its life.
    public mutating func write(_ life: ItemLife) {
        beginObject()
        member("user", life.user)
        member("asOf", life.asOf)
        name("item")
        write(life.item)
        member("life", each: life.events) { $0.write($1) }
        endObject()
    }

    /// Writes the audience of a broadcast.
    public mutating func write(_ audience: Audience) {
        beginObject()
        member("item", audience.item)
        member("asOf", audience.asOf)
        member("recipients", audience.recipients)
        member("seen", audience.seen)
        member("read", audience.read)
        member("archived", audience.archived)
        member("deleted", audience.deleted)
        member("awaiting", audience.awaiting)
        name("outcomes")
        beginObject()
        for outcome in audience.outcomes {
            name(escaping: outcome.action)
            value(outcome.count)
        }
        endObject()
        member("erased", audience.erased)
        endObject()
    }

    /// Writes an item that has not arrived.
    public mutating func write(_ item: ScheduledItem) {
        beginObject()
        member("seq", item.seq)
        member("user", item.user)
        member("topic", item.topic)
        member("notBefore", item.notBefore)
        member("title", item.title)
        endObject()
    }

    /// Writes one recipient of a broadcast.
    public mutating func write(_ recipient: Recipient) {
        beginObject()
        member("user", recipient.user)
        for (name, occasion) in [("seen", recipient.seen), ("read", recipient.read)] {
            guard let occasion else { continue }
            self.name(name)
            write(occasion)
        }
        if let outcome = recipient.outcome {
            name("outcome")
            write(outcome)
        }
        endObject()
    }

    /// Writes an event that changed an item, with its time.
    public mutating func write(_ occasion: Recipient.Occasion) {
        beginObject()
        member("seq", occasion.seq)
        member("at", occasion.at)
        endObject()
    }

    /// Writes the span of a subscription.
    public mutating func write(_ span: SubscriptionSpan) {
        beginObject()
        member("topic", span.topic)
        member("from", span.from)
        member("to", span.to)
        endObject()
    }

    /// Writes the outcome of a command: `{"result","seq"}`.
    public mutating func write(_ receipt: Receipt) {
        beginObject()
        members(receipt)
        endObject()
    }

    /// Writes the members of a receipt, in an object that may have others.
    public mutating func members(_ receipt: Receipt) {
        let result =
            switch receipt {
            case .appended: "appended"
            case .unchanged: "unchanged"
            case .duplicate: "duplicate"
            }
        member("result", result)
        member("seq", receipt.seq)
    }

    /// Writes a refusal: `{"error","message"}`, and its details as members.
    ///
    /// - Parameter line: the number, from 1, of the line that the command came from; nil if it came from none.
    public mutating func write(_ refusal: Refusal, line: Int? = nil) {
        beginObject()
        member("error", refusal.code.rawValue)
        member("message", refusal.message)
        details(refusal)
        if let line { member("line", line) }
        endObject()
    }

    private mutating func details(_ refusal: Refusal) {
        switch refusal {
        case .invalid(let field, _): member("field", field)
        case .unknownItem(let item): member(item)
        case .itemGone(let item), .notSnoozed(let item), .notAnswered(let item): member("item", item)
        case .alreadyActed(let item, let action):
            member("item", item)
            member("action", action)
        case .changedSince(let item, let asOf, let edited):
            member("item", item)
            member("asOf", asOf)
            member("seq", edited)
        case .upToBeyondHead(let seq, let head, let field):
            member("field", field)
            member("seq", seq)
            member("head", head)
        case .unknownEvent(let seq), .staleSnapshot(let seq): member("seq", seq)
        case .notUndoable(let seq, let kind):
            member("seq", seq)
            member("kind", kind.rawValue)
        case .keyConflict(let key, let seq):
            member("key", key)
            member("seq", seq)
        case .wrongRevision(let expected, let revision):
            member("expected", expected)
            member("revision", revision)
        case .compacted(let floor, let archive):
            member("floor", floor)
            member("archive", archive)
        case .held(let user), .erased(let user): member("user", user)
        case .rewound(let seq, let lastShared):
            member("seq", seq)
            member("lastShared", lastShared)
        case .endReached: break
        }
    }
}
