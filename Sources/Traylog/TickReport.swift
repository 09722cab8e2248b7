import TraylogDomain

/// What a tick did.
public struct TickReport: Hashable, Sendable {
    /// Items that came back from a snooze.
    public var woken: UInt64 = 0
    /// Items, and broadcasts for everyone, whose `expiresAt` had come.
    public var expired: UInt64 = 0
    public var head: Seq = .zero

    public init(woken: UInt64 = 0, expired: UInt64 = 0, head: Seq = .zero) {
        self.woken = woken
        self.expired = expired
        self.head = head
    }
}
