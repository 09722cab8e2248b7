import TraylogDomain

/// A value that knows its strings, so that comparing their bytes costs little.
///
/// Most of a comparison's time goes into this; ``sameBytes(_:_:)`` on other values prints them whole.
package protocol TextBearing: Equatable {
    /// Every string in it, in a fixed order.
    var texts: [String?] { get }
}

package func sameBytes<Value: TextBearing>(_ left: Value, _ right: Value) -> Bool {
    left == right && left.texts.elementsEqual(right.texts) { Name($0) == Name($1) }
}

extension Array: TextBearing where Element: TextBearing {
    package var texts: [String?] { flatMap(\.texts) }
}

extension Content: TextBearing {
    package var texts: [String?] {
        [thread, category, title, body, summaryArgument, collapseKey, data] + actions.flatMap { [$0.id, $0.label] }
    }
}

extension Item: TextBearing {
    package var texts: [String?] {
        [key, topic, actor, outcome?.action, outcome?.note, outcome?.actor] + content.texts
    }
}

extension Recipient: TextBearing {
    package var texts: [String?] { [user, outcome?.action, outcome?.note, outcome?.actor] }
}

extension ThreadGroup: TextBearing {
    package var texts: [String?] { [thread] + names + newest.texts }
}

extension ContentEdit: TextBearing {
    package var texts: [String?] {
        [title, body, summaryArgument, data].map { change in
            if case .set(let text) = change { text } else { nil }
        }
    }
}

extension Event: TextBearing {
    package var texts: [String?] { [user, key, actor, device] + body.texts }
}

extension Event.Body: TextBearing {
    package var texts: [String?] {
        switch self {
        case .notified(let content): return content.texts
        case .broadcast(let topic, let content): return [topic] + content.texts
        case .arrived(_, let topic, let key, _, let content): return [topic, key] + content.texts
        case .edited(_, let edit): return edit.texts
        case .subscribed(let topic, _), .unsubscribed(let topic, _): return [topic]
        case .muted(let scope, _), .unmuted(let scope):
            switch scope {
            case .thread(let name), .category(let name), .topic(let name): return [name]
            case .all: return []
            }
        case .allMarked(_, let filter, _):
            if case .named(let thread) = filter.thread { return [thread, filter.category] }
            return [filter.category]
        case .compacted(_, _, let archive): return [archive]
        case .audited(let purpose, let revisions): return [purpose] + revisions.map(\.topic)
        case .acted(_, let action, let note, _): return [action, note]
        case .erased(let spans): return spans.map(\.topic)
        case .traySeen, .marked, .snoozed, .woken, .retracted, .undone, .expired, .held, .released, .redacted, .lost,
            .reminded:
            return []
        }
    }
}
