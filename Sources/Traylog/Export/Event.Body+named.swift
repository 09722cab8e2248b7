import TraylogDomain

extension Event.Body {
    /// The greatest seq of another event that this one names; 0 when it names none.
    var greatestNamed: Seq {
        switch self {
        case .notified, .broadcast, .muted, .unmuted, .subscribed, .unsubscribed, .erased, .redacted: 0
        case .traySeen(let upTo): upTo
        case .marked(_, let items): items.max() ?? 0
        case .allMarked(_, let selection): selection.upTo ?? 0
        case .snoozed(let item, _), .woken(let item), .edited(let item, _), .retracted(let item), .expired(let item):
            item
        case .undone(let event): event
        case .compacted(let through, _, _): through
        }
    }
}
