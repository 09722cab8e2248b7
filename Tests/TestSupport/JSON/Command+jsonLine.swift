import TraylogDomain

extension Command {
    /// This command as a line of JSON, without its newline; written independently of the store's own writers.
    ///
    /// It contains `data` unchanged, so data that is not JSON makes a line that is not JSON.
    package var jsonLine: String {
        var members: [(String, String?)] = [
            ("kind", Mirror(reflecting: action).children.first?.label.map(quoted)), ("user", user.map(quoted)),
            ("key", key.map(quoted)),
            ("occurredAt", occurredAt.map(quoted)), ("actor", actor.map(quoted)), ("device", device.map(quoted)),
            ("expectedRevision", expectedRevision.map { "\($0)" }),
        ]
        members += action.members
        let written = members.compactMap { name, value in value.map { "\"\(name)\":\($0)" } }
        return "{" + written.joined(separator: ",") + "}"
    }
}

extension Command.Action {
    fileprivate var members: [(String, String?)] {
        switch self {
        case .notify(let content): content.members
        case .broadcast(let topic, let content): [("topic", quoted(topic))] + content.members
        case .seeTray(let upTo): [("upTo", upTo?.description)]
        case .mark(let mark, let items):
            [("as", quoted(mark.rawValue)), ("items", "[" + items.map(\.json).joined(separator: ",") + "]")]
        case .markAll(let mark, let filter, let upTo):
            [("as", quoted(mark.rawValue))] + filter.members + [("upTo", upTo?.description)]
        case .mute(let scope, let until): scope.members + [("until", until.map(quoted))]
        case .unmute(let scope): scope.members
        case .snooze(let item, let until): [("item", item.json), ("until", quoted(until))]
        case .wake(let item), .retract(let item): [("item", item.json)]
        case .edit(let item, let edit): [("item", item.json)] + edit.members
        case .subscribe(let topic), .unsubscribe(let topic): [("topic", quoted(topic))]
        case .undo(let event): [("event", event.description)]
        case .act(let item, let action, let note, let asOf):
            [
                ("item", item.json), ("action", quoted(action)), ("note", note.map(quoted)),
                ("asOf", asOf?.description),
            ]
        }
    }
}

extension Content {
    fileprivate var members: [(String, String?)] {
        [
            ("thread", thread.map(quoted)), ("category", category.map(quoted)), ("title", title.map(quoted)),
            ("body", body.map(quoted)), ("summaryArgument", summaryArgument.map(quoted)),
            ("summaryCount", "\(summaryCount)"), ("silent", "\(isSilent)"), ("level", quoted("\(level)")),
            ("expiresAt", expiresAt.map(quoted)), ("collapseKey", collapseKey.map(quoted)), ("data", data),
            ("remindAt", remindAt.map(quoted)), ("notBefore", notBefore.map(quoted)),
            ("actions", actions.isEmpty ? nil : "[\(offered)]"),
        ]
    }
}

extension Content {
    fileprivate var offered: String {
        actions.map { "{\"id\":\(quoted($0.id)),\"label\":\(quoted($0.label))}" }.joined(separator: ",")
    }
}

extension MuteScope {
    fileprivate var members: [(String, String?)] {
        switch self {
        case .thread(let name): [("thread", quoted(name))]
        case .category(let name): [("category", quoted(name))]
        case .topic(let name): [("topic", quoted(name))]
        case .all: [("all", "true")]
        }
    }
}

extension ItemFilter {
    fileprivate var members: [(String, String?)] {
        let thread: String? =
            switch thread {
            case .any: nil
            case .unthreaded: "null"
            case .named(let name): quoted(name)
            }
        return [("thread", thread), ("category", category.map(quoted))]
    }
}

extension ContentEdit {
    fileprivate var members: [(String, String?)] {
        [
            ("title", title.json(quoted)), ("body", body.json(quoted)),
            ("summaryArgument", summaryArgument.json(quoted)), ("summaryCount", summaryCount.json { "\($0)" }),
            ("level", level.json { quoted("\($0)") }), ("expiresAt", expiresAt.json(quoted)),
            ("data", data.json { $0 }), ("remindAt", remindAt.json(quoted)), ("notBefore", notBefore.json(quoted)),
        ]
    }
}

extension Change {
    fileprivate func json(_ text: (Value) -> String) -> String? {
        switch self {
        case .keep: nil
        case .clear: "null"
        case .set(let value): text(value)
        }
    }
}

extension ItemReference {
    fileprivate var json: String {
        switch self {
        case .seq(let seq): seq.description
        case .key(let key): quoted(key)
        }
    }
}

private func quoted(_ time: Timestamp) -> String { quoted(rfc3339(time)) }

private func quoted(_ text: String) -> String {
    var json = "\""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\"", "\\": json += "\\\(scalar)"
        case "\0"..."\u{1f}":
            let digits = String(scalar.value, radix: 16)
            json += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        default: json.unicodeScalars.append(scalar)
        }
    }
    return json + "\""
}
