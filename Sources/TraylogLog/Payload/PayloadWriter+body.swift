import TraylogDomain

extension PayloadWriter {
    /// The topic, which stands among the names.
    mutating func putTopic(_ eventBody: borrowing Event.Body, _ bytes: inout MutableSpan<UInt8>) {
        switch eventBody {
        case .subscribed(let topic), .unsubscribed(let topic), .broadcast(let topic, _):
            put(.topic, some: topic, &bytes)
        default:
            break
        }
    }

    /// The fields of the event's kind, from number 10 on.
    mutating func put(_ eventBody: borrowing Event.Body, _ bytes: inout MutableSpan<UInt8>) {
        switch eventBody {
        case .notified(let content), .broadcast(_, let content):
            put(content, &bytes)
        case .traySeen(let upTo):
            put(.upTo, upTo, &bytes)
        case .marked(let mark, let items):
            put(.mark, mark.stored, &bytes)
            put(.items, packed: items, &bytes)
        case .allMarked(let mark, let selection):
            put(mark, selection, &bytes)
        case .muted(let scope), .unmuted(let scope):
            put(scope, &bytes)
        case .snoozed(let item, let until):
            put(.item, item, &bytes)
            put(.until, until, &bytes)
        case .woken(let item), .retracted(let item), .expired(let item):
            put(.item, item, &bytes)
        case .edited(let item, let edit):
            putSet(edit, &bytes)
            put(.item, item, &bytes)
            putCleared(edit, &bytes)
        case .undone(let event):
            put(.event, event, &bytes)
        case .redacted:
            preconditionFailure("what was erased is not written again")
        case .compacted(let through, let dropped, let archive):
            put(.dropped, dropped, &bytes)
            put(.archive, archive, &bytes)
            put(.through, through, &bytes)
        case .subscribed, .unsubscribed, .erased:
            break
        }
    }

    mutating func put(_ content: borrowing Content, _ bytes: inout MutableSpan<UInt8>) {
        put(.thread, content.thread, &bytes)
        put(.category, content.category, &bytes)
        put(.title, content.title, &bytes)
        put(.body, content.body, &bytes)
        put(.summaryArgument, content.summaryArgument, &bytes)
        if content.summaryCount != 1 { put(.summaryCount, UInt64(content.summaryCount), &bytes) }
        put(.silent, content.silent, &bytes)
        if content.level != .active { put(.level, content.level.stored, &bytes) }
        put(.expiresAt, content.expiresAt, &bytes)
        put(.collapseKey, content.collapseKey, &bytes)
        put(.data, content.data, &bytes)
    }

    mutating func put(_ mark: BulkMark, _ selection: Selection, _ bytes: inout MutableSpan<UInt8>) {
        if case .named(let thread) = selection.thread { put(.thread, some: thread, &bytes) }
        put(.category, selection.category, &bytes)
        put(.upTo, selection.upTo, &bytes)
        put(.mark, mark.stored, &bytes)
        put(.unthreaded, selection.thread == .unthreaded, &bytes)
    }

    mutating func put(_ scope: MuteScope, _ bytes: inout MutableSpan<UInt8>) {
        switch scope {
        case .thread(let name): put(.thread, some: name, &bytes)
        case .category(let name): put(.category, some: name, &bytes)
        }
    }

    /// Unlike in content, a default is written: here absence means that the field is kept.
    mutating func putSet(_ edit: ContentEdit, _ bytes: inout MutableSpan<UInt8>) {
        if case .set(let text) = edit.title { put(.title, some: text, &bytes) }
        if case .set(let text) = edit.body { put(.body, some: text, &bytes) }
        if case .set(let text) = edit.summaryArgument { put(.summaryArgument, some: text, &bytes) }
        if case .set(let count) = edit.summaryCount { put(.summaryCount, UInt64(count), &bytes) }
        if case .set(let level) = edit.level { put(.level, level.stored, &bytes) }
        if case .set(let time) = edit.expiresAt { put(.expiresAt, time, &bytes) }
        if case .set(let text) = edit.data { put(.data, some: text, &bytes) }
    }

    mutating func putCleared(_ edit: ContentEdit, _ bytes: inout MutableSpan<UInt8>) {
        let cleared = edit.cleared
        guard !cleared.isEmpty else { return }
        put(tag: .cleared, &bytes)
        put(varint: UInt64(cleared.rawValue.nonzeroBitCount), &bytes)
        for (field, number) in ContentFields.numbered where cleared.contains(field) {
            put(varint: UInt64(number.rawValue), &bytes)
        }
    }
}

extension ContentEdit {
    var cleared: ContentFields {
        var cleared = ContentFields(rawValue: 0)
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
