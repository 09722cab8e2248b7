import TraylogDomain

/// Encodes events as `traylog.v1.Event` messages (Docs/internals/format/event.proto).
///
/// The encoding is canonical: equal events give equal bytes. Fields come in the order of their numbers, defaults are
/// left out, unknown fields come last and unchanged. Allocates only when the buffer must grow.
package enum PayloadEncoder {
    /// Appends the payload of an event.
    ///
    /// The header holds the rest: seq, times and kind.
    ///
    /// - Parameters:
    ///   - commandFingerprint: identifies the keyed command (``CommandFingerprint``); 0 is left out.
    ///   - unknownFields: whole fields, as decoded.
    ///   - edits: ``Event/edits``; 0 is left out.
    package static func append(
        user: borrowing String?, key: borrowing String?, actor: borrowing String?, device: borrowing String?,
        commandFingerprint: UInt64, body: borrowing Event.Body, unknownFields: borrowing [UInt8], edits: UInt64 = 0,
        to buffer: inout [UInt8]
    ) {
        var bound = fixedBytes + unknownFields.count + body.variableBytes
        bound += byteCount(user) + byteCount(key) + byteCount(actor) + byteCount(device)
        let start = buffer.count
        buffer.append(addingCapacity: bound) { $0.append(repeating: 0, count: bound) }
        var writer = PayloadWriter(at: start)
        var bytes = buffer.mutableSpan
        writer.put(.user, user, &bytes)
        writer.putTopic(body, &bytes)
        writer.put(.key, key, &bytes)
        writer.put(.actor, actor, &bytes)
        writer.put(.device, device, &bytes)
        if commandFingerprint != 0 { writer.put(.commandFingerprint, fixed64: commandFingerprint, &bytes) }
        writer.put(body, &bytes)
        if edits != 0 { writer.put(.edits, edits, &bytes) }
        writer.put(raw: RawSpan(_elements: unknownFields.span), &bytes)
        buffer.removeLast(buffer.count - writer.position)
    }

    /// Appends the payload of a `notified` event without copying its content.
    package static func append(
        user: borrowing String?, key: borrowing String?, actor: borrowing String?, device: borrowing String?,
        commandFingerprint: UInt64, notified content: borrowing Content, to buffer: inout [UInt8]
    ) {
        var bound = fixedBytes + content.variableBytes
        bound += byteCount(user) + byteCount(key) + byteCount(actor) + byteCount(device)
        let start = buffer.count
        buffer.append(addingCapacity: bound) { $0.append(repeating: 0, count: bound) }
        var writer = PayloadWriter(at: start)
        var bytes = buffer.mutableSpan
        writer.put(.user, user, &bytes)
        writer.put(.key, key, &bytes)
        writer.put(.actor, actor, &bytes)
        writer.put(.device, device, &bytes)
        if commandFingerprint != 0 { writer.put(.commandFingerprint, fixed64: commandFingerprint, &bytes) }
        writer.put(content, &bytes)
        buffer.removeLast(buffer.count - writer.position)
    }

    /// Appends the payload of `event`.
    package static func append(_ event: borrowing Event, to buffer: inout [UInt8]) {
        append(
            user: event.user, key: event.key, actor: event.actor, device: event.device,
            commandFingerprint: event.commandFingerprint, body: event.body,
            unknownFields: event.unknownFields, edits: event.edits, to: &buffer)
    }

    /// An upper bound of all numbers, tags and lengths of a payload.
    static let fixedBytes = 384
    static let varintBytes = 10

    @inline(__always)
    static func byteCount(_ text: borrowing String?) -> Int {
        switch text {
        case .none: 0
        case .some(let text): text.utf8.count
        }
    }
}

extension Event.Body {
    /// The bytes of strings and lists, for a bound of the size of the payload.
    var variableBytes: Int {
        switch self {
        case .notified(let content): content.variableBytes
        case .broadcast(let topic, let content): topic.utf8.count + content.variableBytes
        case .arrived(_, let topic, let key, _, let content):
            PayloadEncoder.byteCount(topic) + PayloadEncoder.byteCount(key) + content.variableBytes
        case .subscribed(let topic, _), .unsubscribed(let topic, _): topic.utf8.count
        case .marked(_, let items): items.count * PayloadEncoder.varintBytes
        case .allMarked(_, let filter, _): filter.markBytes
        case .muted(let scope, _), .unmuted(let scope): scope.variableBytes
        case .edited(_, let edit): edit.variableBytes
        case .redacted: 0
        case .compacted(_, _, let archive): PayloadEncoder.byteCount(archive)
        case .acted(_, let action, let note, _): action.utf8.count + PayloadEncoder.byteCount(note)
        case .erased(let spans):
            spans.reduce(0) { $0 + $1.topic.utf8.count + 5 * PayloadEncoder.varintBytes }
        case .audited(let purpose, let revisions):
            PayloadEncoder.byteCount(purpose) + revisions.reduce(0) { $0 + $1.topic.utf8.count + 32 }
        case .traySeen, .snoozed, .woken, .retracted, .undone, .expired, .held, .released, .lost, .reminded: 0
        }
    }
}

extension Content {
    var variableBytes: Int {
        PayloadEncoder.byteCount(thread) + PayloadEncoder.byteCount(category)
            + PayloadEncoder.byteCount(title) + PayloadEncoder.byteCount(body)
            + PayloadEncoder.byteCount(summaryArgument) + PayloadEncoder.byteCount(collapseKey)
            + PayloadEncoder.byteCount(data)
            // Five tags and lengths for each.
            + actions.reduce(0) { $0 + 5 * PayloadEncoder.varintBytes + $1.id.utf8.count + $1.label.utf8.count }
    }
}

extension ItemFilter {
    /// The bytes of the filter in the event of a bulk mark.
    var markBytes: Int {
        guard case .named(let name) = thread else { return PayloadEncoder.byteCount(category) }
        return name.utf8.count + PayloadEncoder.byteCount(category)
    }
}

extension MuteScope {
    var variableBytes: Int {
        switch self {
        case .thread(let name), .category(let name), .topic(let name): name.utf8.count
        case .all: 0
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
