import TraylogDomain

/// One event of a user's timeline, and what it did to the counts.
public struct AuditStep: Hashable, Sendable {
    /// The user's own event, or one of a topic that changed the user's tray.
    public var seq: Seq
    public var before: TrayCounts
    public var after: TrayCounts
    /// The tray right after the event; nil unless it was asked for.
    public var tray: Tray?
}
