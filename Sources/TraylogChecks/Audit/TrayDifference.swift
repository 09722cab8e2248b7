import TraylogDomain
import TraylogEvidence
import TraylogJSON
@_spi(Operations) import TraylogQueries

/// The changes of one user's tray between two moments, and the events that caused them.
public struct TrayDifference: Hashable, Sendable {
    /// The user of the tray.
    public var user: String
    /// The trays at the two moments.
    public var before: Tray
    /// The tray at the later moment.
    public var after: Tray
    /// The items that changed, ascending.
    public var items: [ItemChange]
    /// Every event in between that touched the tray, also if its effect was taken back since; those who only looked at it did not.
    @_spi(Operations) public var steps: [AuditStep]

    package init(user: String, before: Tray, after: Tray, items: [ItemChange], steps: [AuditStep]) {
        (self.user, self.before, self.after, self.items, self.steps) = (user, before, after, items, steps)
    }
}
