import TraylogDomain

extension NaiveStore {
    /// Expires and wakes what is due at `time`.
    ///
    /// - Returns: the events that were appended.
    @discardableResult
    package mutating func tick(_ time: Timestamp, now: Timestamp) -> [Event] {
        let before = events.count
        for due in due(at: time) {
            if due.expires {
                append(.expired(item: due.item), user: due.user?.text, now: now)
            } else if let user = due.user, state(of: user.text).item(due.item)?.isLive == true {
                // Still there: an expiry of this very tick may have come first.
                append(.woken(item: due.item), user: user.text, now: now)
            }
        }
        return Array(events[before...])
    }

    private func due(at time: Timestamp) -> [Due] {
        var dues: [Due] = []
        for item in broadcasts() where !item.gone {
            if let expiresAt = item.content.expiresAt, expiresAt <= time {
                dues.append(Due(due: expiresAt, item: item.seq, user: nil, expires: true))
            }
        }
        for (user, state) in current {
            // What was deleted and left the log comes back to nobody.
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

/// Something that a tick does, in the order in which it does it.
private struct Due: Comparable {
    var due: Timestamp
    var item: Seq
    /// Nil for the expiry of a broadcast.
    var user: Name?
    var expires: Bool

    static func < (left: Due, right: Due) -> Bool {
        if left.due != right.due { return left.due < right.due }
        if left.item != right.item { return left.item < right.item }
        switch (left.user, right.user) {
        case (nil, .some): return true
        case (.some, nil), (nil, nil): return false
        case (.some(let one), .some(let other)):
            return one == other ? left.expires && !right.expires : one < other
        }
    }
}
