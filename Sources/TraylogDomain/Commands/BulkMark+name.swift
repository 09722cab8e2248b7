extension BulkMark {
    /// The name that JSON and the command line use.
    public var name: String {
        switch self {
        case .seen: "seen"
        case .read: "read"
        case .archived: "archived"
        case .deleted: "deleted"
        }
    }

    public init?(name: String) {
        guard let mark = BulkMark.allCases.first(where: { $0.name == name }) else { return nil }
        self = mark
    }
}
