/// Which members a kind of command has, beside those of every kind.
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

    private static let common = CommandFields(.kind, .user, .key, .occurredAt, .actor, .device)
    private static let content = CommandFields(
        .thread, .category, .title, .body, .summaryArgument, .summaryCount, .silent, .level, .expiresAt,
        .collapseKey, .data)
    private static let editable = CommandFields(
        .title, .body, .summaryArgument, .summaryCount, .level, .expiresAt, .data)

    // What a broadcast may not have (user, collapseKey) is refused by `Command.validate()`, with a better reason.
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
        case .mute, .unmute: CommandForm(optional: CommandFields(.thread, .category))
        case .snooze: CommandForm(required: CommandFields(.item, .until))
        case .wake, .retract: CommandForm(required: CommandFields(.item))
        case .edit:
            CommandForm(required: CommandFields(.item), optional: editable, nullable: editable)
        case .subscribe, .unsubscribe: CommandForm(required: CommandFields(.topic))
        case .undo: CommandForm(required: CommandFields(.event))
        case .erase: CommandForm()
        }
    }
}
