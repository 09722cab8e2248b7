/// The right to decide: one node has it at a time, for some seconds.
public struct Ownership: Hashable, Sendable, Codable {
    /// Greater than the number of every ownership before.
    public var epoch: UInt64
    /// The name of the node.
    public var node: String
    /// Where the node takes requests: its `--advertise`.
    public var url: String

    /// An ownership; each new owner has a higher epoch.
    public init(epoch: UInt64, node: String, url: String) {
        self.epoch = epoch
        self.node = node
        self.url = url
    }
}

/// A lease that one node at a time holds, so that the nodes need not compete for every group.
///
/// Only speed depends on it. If two nodes both believe that they hold it, they publish at the same place, and the log accepts
/// one of them.
public protocol OwnershipLease: Sendable {
    /// How long an ownership lasts without ``renew(_:)``.
    var duration: Duration { get }

    /// Takes the lease if nobody has it.
    ///
    /// - Returns: nil when another node has it, or when nobody answered.
    func acquire(node: String, url: String) async -> Ownership?

    /// Lets the ownership last from now on as long as at first.
    ///
    /// - Returns: the ownership as it is now; nil when it was lost, or when nobody answered.
    func renew(_ ownership: Ownership) async -> Ownership?

    /// Gives up the lease, so that another node need not wait for its end.
    func release(_ ownership: Ownership) async

    /// The holder; nil when nobody has it, or when nobody answered.
    func current() async -> Ownership?
}
