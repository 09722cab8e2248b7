import TraylogDomain

extension NaiveStore {
    /// Expires, wakes and unmutes what is due at `time`, then reminds.
    ///
    /// - Returns: the events that were appended.
    @discardableResult
    package mutating func tick(_ time: Timestamp, now: Timestamp) -> [Event] {
        let before = events.count
        for due in due(at: time) {
            if let scope = due.scope, let user = due.user {
                append(.unmuted(scope), user: user.text, now: now)
            } else if due.expires {
                append(.expired(item: due.item), user: due.user?.text, now: now)
            } else if let user = due.user, state(of: user.text).item(due.item)?.isLive == true {
                // Still there: an expiry of this very tick may have come first.
                append(.woken(item: due.item), user: user.text, now: now)
            }
        }
        for reminder in reminders(at: time) {
            append(.reminded(item: reminder.item), user: reminder.user?.text, now: now)
        }
        return Array(events[before...])
    }

    /// The reminders that are due in the present state: of which item, and for whom.
    private func reminders(at time: Timestamp) -> [Due] {
        var dues: [Due] = []
        for item in broadcasts() where !item.gone && !item.reminded {
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

/// One change of a tick, sortable in the order in which the tick makes them.
private struct Due: Comparable {
    var due: Timestamp
    var item: Seq
    /// Nil for the expiry of a broadcast.
    var user: Name?
    var expires: Bool
    /// Set where a mute ends; ``item`` is then the `muted`.
    var scope: MuteScope?

    static func < (left: Due, right: Due) -> Bool {
        if left.due != right.due { return left.due < right.due }
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
