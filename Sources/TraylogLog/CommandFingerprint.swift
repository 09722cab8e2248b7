import TraylogDomain

/// A number that tells a repeated command from a different one with the same idempotency key.
///
/// SipHash-2-4 under the key (0, 0) of: the kind of the event (u8), `occurredAt` (i64, little-endian; `Int64.min`
/// when absent), the command's fields in the encoding of the payload, and the items as they were named. Values
/// are the effective ones (an absent actor is the user, defaults are left out); positions and items are as given:
/// an item named by its key makes another command than the same item named by its seq, and so does an absent
/// `upTo` than the head. The bytes are part of the format (Docs/format.md): stored numbers must stay comparable.
package enum CommandFingerprint {
    /// Never 0, which stands for "no key".
    ///
    /// - Complexity: linear in the size of the command; allocates one buffer.
    package static func of(_ command: borrowing Command) -> UInt64 {
        var buffer: [UInt8] = []
        append(command, to: &buffer)
        let hash = SipHash24.hash(buffer.span, key0: 0, key1: 0)
        return hash == 0 ? 1 : hash
    }

    /// The bytes that are hashed.
    static func append(_ command: borrowing Command, to buffer: inout [UInt8]) {
        let action = command.action
        let actor = command.actor ?? command.user
        var bound = PayloadEncoder.fixedBytes + action.variableBytes
        bound += PayloadEncoder.byteCount(command.user) + PayloadEncoder.byteCount(command.key)
        bound += PayloadEncoder.byteCount(actor) + PayloadEncoder.byteCount(command.device)
        let (user, key, device, occurredAt) = (command.user, command.key, command.device, command.occurredAt)
        buffer.append(addingCapacity: bound) { output in
            output.append(action.kind.rawValue)
            output.append(littleEndian: occurredAt?.milliseconds ?? RecordHeader.noTime)
            output.append(.user, user)
            output.append(.topic, action.topic)
            output.append(.key, key)
            output.append(.actor, actor)
            output.append(.device, device)
            output.append(action)
        }
    }
}

extension OutputSpan<UInt8> {
    fileprivate mutating func append(_ action: Command.Action) {
        switch action {
        case .notify(let content), .broadcast(_, let content):
            append(content)
        case .seeTray(let upTo):
            append(.upTo, upTo)
        case .mark(let mark, let items):
            append(.mark, mark.stored)
            for item in items { append(item) }
        case .markAll(let mark, let selection):
            append(mark, selection)
        case .mute(let scope), .unmute(let scope):
            append(scope)
        case .snooze(let item, let until):
            append(.until, until)
            append(item)
        case .wake(let item), .retract(let item):
            append(item)
        case .edit(let item, let edit):
            appendSet(edit)
            appendCleared(edit)
            append(item)
        case .undo(let event):
            append(.event, event)
        case .subscribe, .unsubscribe, .erase:
            break
        }
    }

    private mutating func append(_ item: ItemReference) {
        switch item {
        case .seq(let seq):
            append(.item, seq)
        case .key(let key):
            append(varint: CommandFingerprint.itemKeyTag)
            append(varint: UInt64(key.utf8.count))
            append(copying: RawSpan(_elements: key.utf8Span.span))
        }
    }
}

extension CommandFingerprint {
    /// Field 64, bytes: only in what is hashed, never in an event.
    fileprivate static let itemKeyTag: UInt64 = 64 << 3 | 2
}

extension Command.Action {
    /// The kind of the event that the command causes.
    package var kind: EventKind {
        switch self {
        case .notify: .notified
        case .seeTray: .traySeen
        case .mark: .marked
        case .markAll: .allMarked
        case .mute: .muted
        case .unmute: .unmuted
        case .snooze: .snoozed
        case .wake: .woken
        case .edit: .edited
        case .retract: .retracted
        case .subscribe: .subscribed
        case .unsubscribe: .unsubscribed
        case .broadcast: .broadcast
        case .undo: .undone
        case .erase: .erased
        }
    }

    fileprivate var topic: String? {
        switch self {
        case .subscribe(let topic), .unsubscribe(let topic), .broadcast(let topic, _): topic
        default: nil
        }
    }

    /// The bytes of strings and lists, which a bound for the size needs.
    fileprivate var variableBytes: Int {
        switch self {
        case .notify(let content): content.variableBytes
        case .broadcast(let topic, let content): topic.utf8.count + content.variableBytes
        case .mark(_, let items): items.reduce(0) { $0 + $1.variableBytes }
        case .markAll(_, let selection): selection.variableBytes
        case .mute(let scope), .unmute(let scope): scope.variableBytes
        case .snooze(let item, _), .wake(let item), .retract(let item): item.variableBytes
        case .edit(let item, let edit): item.variableBytes + edit.variableBytes
        case .subscribe(let topic), .unsubscribe(let topic): topic.utf8.count
        case .seeTray, .undo, .erase: 0
        }
    }
}

extension ItemReference {
    fileprivate var variableBytes: Int {
        switch self {
        case .seq: 2 + PayloadEncoder.varintBytes
        case .key(let key): 2 + PayloadEncoder.varintBytes + key.utf8.count
        }
    }
}
