@_spi(Replication) import TraylogDomain
import TraylogJSON

/// The changes of one user's tray after an event: the user's own events, and those of topics that reached the user.
///
/// The events of topics are broadcasts that came while the user was subscribed, and edits, retractions and expiries of items
/// that the user received.
@_spi(Replication) public struct Changes: Hashable, Sendable, Codable {
    /// The user of the tray.
    public var user: String
    /// The number of the user's stream; 0 for somebody without events.
    ///
    /// An erased user's name, used anew, has another one.
    public var stream: UInt32
    /// Ascending.
    public var events: [Event]
    /// The event through which the answer is complete: where to go on, even if others wrote all that came after the last one.
    public var through: Seq
    /// The store's history: kept beside ``through``, it tells later whether the store was restored meanwhile.
    public var history: StoreHistory
    /// The newest event of the store.
    public var head: Seq

    /// Whether nothing is left to read.
    public var isComplete: Bool { through == head }
}
