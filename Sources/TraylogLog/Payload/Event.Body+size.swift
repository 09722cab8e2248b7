import TraylogDomain

extension Event.Body {
    /// The bytes of the strings and lists, which a bound for the size of the payload needs.
    var variableBytes: Int {
        switch self {
        case .notified(let content): content.variableBytes
        case .broadcast(let topic, let content): topic.utf8.count + content.variableBytes
        case .subscribed(let topic), .unsubscribed(let topic): topic.utf8.count
        case .marked(_, let items): items.count * PayloadEncoder.varintBytes
        case .allMarked(_, let selection): selection.variableBytes
        case .muted(let scope), .unmuted(let scope): scope.variableBytes
        case .edited(_, let edit): edit.variableBytes
        case .redacted: 0
        case .compacted(_, _, let archive): PayloadEncoder.byteCount(archive)
        case .traySeen, .snoozed, .woken, .retracted, .undone, .expired, .erased: 0
        }
    }
}

extension Content {
    var variableBytes: Int {
        PayloadEncoder.byteCount(thread) + PayloadEncoder.byteCount(category)
            + PayloadEncoder.byteCount(title) + PayloadEncoder.byteCount(body)
            + PayloadEncoder.byteCount(summaryArgument) + PayloadEncoder.byteCount(collapseKey)
            + PayloadEncoder.byteCount(data)
    }
}

extension Selection {
    var variableBytes: Int {
        guard case .named(let name) = thread else { return PayloadEncoder.byteCount(category) }
        return name.utf8.count + PayloadEncoder.byteCount(category)
    }
}

extension MuteScope {
    var variableBytes: Int {
        switch self {
        case .thread(let name), .category(let name): name.utf8.count
        }
    }
}

extension ContentEdit {
    var variableBytes: Int {
        var sum = 0
        for change in [title, body, summaryArgument, data] {
            if case .set(let text) = change { sum += text.utf8.count }
        }
        return sum
    }
}
