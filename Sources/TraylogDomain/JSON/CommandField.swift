/// The members of a command's JSON object. A name means the same, and has the same type, in every kind.
enum CommandField: UInt8, CaseIterable, Sendable {
    case kind, user, key, occurredAt, actor, device
    case thread, category, title, body, summaryArgument, summaryCount, silent, level
    case expiresAt, collapseKey, data
    case upTo, `as`, items, item, until, topic, event
}

extension CommandField {
    var name: String { "\(self)" }

    static let names = NameTable(allCases) { $0.name }
}

/// Some members of a command's JSON object.
struct CommandFields: OptionSet, Sendable {
    var rawValue: UInt32

    init(rawValue: UInt32) { self.rawValue = rawValue }

    init(_ field: CommandField) { rawValue = 1 &<< UInt32(field.rawValue) }

    init(_ fields: CommandField...) {
        self.init(rawValue: fields.reduce(0) { $0 | 1 << UInt32($1.rawValue) })
    }

    func contains(_ field: CommandField) -> Bool { contains(CommandFields(field)) }

    /// The first one, in the order of declaration.
    var first: CommandField? {
        rawValue == 0 ? nil : CommandField(rawValue: UInt8(rawValue.trailingZeroBitCount))
    }
}
