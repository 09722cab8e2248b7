import Traylog

/// A node's present role.
public enum NodeRole: String, Hashable, Sendable, Codable {
    /// It decides commands.
    case owner
    /// It has everything in the log, and waits for more.
    case follower
    /// It reads the events that it lacks; its answers show an earlier moment.
    case catchingUp
    /// Its store and the log do not agree: it stopped permanently (``NodeStatus/divergence``).
    case diverged
}

/// Where a node's store and the log of record do not agree.
public struct Divergence: Hashable, Sendable, Codable {
    /// The last event that may be another one: the difference is here or before.
    public var seq: Seq
    /// The newest event through which they were found equal since the node was started, 0 for none: the difference is after
    /// it.
    public var agreed: Seq
    /// The finding.
    public var reason: String
}

extension Divergence: CustomStringConvertible {
    /// The text for a person.
    public var description: String {
        "the store and the log of record differ in events \(agreed + 1) to \(seq): \(reason); begin this node's store "
            + "with a copy of another's"
    }
}

/// A node as it is at one moment.
public struct NodeStatus: Hashable, Sendable {
    /// Its role.
    public var role: NodeRole
    /// The last message that its store holds.
    public var position: LogPosition
    /// The last event that its store holds.
    public var head: Seq
    /// Events of the log that its store lacks, as far as it knows.
    public var lagEvents: UInt64
    /// How long ago it was known to hold everything; zero while it does.
    public var lag: Duration
    /// The owner, as far as the node knows.
    public var owner: Ownership?
    /// Why it stopped; nil while it goes on.
    public var divergence: Divergence?
    /// The last failure of something that is tried again; nil after a success.
    public var trouble: String?
}
