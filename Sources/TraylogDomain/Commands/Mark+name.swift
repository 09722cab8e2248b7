extension Mark {
    /// The name that JSON and the command line use.
    public var name: String {
        switch self {
        case .seen: "seen"
        case .read: "read"
        case .unread: "unread"
        case .archived: "archived"
        case .unarchived: "unarchived"
        case .deleted: "deleted"
        case .restored: "restored"
        }
    }

    public init?(name: String) {
        guard let mark = Mark.names.value(name) else { return nil }
        self = mark
    }

    static let names = NameTable(allCases) { $0.name }
}
