import TraylogDomain

/// Writes Protocol Buffers fields one after the other into bytes that have room for them.
///
/// Absent values write nothing.
///
/// Like ``PayloadReader`` it holds only a position, and every call takes the bytes. (A closure over an `OutputSpan` would
/// be shorter, but it would copy the captured event, which takes half of the time of an encoding.)
struct PayloadWriter {
    /// The offset of the next byte.
    private(set) var position: Int

    @inline(__always)
    init(at position: Int) { self.position = position }

    @inline(__always)
    mutating func put(byte: UInt8, _ bytes: inout MutableSpan<UInt8>) {
        bytes[position] = byte
        position &+= 1
    }

    @inline(__always)
    mutating func put(varint number: UInt64, _ bytes: inout MutableSpan<UInt8>) {
        var rest = number
        while rest >= 0x80 {
            put(byte: UInt8(truncatingIfNeeded: rest) | 0x80, &bytes)
            rest >>= 7
        }
        put(byte: UInt8(truncatingIfNeeded: rest), &bytes)
    }

    @inline(__always)
    mutating func put(tag field: FieldNumber, _ bytes: inout MutableSpan<UInt8>) {
        put(varint: UInt64(field.rawValue << 3 | UInt32(field.wireType.rawValue)), &bytes)
    }

    @inline(__always)
    mutating func put(_ field: FieldNumber, _ text: borrowing String?, _ bytes: inout MutableSpan<UInt8>) {
        switch text {
        case .none: break
        case .some(let text): put(field, some: text, &bytes)
        }
    }

    @inline(__always)
    mutating func put(_ field: FieldNumber, some text: borrowing String, _ bytes: inout MutableSpan<UInt8>) {
        put(tag: field, &bytes)
        put(text, &bytes)
    }

    /// Writes length and bytes.
    ///
    /// Not inlined, because it is most of the code of a text field.
    @inline(never)
    mutating func put(_ text: borrowing String, _ bytes: inout MutableSpan<UInt8>) {
        let size = text.utf8.count
        put(varint: UInt64(size), &bytes)
        bytes.store(text, at: position)
        position &+= size
    }

    @inline(__always)
    mutating func put(_ field: FieldNumber, _ number: UInt64, _ bytes: inout MutableSpan<UInt8>) {
        put(tag: field, &bytes)
        put(varint: number, &bytes)
    }

    @inline(__always)
    mutating func put(_ field: FieldNumber, _ seq: Seq?, _ bytes: inout MutableSpan<UInt8>) {
        if let seq { put(field, seq.rawValue, &bytes) }
    }

    /// Writes a `sint64`, in which small negative numbers are short.
    @inline(__always)
    mutating func put(_ field: FieldNumber, _ time: Timestamp?, _ bytes: inout MutableSpan<UInt8>) {
        guard let milliseconds = time?.milliseconds else { return }
        put(field, UInt64(bitPattern: (milliseconds << 1) ^ (milliseconds >> 63)), &bytes)
    }

    @inline(__always)
    mutating func put(_ field: FieldNumber, _ flag: Bool, _ bytes: inout MutableSpan<UInt8>) {
        if flag { put(field, 1, &bytes) }
    }

    @inline(__always)
    mutating func put(_ field: FieldNumber, fixed64 number: UInt64, _ bytes: inout MutableSpan<UInt8>) {
        put(tag: field, &bytes)
        bytes.store(littleEndian: number, at: position)
        position &+= 8
    }

    /// Writes packed numbers; an empty array writes nothing.
    mutating func put(_ field: FieldNumber, packed numbers: [Seq], _ bytes: inout MutableSpan<UInt8>) {
        guard !numbers.isEmpty else { return }
        put(tag: field, &bytes)
        put(varint: numbers.reduce(into: 0) { $0 += varintBytes($1.rawValue) }, &bytes)
        for number in numbers { put(varint: number.rawValue, &bytes) }
    }

    /// Writes bytes as they are.
    mutating func put(raw source: RawSpan, _ bytes: inout MutableSpan<UInt8>) {
        bytes.store(source, at: position)
        position &+= source.byteCount
    }

    private func varintBytes(_ number: UInt64) -> UInt64 {
        UInt64((70 - (number | 1).leadingZeroBitCount) / 7)
    }
}

extension PayloadWriter {
    /// Writes the topic, which comes among the names.
    mutating func putTopic(_ eventBody: borrowing Event.Body, _ bytes: inout MutableSpan<UInt8>) {
        switch eventBody {
        case .subscribed(let topic, _), .unsubscribed(let topic, _), .broadcast(let topic, _),
            .muted(.topic(let topic), _), .unmuted(.topic(let topic)):
            put(.topic, some: topic, &bytes)
        case .arrived(_, let topic, _, _, _):
            put(.topic, topic, &bytes)
        default:
            break
        }
    }

    /// Writes the fields of the event's kind, from number 10 on.
    mutating func put(_ eventBody: borrowing Event.Body, _ bytes: inout MutableSpan<UInt8>) {
        switch eventBody {
        case .notified(let content), .broadcast(_, let content):
            put(content, &bytes)
        case .arrived(let item, _, let key, let notifiedAt, let content):
            putTexts(of: content, &bytes)
            put(.itemKey, key, &bytes)
            put(.notifiedAt, notifiedAt, &bytes)
            put(.item, item, &bytes)
            putReminder(of: content, &bytes)
        case .traySeen(let upTo):
            put(.upTo, upTo, &bytes)
        case .marked(let mark, let items):
            put(.mark, mark.stored, &bytes)
            put(.items, packed: items, &bytes)
        case .allMarked(let mark, let filter, let upTo):
            put(mark, filter, upTo: upTo, &bytes)
        case .muted(let scope, let until): put(scope, until: until, &bytes)
        case .unmuted(let scope): put(scope, &bytes)
        case .snoozed(let item, let until):
            put(.item, item, &bytes)
            put(.until, until, &bytes)
        case .woken(let item), .retracted(let item), .expired(let item), .reminded(let item):
            put(.item, item, &bytes)
        case .acted(let item, let action, let note, let asOf):
            put(.item, item, &bytes)
            put(.action, some: action, &bytes)
            put(.note, note, &bytes)
            put(.asOf, asOf, &bytes)
        case .edited(let item, let edit):
            putSet(edit, &bytes)
            put(.item, item, &bytes)
            putCleared(edit, &bytes)
            if case .set(let time) = edit.remindAt { put(.remindAt, time, &bytes) }
        case .undone(let event):
            put(.event, event, &bytes)
        case .redacted:
            preconditionFailure("what was erased is not written again")
        case .compacted(let through, let dropped, let archive):
            put(.dropped, dropped, &bytes)
            put(.archive, archive, &bytes)
            put(.through, through, &bytes)
        case .audited(let purpose, let revisions):
            put(.purpose, purpose, &bytes)
            for revision in revisions { put(revision, &bytes) }
        case .subscribed(_, let topicRevision), .unsubscribed(_, let topicRevision):
            if topicRevision != 0 { put(.topicRevision, topicRevision, &bytes) }
        case .erased(let spans):
            for span in spans { put(span, &bytes) }
        case .held, .released, .lost:
            break
        }
    }

    /// Writes one message of `spans`.
    private mutating func put(_ span: SubscriptionSpan, _ bytes: inout MutableSpan<UInt8>) {
        let textBytes = UInt64(span.topic.utf8.count)
        put(tag: .spans, &bytes)
        put(
            varint: 3 + varintBytes(textBytes) + textBytes + varintBytes(span.from.rawValue)
                + varintBytes(span.to.rawValue), &bytes)
        put(byte: 1 << 3 | WireType.bytes.rawValue, &bytes)
        put(span.topic, &bytes)
        put(byte: 2 << 3 | WireType.varint.rawValue, &bytes)
        put(varint: span.from.rawValue, &bytes)
        put(byte: 3 << 3 | WireType.varint.rawValue, &bytes)
        put(varint: span.to.rawValue, &bytes)
    }

    @inline(__always)
    mutating func put(_ content: borrowing Content, _ bytes: inout MutableSpan<UInt8>) {
        putTexts(of: content, &bytes)
        putReminder(of: content, &bytes)
    }

    /// Writes the fields of a content up to number 21.
    @inline(__always)
    private mutating func putTexts(of content: borrowing Content, _ bytes: inout MutableSpan<UInt8>) {
        put(.thread, content.thread, &bytes)
        put(.category, content.category, &bytes)
        put(.title, content.title, &bytes)
        put(.body, content.body, &bytes)
        put(.summaryArgument, content.summaryArgument, &bytes)
        if content.summaryCount != 1 { put(.summaryCount, UInt64(content.summaryCount), &bytes) }
        put(.silent, content.isSilent, &bytes)
        if content.level != .active { put(.level, content.level.stored, &bytes) }
        put(.expiresAt, content.expiresAt, &bytes)
        put(.collapseKey, content.collapseKey, &bytes)
        put(.data, content.data, &bytes)
        put(.notBefore, content.notBefore, &bytes)
    }

    /// Writes the fields of a content above.
    @inline(__always)
    private mutating func putReminder(of content: borrowing Content, _ bytes: inout MutableSpan<UInt8>) {
        put(.remindAt, content.remindAt, &bytes)
        if !content.actions.isEmpty { put(content.actions, &bytes) }
    }

    /// Writes one message for each action.
    private mutating func put(_ actions: [ItemAction], _ bytes: inout MutableSpan<UInt8>) {
        for action in actions {
            put(tag: .actions, &bytes)
            put(varint: UInt64(action.messageBytes), &bytes)
            put(byte: ItemAction.idTag, &bytes)
            put(action.id, &bytes)
            put(byte: ItemAction.labelTag, &bytes)
            put(action.label, &bytes)
        }
    }

    mutating func put(_ mark: BulkMark, _ filter: ItemFilter, upTo: Seq?, _ bytes: inout MutableSpan<UInt8>) {
        if case .named(let thread) = filter.thread { put(.thread, some: thread, &bytes) }
        put(.category, filter.category, &bytes)
        put(.upTo, upTo, &bytes)
        put(.mark, mark.stored, &bytes)
        put(.unthreaded, filter.thread == .unthreaded, &bytes)
    }

    mutating func put(_ scope: MuteScope, until: Timestamp? = nil, _ bytes: inout MutableSpan<UInt8>) {
        switch scope {
        case .thread(let name): put(.thread, some: name, &bytes)
        case .category(let name): put(.category, some: name, &bytes)
        // A topic stands among the names.
        case .topic, .all: break
        }
        put(.until, until, &bytes)
        put(.all, scope == .all, &bytes)
    }

    /// Writes one element of `topic_revisions`, a message of its own.
    mutating func put(_ revision: borrowing TopicRevision, _ bytes: inout MutableSpan<UInt8>) {
        let (topic, number) = (revision.topic.utf8.count, revision.revision)
        put(tag: .topicRevisions, &bytes)
        put(
            varint: 1 + varintBytes(UInt64(topic)) + UInt64(topic) + (number == 0 ? 0 : 1 + varintBytes(number)), &bytes
        )
        put(byte: TopicRevision.topicTag, &bytes)
        put(revision.topic, &bytes)
        guard number != 0 else { return }
        put(byte: TopicRevision.revisionTag, &bytes)
        put(varint: number, &bytes)
    }

    /// Writes the fields that an edit sets.
    ///
    /// Unlike in content, defaults are written: an absent field is one to keep.
    mutating func putSet(_ edit: ContentEdit, _ bytes: inout MutableSpan<UInt8>) {
        if case .set(let text) = edit.title { put(.title, some: text, &bytes) }
        if case .set(let text) = edit.body { put(.body, some: text, &bytes) }
        if case .set(let text) = edit.summaryArgument { put(.summaryArgument, some: text, &bytes) }
        if case .set(let count) = edit.summaryCount { put(.summaryCount, UInt64(count), &bytes) }
        if case .set(let level) = edit.level { put(.level, level.stored, &bytes) }
        if case .set(let time) = edit.expiresAt { put(.expiresAt, time, &bytes) }
        if case .set(let text) = edit.data { put(.data, some: text, &bytes) }
        if case .set(let time) = edit.notBefore { put(.notBefore, time, &bytes) }
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
        if remindAt == .clear { cleared.insert(.remindAt) }
        return cleared
    }
}

extension ItemAction {
    /// The tags of the fields 1 and 2, both of bytes.
    static let idTag: UInt8 = 1 << 3 | 2
    static let labelTag: UInt8 = 2 << 3 | 2

    /// The size of its message.
    fileprivate var messageBytes: Int {
        let (id, label) = (id.utf8.count, label.utf8.count)
        return 2 + PayloadWriter.varintBytes(id) + id + PayloadWriter.varintBytes(label) + label
    }
}

extension PayloadWriter {
    fileprivate static func varintBytes(_ number: Int) -> Int { (70 - (UInt64(number) | 1).leadingZeroBitCount) / 7 }
}

extension TopicRevision {
    /// Field 1, a string.
    static let topicTag: UInt8 = 1 << 3 | WireType.bytes.rawValue
    /// Field 2, a varint.
    static let revisionTag: UInt8 = 2 << 3 | WireType.varint.rawValue
}
