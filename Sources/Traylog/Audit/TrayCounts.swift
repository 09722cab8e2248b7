import TraylogDomain

/// What a tray counts at one point.
public struct TrayCounts: Hashable, Sendable {
    public var unseen: UInt64 = 0
    public var unread: UInt64 = 0
    /// Listed items.
    public var total: UInt64 = 0

    init(_ state: borrowing TrayState) {
        unseen = state.unseen
        unread = state.unread
        total = state.total
    }
}
