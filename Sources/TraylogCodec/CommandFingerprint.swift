import TraylogDomain

/// A number that tells a repeated command from a different one with the same idempotency key.
///
/// SipHash-2-4 under the key (0, 0) of: the kind of the event (u8), `occurredAt` (i64, little-endian; `Int64.min`
/// when absent), the command's fields in the encoding of the payload, and the items as they were named. Values
/// are the effective ones: an absent actor is the user, and defaults are left out. Positions and items are as given:
/// an item named by its key and one named by its seq make different commands, as do an absent `upTo` and the head.
/// `data` goes in by value, in its canonical form (``CanonicalJSON``).
/// The bytes are part of the format (Docs/internals/format.md), because stored fingerprints must stay comparable.
package enum CommandFingerprint {
    /// The fingerprint of a command; never 0, which means "no key".
    ///
    /// - Complexity: O(size of the command), and O(n log n) in the size of its `data`. Without `data` it allocates one buffer.
    package static func of(_ command: borrowing Command) -> UInt64 {
        let hash = SipHash24.hash(bytes(of: command).span, key0: 0, key1: 0)
        return hash == 0 ? 1 : hash
    }

    /// The bytes that are hashed.
    static func bytes(of command: borrowing Command) -> [UInt8] {
        let action = command.action.withCanonicalData
        let actor = command.actor ?? command.user
        var bound = 9 + PayloadEncoder.fixedBytes + action.variableBytes
        bound += PayloadEncoder.byteCount(command.user) + PayloadEncoder.byteCount(command.key)
        bound += PayloadEncoder.byteCount(actor) + PayloadEncoder.byteCount(command.device)
        var buffer: [UInt8] = []
        buffer.append(addingCapacity: bound) { $0.append(repeating: 0, count: bound) }
        var writer = PayloadWriter(at: 9)
        var bytes = buffer.mutableSpan
        bytes[0] = action.kind.code
        bytes.store(
            littleEndian: UInt64(bitPattern: command.occurredAt?.milliseconds ?? RecordHeader.noTime), at: 1)
        writer.put(.user, command.user, &bytes)
        writer.put(.topic, action.topic, &bytes)
        writer.put(.key, command.key, &bytes)
        writer.put(.actor, actor, &bytes)
        writer.put(.device, command.device, &bytes)
        writer.put(action, &bytes)
        buffer.removeLast(buffer.count - writer.position)
        return buffer
    }
}

extension PayloadWriter {
    fileprivate mutating func put(_ action: Command.Action, _ bytes: inout MutableSpan<UInt8>) {
        switch action {
        case .notify(let content), .broadcast(_, let content):
            put(content, &bytes)
        case .seeTray(let upTo):
            put(.upTo, upTo, &bytes)
        case .mark(let mark, let items):
            put(.mark, mark.stored, &bytes)
            for item in items { put(item, &bytes) }
        case .markAll(let mark, let filter, let upTo):
            put(mark, filter, upTo: upTo, &bytes)
        case .mute(let scope, let until):
            put(scope, until: until, &bytes)
        case .unmute(let scope):
            put(scope, &bytes)
        case .snooze(let item, let until):
            put(.until, until, &bytes)
            put(item, &bytes)
        case .wake(let item), .retract(let item):
            put(item, &bytes)
        case .edit(let item, let edit):
            putSet(edit, &bytes)
            putCleared(edit, &bytes)
            put(item, &bytes)
            if case .set(let time) = edit.remindAt { put(.remindAt, time, &bytes) }
        case .act(let item, let action, let note, let asOf):
            put(item, &bytes)
            put(.action, some: action, &bytes)
            put(.note, note, &bytes)
            put(.asOf, asOf, &bytes)
        case .undo(let event):
            put(.event, event, &bytes)
        case .subscribe, .unsubscribe:
            break
        }
    }

    private mutating func put(_ item: ItemReference, _ bytes: inout MutableSpan<UInt8>) {
        switch item {
        case .seq(let seq):
            put(.item, seq, &bytes)
        case .key(let key):
            put(varint: CommandFingerprint.itemKeyTag, &bytes)
            put(key, &bytes)
        }
    }
}

extension CommandFingerprint {
    /// The tag of field 64, of bytes, which is hashed but never stored.
    fileprivate static let itemKeyTag: UInt64 = 64 << 3 | 2
}

extension Command.Action {
    /// The action with the canonical form of its `data`.
    fileprivate var withCanonicalData: Command.Action {
        switch self {
        case .notify(var content) where content.data != nil:
            content.data = content.data.map(CanonicalJSON.text)
            return .notify(content)
        case .broadcast(let topic, var content) where content.data != nil:
            content.data = content.data.map(CanonicalJSON.text)
            return .broadcast(topic: topic, content)
        case .edit(let item, var edit):
            if case .set(let data) = edit.data { edit.data = .set(CanonicalJSON.text(of: data)) }
            return .edit(item, edit)
        default:
            return self
        }
    }

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
        case .act: .acted
        }
    }

    fileprivate var topic: String? {
        switch self {
        case .subscribe(let topic), .unsubscribe(let topic), .broadcast(let topic, _), .mute(.topic(let topic), _),
            .unmute(.topic(let topic)):
            topic
        default: nil
        }
    }

    /// The bytes of strings and lists, for a bound of the size.
    fileprivate var variableBytes: Int {
        switch self {
        case .notify(let content): content.variableBytes
        case .broadcast(let topic, let content): topic.utf8.count + content.variableBytes
        case .mark(_, let items): items.reduce(0) { $0 + $1.variableBytes }
        case .markAll(_, let filter, _): filter.markBytes
        case .mute(let scope, _), .unmute(let scope): scope.variableBytes
        case .snooze(let item, _), .wake(let item), .retract(let item): item.variableBytes
        case .edit(let item, let edit): item.variableBytes + edit.variableBytes
        case .subscribe(let topic), .unsubscribe(let topic): topic.utf8.count
        case .act(let item, let action, let note, _):
            item.variableBytes + action.utf8.count + PayloadEncoder.byteCount(note)
        case .seeTray, .undo: 0
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
