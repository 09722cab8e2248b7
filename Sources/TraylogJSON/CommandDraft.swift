@_spi(JSON) import TraylogDomain

extension Command {
    /// Reads a command from one JSON line, such as `{"kind":"seeTray","user":"ada"}`.
    ///
    /// Members may come in any order. `null` is a value, not the absence of one, and only `thread` of a `markAll`, the
    /// changes of an `edit`, and `data` may have it.
    ///
    /// - Parameter line: one object, at most 1 MiB, with or without a newline at the end.
    /// - Throws: ``TraylogError/refused(_:)``: `invalid` with the member at fault, or `line` when it is not a member's.
    /// - Complexity: O(n). It allocates only the command's strings.
    public init(json line: Span<UInt8>) throws(TraylogError) {
        do { try self.init(line: line) } catch { throw .refused(error) }
    }

    /// As ``init(json:)-(Span<UInt8>)``.
    package init(line: Span<UInt8>) throws(Refusal) {
        guard line.count <= Limits.commandLineBytes else {
            throw .invalid(field: "line", reason: "is longer than \(Limits.commandLineBytes) bytes")
        }
        var draft = CommandDraft()
        try draft.read(line)
        try self.init(draft)
        try validate(dataIsJSON: true)
    }

    /// Reads a command from the body of a request whose path has some of its fields, such as the user.
    ///
    /// ```swift
    /// let body = Array(#"{"title":"Build 17 failed"}"#.utf8)
    /// let command = try Command(body: body.span, kind: "notify", user: "ada")
    /// ```
    ///
    /// - Parameters:
    ///   - body: as a line of ``init(json:)-(Span<UInt8>)``, without the members given here; empty for an object without members.
    ///   - kind: the kind of command.
    ///   - user: the command's user; nil for a command about the whole store.
    ///   - item: the item of an `edit`, a `retract`, a `snooze`, a `wake` or an `act`.
    ///   - topic: the topic of a `broadcast`, a `subscribe`, an `unsubscribe`, a `mute` or an `unmute`.
    ///   - thread: the thread of a `mute` or an `unmute`.
    ///   - category: the category of one of these.
    ///   - all: whether it concerns everything.
    /// - Throws: ``TraylogError/refused(_:)``: `invalid` with the member at fault, or `body` when it is not a member's; places in
    ///   the reason count the bytes of `body`.
    public init(
        body: Span<UInt8>, kind: String, user: String?, item: ItemReference? = nil, topic: String? = nil,
        thread: String? = nil, category: String? = nil, all: Bool = false
    ) throws(TraylogError) {
        do {
            try self.init(readingBody: body, kind, user, item, topic, thread, category, all)
        } catch {
            throw .refused(error)
        }
    }

    private init(
        readingBody body: Span<UInt8>, _ kind: String, _ user: String?, _ item: ItemReference?, _ topic: String?,
        _ thread: String?, _ category: String?, _ all: Bool
    ) throws(Refusal) {
        guard body.count <= Limits.commandLineBytes else {
            throw .invalid(field: "body", reason: "is longer than \(Limits.commandLineBytes) bytes")
        }
        guard let kind = CommandKind.names.value(kind) else {
            throw .invalid(field: "kind", reason: "unknown kind \"\(Refusal.excerpt(kind))\"")
        }
        var draft = CommandDraft()
        (draft.kind, draft.user, draft.item, draft.topic) = (kind, user, item, topic)
        (draft.content.thread, draft.content.category, draft.all) = (thread, category, all ? true : nil)
        draft.present = CommandFields(.kind)
        for (field, isGiven) in [
            (CommandField.user, user != nil), (.item, item != nil), (.topic, topic != nil), (.thread, thread != nil),
            (.category, category != nil), (.all, all),
        ] where isGiven { draft.present.insert(CommandFields(field)) }
        do throws(Refusal) {
            let isEmpty = body.indices.allSatisfy { [0x20, 0x09, 0x0a, 0x0d].contains(body[$0]) }
            if !isEmpty { try draft.read(body) }
        } catch .invalid("line", let reason) {
            throw .invalid(field: "body", reason: reason)
        }
        try self.init(draft)
        try validate(dataIsJSON: true)
    }

    /// Reads the commands of a JSON array, such as a client sends in one request.
    ///
    /// ```swift
    /// let body = Array(#"[{"kind":"seeTray","user":"ada"},{"kind":"see"}]"#.utf8)
    /// for case .failure(let refusal) in try Command.array(json: body.span, atMost: 1_000) { print(refusal.message) }
    /// ```
    ///
    /// - Parameters:
    ///   - text: one array of objects, each at most 1 MiB.
    ///   - limit: the greatest number of elements.
    /// - Returns: in order, each element's command or the refusal of ``init(json:)-(Span<UInt8>)``.
    /// - Throws: ``TraylogError/refused(_:)``: `invalid` of `array` when the text is no JSON array, or has more elements.
    /// - Complexity: O(n); each element is scanned twice.
    public static func array(
        json text: Span<UInt8>, atMost limit: Int
    ) throws(TraylogError) -> [Result<Command, Refusal>] {
        let elements: [Range<Int>]?
        do { elements = try Command.elements(of: text) } catch {
            throw .refused(.invalid(field: "array", reason: error.description))
        }
        guard let elements else { throw .refused(.invalid(field: "array", reason: "is no JSON array")) }
        guard elements.count <= limit else {
            throw .refused(.invalid(field: "array", reason: "has more than \(limit) commands"))
        }
        return elements.map { element in
            Result { () throws(Refusal) in try Command(line: text.extracting(element)) }
        }
    }

    /// Where the elements of an array lie, all of which is checked; nil for any other value.
    private static func elements(of text: Span<UInt8>) throws(JSONFault) -> [Range<Int>]? {
        var elements: [Range<Int>] = []
        var scanner = JSONScanner()
        scanner.skipSpace(in: text)
        guard scanner.skip(UInt8(ascii: "["), in: text) else { return nil }
        scanner.skipSpace(in: text)
        if !scanner.skip(UInt8(ascii: "]"), in: text) {
            repeat {
                elements.append(try scanner.rawValue(in: text))
                scanner.skipSpace(in: text)
            } while scanner.skip(UInt8(ascii: ","), in: text)
            guard scanner.skip(UInt8(ascii: "]"), in: text) else { throw scanner.fault(.noSeparator, in: text) }
        }
        try scanner.end(in: text)
        return elements
    }

    private init(_ draft: consuming CommandDraft) throws(Refusal) {
        let kind = try draft.checkedKind()
        let action = try draft.action(kind)
        self.init(
            user: draft.user, action, key: draft.key, occurredAt: draft.occurredAt, actor: draft.actor,
            device: draft.device, expectedRevision: draft.expectedRevision)
    }
}

/// The members of a command's JSON object that were read so far.
///
/// The kind may come last.
struct CommandDraft {
    var present: CommandFields = []
    /// The members that are `null`.
    var nulls: CommandFields = []

    var kind: CommandKind?
    var user: String?
    var key: String?
    var occurredAt: Timestamp?
    var actor: String?
    var device: String?
    var expectedRevision: UInt64?
    var content = Content()
    var mark: Mark?
    var items: [ItemReference] = []
    var item: ItemReference?
    var until: Timestamp?
    var upTo: Seq?
    var topic: String?
    var event: Seq?
    var all: Bool?
    var action: String?
    var note: String?
    var asOf: Seq?
}

extension CommandDraft {
    /// Reads one JSON object with nothing after it; it must not have the members that are there already.
    ///
    /// - Throws: ``Refusal/invalid(field:reason:)`` with the member at fault, or `line`.
    mutating func read(_ line: Span<UInt8>) throws(Refusal) {
        let given = present
        var isFirst = true
        var scanner = JSONScanner()
        scanner.skipSpace(in: line)
        guard scanner.skip(UInt8(ascii: "{"), in: line) else {
            throw .invalid(field: "line", reason: "must be one JSON object")
        }
        while let name = try CommandDraft.nextName(&scanner, line, isFirst: isFirst) {
            isFirst = false
            try readMember(name, given, &scanner, line)
        }
        do {
            try scanner.end(in: line)
        } catch {
            throw .invalid(field: "line", reason: error.description)
        }
    }

    /// Skips to the next member's value and returns the member's name; nil after the end of the object.
    private static func nextName(
        _ scanner: inout JSONScanner, _ line: Span<UInt8>, isFirst: Bool
    ) throws(Refusal) -> JSONScanner.StringToken? {
        do throws(JSONFault) {
            scanner.skipSpace(in: line)
            if scanner.skip(UInt8(ascii: "}"), in: line) { return nil }
            if !isFirst {
                guard scanner.skip(UInt8(ascii: ","), in: line) else {
                    throw scanner.fault(.noSeparator, in: line)
                }
                scanner.skipSpace(in: line)
            }
            guard scanner.peek(in: line) == UInt8(ascii: "\"") else { throw scanner.fault(.noName, in: line) }
            let name = try scanner.stringToken(in: line)
            try scanner.colon(in: line)
            scanner.skipSpace(in: line)
            return name
        } catch {
            throw .invalid(field: "line", reason: error.description)
        }
    }

    private mutating func readMember(
        _ name: JSONScanner.StringToken, _ given: CommandFields, _ scanner: inout JSONScanner, _ line: Span<UInt8>
    ) throws(Refusal) {
        let field = try CommandDraft.field(name, line)
        guard !given.contains(field) else { throw .invalid(field: field.name, reason: "is given by the path") }
        guard !present.contains(field) else { throw .invalid(field: field.name, reason: "is given twice") }
        present.insert(CommandFields(field))
        if scanner.null(in: line) {
            nulls.insert(CommandFields(field))
            return
        }
        var reader = MemberReader(field: field, scanner: scanner)
        try read(field, &reader, line)
        scanner = reader.scanner
    }

    private static func field(
        _ name: JSONScanner.StringToken, _ line: Span<UInt8>
    ) throws(Refusal) -> CommandField {
        if !name.hasEscapes, let field = CommandField.names.value(name.range, in: line) { return field }
        let text: String
        do {
            text = try JSONScanner.text(of: name, in: line)
        } catch {
            throw .invalid(field: "line", reason: error.description)
        }
        guard let field = CommandField.names.value(text) else {
            throw .invalid(field: Refusal.excerpt(text), reason: "unknown field")
        }
        return field
    }

    private mutating func read(
        _ field: CommandField, _ reader: inout MemberReader, _ line: Span<UInt8>
    ) throws(Refusal) {
        switch field {
        case .kind: kind = try reader.keyword(CommandKind.names, in: line)
        case .user: user = try reader.string(in: line)
        case .key: key = try reader.string(in: line)
        case .occurredAt: occurredAt = try reader.time(in: line)
        case .actor: actor = try reader.string(in: line)
        case .device: device = try reader.string(in: line)
        case .expectedRevision: expectedRevision = try reader.integer(in: line)
        case .upTo: upTo = Seq(try reader.integer(in: line))
        case .as: mark = try reader.keyword(Mark.names, in: line)
        case .items: items = try reader.references(in: line)
        case .item: item = try reader.reference(in: line)
        case .until: until = try reader.time(in: line)
        case .topic: topic = try reader.string(in: line)
        case .event: event = Seq(try reader.integer(in: line))
        case .all: all = try reader.boolean(in: line)
        case .action: action = try reader.string(in: line)
        case .note: note = try reader.string(in: line)
        case .asOf: asOf = Seq(try reader.integer(in: line))
        default: try readContent(field, &reader, line)
        }
    }

    private mutating func readContent(
        _ field: CommandField, _ reader: inout MemberReader, _ line: Span<UInt8>
    ) throws(Refusal) {
        switch field {
        case .thread: content.thread = try reader.string(in: line)
        case .category: content.category = try reader.string(in: line)
        case .title: content.title = try reader.string(in: line)
        case .body: content.body = try reader.string(in: line)
        case .summaryArgument: content.summaryArgument = try reader.string(in: line)
        case .summaryCount: content.summaryCount = try reader.count(in: line)
        case .silent: content.isSilent = try reader.boolean(in: line)
        case .level: content.level = try reader.keyword(InterruptionLevel.names, in: line)
        case .expiresAt: content.expiresAt = try reader.time(in: line)
        case .collapseKey: content.collapseKey = try reader.string(in: line)
        case .remindAt: content.remindAt = try reader.time(in: line)
        case .notBefore: content.notBefore = try reader.time(in: line)
        case .actions: content.actions = try reader.actions(in: line)
        default: content.data = try reader.raw(in: line)
        }
    }
}
