import TraylogDomain

extension OutputSpan<UInt8> {
    /// The fields of the event's kind, from number 10 on.
    mutating func append(_ eventBody: borrowing Event.Body) {
        switch eventBody {
        case .notified(let content), .broadcast(_, let content):
            append(content)
        case .traySeen(let upTo):
            append(.upTo, upTo)
        case .marked(let mark, let items):
            append(.mark, mark.stored)
            append(.items, packed: items)
        case .allMarked(let mark, let selection):
            append(mark, selection)
        case .muted(let scope), .unmuted(let scope):
            append(scope)
        case .snoozed(let item, let until):
            append(.item, item)
            append(.until, until)
        case .woken(let item), .retracted(let item), .expired(let item):
            append(.item, item)
        case .edited(let item, let edit):
            appendSet(edit)
            append(.item, item)
            appendCleared(edit)
        case .undone(let event):
            append(.event, event)
        case .compacted(let through, let dropped, let archive):
            append(.dropped, dropped)
            append(.archive, archive)
            append(.through, through)
        case .subscribed, .unsubscribed, .erased:
            break
        }
    }

    mutating func append(_ content: borrowing Content) {
        append(.thread, content.thread)
        append(.category, content.category)
        append(.title, content.title)
        append(.body, content.body)
        append(.summaryArgument, content.summaryArgument)
        if content.summaryCount != 1 { append(.summaryCount, UInt64(content.summaryCount)) }
        append(.silent, content.silent)
        if content.level != .active { append(.level, content.level.stored) }
        append(.expiresAt, content.expiresAt)
        append(.collapseKey, content.collapseKey)
        append(.data, content.data)
    }

    mutating func append(_ mark: BulkMark, _ selection: borrowing Selection) {
        if case .named(let thread) = selection.thread { append(.thread, some: thread) }
        append(.category, selection.category)
        append(.upTo, selection.upTo)
        append(.mark, mark.stored)
        append(.unthreaded, selection.thread == .unthreaded)
    }

    mutating func append(_ scope: borrowing MuteScope) {
        switch scope {
        case .thread(let name): append(.thread, some: name)
        case .category(let name): append(.category, some: name)
        }
    }

    /// Unlike in content, a default is written: here absence means that the field is kept.
    mutating func appendSet(_ edit: borrowing ContentEdit) {
        if case .set(let text) = edit.title { append(.title, some: text) }
        if case .set(let text) = edit.body { append(.body, some: text) }
        if case .set(let text) = edit.summaryArgument { append(.summaryArgument, some: text) }
        if case .set(let count) = edit.summaryCount { append(.summaryCount, UInt64(count)) }
        if case .set(let level) = edit.level { append(.level, level.stored) }
        if case .set(let time) = edit.expiresAt { append(.expiresAt, time) }
        if case .set(let text) = edit.data { append(.data, some: text) }
    }

    mutating func appendCleared(_ edit: borrowing ContentEdit) {
        let cleared = edit.cleared
        guard !cleared.isEmpty else { return }
        append(tag: .cleared)
        append(varint: UInt64(cleared.rawValue.nonzeroBitCount))
        for (field, number) in ContentFields.numbered where cleared.contains(field) {
            append(varint: UInt64(number.rawValue))
        }
    }
}

extension ContentEdit {
    var cleared: ContentFields {
        var cleared: ContentFields = []
        if title == .clear { cleared.insert(.title) }
        if body == .clear { cleared.insert(.body) }
        if summaryArgument == .clear { cleared.insert(.summaryArgument) }
        if summaryCount == .clear { cleared.insert(.summaryCount) }
        if level == .clear { cleared.insert(.level) }
        if expiresAt == .clear { cleared.insert(.expiresAt) }
        if data == .clear { cleared.insert(.data) }
        return cleared
    }
}
