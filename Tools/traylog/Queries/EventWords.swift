import Traylog

extension Event {
    /// Describes the event on one line, without the kind.
    var words: String {
        switch body {
        case .notified(let content): content.headline
        case .broadcast(let topic, let content): "to \(topic): \(content.headline)"
        case .arrived(let item, let topic, _, _, let content):
            (topic.map { "to \($0): " } ?? "") + "item \(item): \(content.headline)"
        case .traySeen(let upTo): "up to \(upTo)"
        case .marked(let mark, let items): "\(mark): \(items.map(\.description).joined(separator: ", "))"
        case .allMarked(let mark, let filter, let upTo): "\(mark): \(filter.words)up to \(upTo)"
        case .muted(let scope, let until): scope.words + (until.map { " until \($0.localText)" } ?? "")
        case .unmuted(let scope): scope.words
        case .snoozed(let item, let until): "item \(item) until \(until.localText)"
        case .edited(let item, let edit): "item \(item): \(edit.words)"
        case .woken(let item), .retracted(let item), .expired(let item), .reminded(let item): "item \(item)"
        case .acted(let item, let action, let note, _): "item \(item): \(action)" + (note.map { ", \($0)" } ?? "")
        case .subscribed(let topic, _), .unsubscribed(let topic, _): topic
        case .undone(let event): "event \(event)"
        case .erased, .held, .released: ""
        case .audited(let purpose, _): purpose ?? ""
        case .redacted: ""
        case .lost: "the log was restored from an export without it"
        case .compacted(let through, let dropped, let archive):
            "through \(through), \(dropped) dropped" + (archive.map { ", archive \($0)" } ?? "")
        @unknown default: ""
        }
    }
}

extension ItemFilter {
    fileprivate var words: String {
        var words: [String] = []
        switch thread {
        case .any: break
        case .unthreaded: words.append("unthreaded")
        case .named(let name): words.append("thread \(name)")
        }
        if let category = categories.first { words.append("category \(category)") }
        return words.map { "\($0), " }.joined()
    }
}

extension MuteScope {
    var words: String {
        switch self {
        case .thread(let name): "thread \(name)"
        case .category(let name): "category \(name)"
        case .topic(let name): "topic \(name)"
        case .all: "all"
        }
    }
}

extension ContentEdit {
    fileprivate var words: String {
        [
            Self.word("title", title), Self.word("body", body), Self.word("summaryArgument", summaryArgument),
            Self.word("summaryCount", summaryCount), Self.word("level", level),
            Self.word("expiresAt", expiresAt, \.localText), Self.word("data", data),
            Self.word("remindAt", remindAt, \.localText), Self.word("notBefore", notBefore, \.localText),
        ].compactMap(\.self).joined(separator: ", ")
    }

    private static func word<Value>(
        _ name: String, _ change: Change<Value>, _ text: (Value) -> String = { "\($0)" }
    ) -> String? {
        switch change {
        case .keep: nil
        case .clear: "no \(name)"
        case .set(let value): "\(name) \(text(value))"
        }
    }
}
