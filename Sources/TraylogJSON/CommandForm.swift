import TraylogDomain

/// The kinds of command, by their names in JSON.
///
/// `erase` is known only to be refused with a better reason.
enum CommandKind: UInt8, Sendable, CaseIterable {
    case notify, seeTray, mark, markAll, mute, unmute, snooze, wake, edit, retract
    case subscribe, unsubscribe, broadcast, undo, act, erase

    var name: String { "\(self)" }

    static let names = WordTable(allCases) { $0.name }
}

/// The members of a command's JSON object.
///
/// A name has the same meaning and type in every kind.
enum CommandField: UInt8, CaseIterable, Sendable {
    case kind, user, key, occurredAt, actor, device, expectedRevision
    case thread, category, title, body, summaryArgument, summaryCount, silent, level
    case expiresAt, collapseKey, data, remindAt, actions
    case upTo, `as`, items, item, until, topic, event, all, action, note, asOf, notBefore

    var name: String { "\(self)" }

    static let names = WordTable(allCases) { $0.name }
}

/// A set of members of a command's JSON object.
struct CommandFields: OptionSet, Sendable {
    var rawValue: UInt64

    init(rawValue: UInt64) { self.rawValue = rawValue }

    init(_ field: CommandField) { rawValue = 1 &<< UInt64(field.rawValue) }

    init(_ fields: CommandField...) {
        self.init(rawValue: fields.reduce(0) { $0 | 1 << UInt64($1.rawValue) })
    }

    func contains(_ field: CommandField) -> Bool { contains(CommandFields(field)) }

    /// The first one, in the order of declaration.
    var first: CommandField? {
        rawValue == 0 ? nil : CommandField(rawValue: UInt8(rawValue.trailingZeroBitCount))
    }
}

/// The members that a kind of command has, beside those of every kind.
struct CommandForm: Sendable {
    var required: CommandFields = []
    /// ``required`` included.
    var allowed: CommandFields
    /// Those that may be `null`.
    var nullable: CommandFields = []

    private init(required: CommandFields = [], optional: CommandFields = [], nullable: CommandFields = []) {
        self.required = required
        allowed = [CommandForm.common, required, optional]
        self.nullable = nullable
    }

    static func of(_ kind: CommandKind) -> CommandForm { forms[Int(kind.rawValue)] }

    private static let forms = CommandKind.allCases.map(make)

    private static let common = CommandFields(
        .kind, .user, .key, .occurredAt, .actor, .device, .expectedRevision)
    private static let content = CommandFields(
        .thread, .category, .title, .body, .summaryArgument, .summaryCount, .silent, .level, .expiresAt,
        .collapseKey, .data, .remindAt, .actions, .notBefore)
    private static let editable = CommandFields(
        .title, .body, .summaryArgument, .summaryCount, .level, .expiresAt, .data, .remindAt, .notBefore)

    // A broadcast with `user` or `collapseKey` is refused by `Command.validate()`, with a better reason.
    private static func make(_ kind: CommandKind) -> CommandForm {
        switch kind {
        case .notify: CommandForm(optional: content, nullable: CommandFields(.data))
        case .broadcast:
            CommandForm(required: CommandFields(.topic), optional: content, nullable: CommandFields(.data))
        case .seeTray: CommandForm(optional: CommandFields(.upTo))
        case .mark: CommandForm(required: CommandFields(.as, .items))
        case .markAll:
            CommandForm(
                required: CommandFields(.as), optional: CommandFields(.thread, .category, .upTo),
                nullable: CommandFields(.thread))
        case .mute: CommandForm(optional: CommandFields(.thread, .category, .topic, .all, .until))
        case .unmute: CommandForm(optional: CommandFields(.thread, .category, .topic, .all))
        case .snooze: CommandForm(required: CommandFields(.item, .until))
        case .wake, .retract: CommandForm(required: CommandFields(.item))
        case .edit:
            CommandForm(required: CommandFields(.item), optional: editable, nullable: editable)
        case .subscribe, .unsubscribe: CommandForm(required: CommandFields(.topic))
        case .undo: CommandForm(required: CommandFields(.event))
        case .act: CommandForm(required: CommandFields(.item, .action), optional: CommandFields(.note, .asOf))
        case .erase: CommandForm()
        }
    }
}
