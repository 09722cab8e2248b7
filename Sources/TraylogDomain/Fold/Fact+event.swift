extension Fact {
    /// The fact that `event` states.
    package init(_ event: borrowing Event, hasher: IdentityHasher) {
        self.init(seq: event.seq.rawValue, body: event.body, key: event.key, hasher: hasher)
    }

    package init(seq: UInt64, body: borrowing Event.Body, key: String?, hasher: IdentityHasher) {
        self.init(seq: seq, kind: body.kind)
        self.key = hasher.identity(of: key, as: .key)
        switch copy body {
        case .notified(let content), .broadcast(_, let content):
            setContent(content, hasher)
        case .traySeen(let upTo):
            target = upTo.rawValue
        case .marked(let mark, let items):
            self.mark = mark.rawValue
            self.items = items.map(\.rawValue)
        case .allMarked(let mark, let selection):
            self.mark = mark.rawValue
            target = selection.upTo?.rawValue ?? 0
            category = hasher.identity(of: selection.category, as: .category)
            switch selection.thread {
            case .any: break
            case .unthreaded: isUnthreaded = true
            case .named(let name): thread = hasher.identity(of: name, as: .thread)
            }
        case .muted(let scope), .unmuted(let scope):
            switch scope {
            case .thread(let name): thread = hasher.identity(of: name, as: .thread)
            case .category(let name): category = hasher.identity(of: name, as: .category)
            }
        case .edited(let item, let edit):
            target = item.rawValue
            edited = edit.fields
            if case .set(let text) = edit.summaryArgument {
                argument = hasher.identity(of: text, as: .summaryArgument)
            }
            if case .set(let count) = edit.summaryCount { summaryCount = count }
        case .snoozed(let item, _), .woken(let item), .retracted(let item), .expired(let item):
            target = item.rawValue
        case .undone(let event):
            target = event.rawValue
        case .subscribed(let topic), .unsubscribed(let topic):
            target = hasher.identity(of: topic, as: .topic)
        case .erased, .compacted:
            break
        case .redacted:
            kind = .erased
        }
    }

    /// The fact of a `notified`, without a copy of its content.
    package init(seq: UInt64, notified content: borrowing Content, key: borrowing String?, hasher: IdentityHasher) {
        self.init(seq: seq, kind: .notified)
        self.key = hasher.identity(of: key, as: .key)
        setContent(content, hasher)
    }

    private mutating func setContent(_ content: borrowing Content, _ hasher: IdentityHasher) {
        isSilent = content.silent
        summaryCount = content.summaryCount
        thread = hasher.identity(of: content.thread, as: .thread)
        category = hasher.identity(of: content.category, as: .category)
        argument = hasher.identity(of: content.summaryArgument, as: .summaryArgument)
        collapse = hasher.identity(of: content.collapseKey, as: .collapseKey)
    }
}

extension ContentEdit {
    /// The fields that the edit does not keep.
    package var fields: ContentFields {
        var fields: ContentFields = []
        if title != .keep { fields.insert(.title) }
        if body != .keep { fields.insert(.body) }
        if summaryArgument != .keep { fields.insert(.summaryArgument) }
        if summaryCount != .keep { fields.insert(.summaryCount) }
        if level != .keep { fields.insert(.level) }
        if expiresAt != .keep { fields.insert(.expiresAt) }
        if data != .keep { fields.insert(.data) }
        return fields
    }
}
