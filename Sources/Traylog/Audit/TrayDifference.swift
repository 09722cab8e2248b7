import TraylogDomain

/// What changed in one user's tray between two moments, and which events did it.
public struct TrayDifference: Hashable, Sendable {
    public var user: String
    /// The trays at the two moments.
    public var before: Tray
    public var after: Tray
    /// Ascending by item.
    public var items: [ItemChange]
    /// Every event in between that touched the tray, also one whose effect was taken back since.
    public var steps: [AuditStep]
}
