import TraylogDomain

/// Encodes events as `traylog.v1.Event` messages (Docs/format/event.proto).
///
/// Canonical: the same event gives the same bytes. Fields stand in the order of their numbers, defaults are left
/// out, unknown fields follow as they were met. Allocates only when the buffer must grow.
package enum PayloadEncoder {
    /// Appends the payload of an event; what the header holds (seq, times, kind) is not part of it.
    ///
    /// - Parameters:
    ///   - commandFingerprint: of the keyed command (``CommandFingerprint``); 0 is left out.
    ///   - unknownFields: as decoded; anything but whole fields would damage the payload.
    package static func append(
        user: borrowing String?, key: borrowing String?, actor: borrowing String?, device: borrowing String?,
        commandFingerprint: UInt64, body: borrowing Event.Body, unknownFields: borrowing [UInt8],
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
        writer.put(raw: RawSpan(_elements: unknownFields.span), &bytes)
        buffer.removeLast(buffer.count - writer.position)
    }

    /// Appends the payload of a `notified` event without a copy of its content; otherwise as for any other body.
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
            unknownFields: event.unknownFields, to: &buffer)
    }

    /// More than all numbers, tags and lengths of any payload take.
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
