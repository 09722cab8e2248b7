import TraylogDomain

extension NaiveStore {
    /// Brings, expires, wakes and unmutes what is due at `time`, then reminds.
    ///
    /// - Parameter most: ends after so many events, as a tick does of which a later transaction fails.
    /// - Returns: the events that were appended.
    @discardableResult
    package mutating func tick(_ time: Timestamp, now: Timestamp, atMost most: Int = .max) -> [Event] {
        let before = events.count
        for due in due(at: time) where events.count - before < most {
            if due.arrives {
                arrive(due, now: now)
            } else if let scope = due.scope, let user = due.user {
                append(.unmuted(scope), user: user.text, now: now)
            } else if due.expires {
                // An arrival of this very tick may have superseded it.
                guard due.user.map({ state(of: $0.text).item(due.item)?.gone == false }) ?? true else { continue }
                append(.expired(item: due.item), user: due.user?.text, now: now)
            } else if let user = due.user, state(of: user.text).item(due.item)?.isLive == true {
                // Still there: an expiry of this very tick may have come first.
                append(.woken(item: due.item), user: user.text, now: now)
            }
        }
        for reminder in reminders(at: time) where events.count - before < most {
            append(.reminded(item: reminder.item), user: reminder.user?.text, now: now)
        }
        return Array(events[before...])
    }

    private mutating func arrive(_ due: Due, now: Timestamp) {
        let item: NaiveItem? =
            if let user = due.user { state(of: user.text).item(due.item) } else {
                broadcasts().first { $0.seq == due.item }
            }
        guard let item, !item.gone else { return }
        var content = item.content
        content.notBefore = nil
        append(
            .arrived(item: item.seq, topic: item.topic, key: item.key, notifiedAt: item.recordedAt, content),
            user: due.user?.text, origin: item, now: now)
    }

    /// The reminders that are due in the present state: of which item, and for whom.
    private func reminders(at time: Timestamp) -> [Due] {
        var dues: [Due] = []
        for item in broadcasts() where !item.gone && !item.reminded && !item.scheduled {
            guard let remindAt = item.content.remindAt, remindAt <= time else { continue }
            dues.append(Due(due: remindAt, item: item.seq, user: nil, expires: false))
        }
        for (user, state) in current {
            for item in state.items where item.topic == nil && item.isUnread && !item.reminded {
                guard let remindAt = item.content.remindAt, remindAt <= time else { continue }
                dues.append(Due(due: remindAt, item: item.seq, user: user, expires: false))
            }
        }
        return dues.sorted()
    }

    private func due(at time: Timestamp) -> [Due] {
        var dues: [Due] = []
        for item in broadcasts() where !item.gone {
            guard !addArrival(item, of: nil, at: time, to: &dues) else { continue }
            if let expiresAt = item.content.expiresAt, expiresAt <= time {
                dues.append(Due(due: expiresAt, item: item.seq, user: nil, expires: true))
            }
        }
        for (user, state) in current {
            for mute in state.mutes {
                guard let until = mute.until, until <= time else { continue }
                dues.append(Due(due: until, item: mute.by, user: user, expires: false, scope: mute.scope))
            }
            // Deleted items that left the log never come back.
            for item in state.items where !item.gone && !dropped.contains(item.seq) {
                guard !addArrival(item, of: user, at: time, to: &dues) else { continue }
                if item.topic == nil, let expiresAt = item.content.expiresAt, expiresAt <= time {
                    dues.append(Due(due: expiresAt, item: item.seq, user: user, expires: true))
                }
                if item.isLive, let until = item.snoozedUntil, until <= time {
                    dues.append(Due(due: until, item: item.seq, user: user, expires: false))
                }
            }
        }
        return dues.sorted()
    }
}

extension NaiveStore {
    /// Adds that a scheduled item arrives by `time`.
    ///
    /// - Returns: whether nothing else can be due of the item: it is scheduled for later.
    private func addArrival(_ item: NaiveItem, of user: Name?, at time: Timestamp, to dues: inout [Due]) -> Bool {
        guard item.scheduled, let notBefore = item.content.notBefore else { return false }
        guard notBefore <= time else { return true }
        var due = Due(due: notBefore, item: item.seq, user: user, expires: false)
        due.arrives = true
        dues.append(due)
        return false
    }
}

/// One change of a tick, sortable in the order in which the tick makes them.
private struct Due: Comparable {
    var due: Timestamp
    var item: Seq
    /// Nil for the expiry of a broadcast.
    var user: Name?
    var expires: Bool
    /// Set where a mute ends; ``item`` is then the `muted`.
    var scope: MuteScope?
    var arrives = false

    static func < (left: Due, right: Due) -> Bool {
        if left.due != right.due { return left.due < right.due }
        if left.arrives != right.arrives { return left.arrives }
        if (left.scope == nil) != (right.scope == nil) { return left.scope == nil }
        if left.item != right.item { return left.item < right.item }
        switch (left.user, right.user) {
        case (nil, .some): return true
        case (.some, nil), (nil, nil): return false
        case (.some(let one), .some(let other)):
            return one == other ? left.expires && !right.expires : one < other
        }
    }
}
