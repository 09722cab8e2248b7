import TraylogDomain

extension NaiveStore {
    /// Events below a floor that surely have no trace in any answer from the floor on; there may be more.
    ///
    /// If an event from before the floor was undone after it, none of that user's events is superfluous.
    package func superfluous(below floor: Seq) -> Set<Seq> {
        var whole: Set<Name> = []
        var restored: Set<Seq> = []
        for event in events where event.seq >= floor {
            if case .undone(let target) = event.body, target < floor, let user = Name(event.user) { whole.insert(user) }
            if case .marked(.restored, let items) = event.body { restored.formUnion(items) }
        }
        var states: [Name: NaiveUser] = [:]
        for user in current.keys { states[user] = state(of: user.text, asOf: Seq(floor.rawValue - 1)) }
        let superfluous = events.filter { event in
            guard event.seq < floor, let user = Name(event.user), !whole.contains(user) else { return false }
            switch event.body {
            case .traySeen(let upTo):
                // The one that the tray goes by says when that was.
                return states[user].map { upTo < $0.seenUpTo } ?? false
            case .marked, .allMarked, .unmuted, .woken, .retracted, .undone, .expired, .reminded:
                return true
            case .muted:
                // What is muted at the floor is named by the event that muted it last; the first one says since when.
                return states[user]?.mutes.allSatisfy { event.seq != $0.since && event.seq != $0.by } ?? true
            case .notified(let content):
                // An unread category is named by whatever event brought it up.
                guard content.category == nil, !restored.contains(event.seq) else { return false }
                return states[user]?.item(event.seq).map { $0.gone || $0.deleted } ?? false
            default:
                return false
            }
        }
        return Set(superfluous.map(\.seq))
    }
}
