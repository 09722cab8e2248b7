import TraylogDomain

@_spi(JSON) extension Command: JSONWritable {
    /// Writes a command as a line of `append` has it.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("kind", action.kind.name)
        writer.member("user", user)
        writer.member("key", key)
        writer.member("occurredAt", occurredAt)
        writer.member("actor", actor)
        writer.member("device", device)
        if let revision = expectedRevision { writer.member("expectedRevision", revision) }
        writer.members(action)
        writer.endObject()
    }
}

@_spi(JSON) extension Command: Decodable {
    /// Reads a command in the form of a line of `append`, by the same rules: members that its kind does not have, limits and
    /// all.
    ///
    /// The members of objects in `data` are sorted by name, because decoders do not tell their order. A decoder that rounds
    /// numbers has done so before: `JSONDecoder` keeps integers of 128 bits, and other numbers as `Double`.
    /// ``init(json:)-(String)`` keeps all of `data` as given.
    ///
    /// - Throws: `DecodingError.dataCorrupted`, whose `underlyingError` is the ``Refusal``.
    public init(from decoder: any Decoder) throws { try self.init(JSONTree(from: decoder), decoder) }

    init(_ tree: JSONTree, _ decoder: any Decoder) throws {
        do throws(Refusal) {
            let text: [UInt8]
            do {
                text = try tree.withExactData().text
            } catch {
                throw .invalid(field: JSONTree.dataText.stringValue, reason: error.description)
            }
            try self.init(line: text.span)
        } catch {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: decoder.codingPath, debugDescription: error.message, underlyingError: error))
        }
    }
}

extension Command {
    /// Reads a command from JSON text, such as `{"kind":"seeTray","user":"ada"}`: a line of `append`.
    ///
    /// - Throws: ``TraylogError/refused(_:)``: `invalid` with the member at fault, or `line` when it is not a member's.
    public init(json: String) throws(TraylogError) { try self.init(json: json.utf8Span.span) }
}

@_spi(JSON) extension JSONWriter {
    fileprivate mutating func members(_ action: Command.Action) {
        switch action {
        case .notify(let content): members(content)
        case .broadcast(let topic, let content):
            member("topic", topic)
            members(content)
        case .seeTray(let upTo): member("upTo", upTo)
        case .mark(let mark, let items):
            member("as", mark.rawValue)
            member("items", each: items) { $0.value($1) }
        case .markAll(let mark, let filter, let upTo): members(mark, filter, upTo: upTo)
        case .mute(let scope, let until):
            members(scope)
            member("until", until)
        case .unmute(let scope): members(scope)
        case .snooze(let item, let until):
            member(item)
            member("until", until)
        case .wake(let item), .retract(let item): member(item)
        case .edit(let item, let edit):
            member(item)
            members(edit)
        case .subscribe(let topic), .unsubscribe(let topic): member("topic", topic)
        case .undo(let event): member("event", event)
        case .act(let item, let action, let note, let asOf):
            member(item)
            member("action", action)
            member("note", note)
            member("asOf", asOf)
        }
    }

    mutating func member(_ item: ItemReference) {
        name("item")
        value(item)
    }

    private mutating func value(_ item: ItemReference) {
        switch item {
        case .seq(let seq): value(seq)
        case .key(let key): value(key)
        }
    }
}

extension Command.Action {
    fileprivate var kind: CommandKind {
        switch self {
        case .notify: .notify
        case .seeTray: .seeTray
        case .mark: .mark
        case .markAll: .markAll
        case .mute: .mute
        case .unmute: .unmute
        case .snooze: .snooze
        case .wake: .wake
        case .edit: .edit
        case .retract: .retract
        case .subscribe: .subscribe
        case .unsubscribe: .unsubscribe
        case .broadcast: .broadcast
        case .undo: .undo
        case .act: .act
        }
    }
}
