import TraylogDomain

/// The effect of a tick.
public struct TickReport: Hashable, Sendable {
    /// Items that came back from a snooze.
    public var woken: UInt64 = 0
    /// Items, and broadcasts for everyone, that expired.
    public var expired: UInt64 = 0
    public var head: Seq = .zero

    public init(woken: UInt64 = 0, expired: UInt64 = 0, head: Seq = .zero) {
        self.woken = woken
        self.expired = expired
        self.head = head
    }
}
