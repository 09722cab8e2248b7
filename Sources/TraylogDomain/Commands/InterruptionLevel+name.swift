extension InterruptionLevel {
    /// The name that JSON and the command line use.
    public var name: String {
        switch self {
        case .passive: "passive"
        case .active: "active"
        case .timeSensitive: "timeSensitive"
        case .critical: "critical"
        }
    }

    public init?(name: String) {
        guard let level = InterruptionLevel.names.value(name) else { return nil }
        self = level
    }

    static let names = NameTable(allCases) { $0.name }
}
