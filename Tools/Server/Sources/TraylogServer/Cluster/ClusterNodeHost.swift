import Traylog
import TraylogCluster

/// This server as one node of several.
package protocol ClusterNodeHost: AnyObject, Sendable {
    var settings: ClusterSettings { get }
    /// The name of the store in offsets, the same on every node.
    var identity: String { get }
    /// This node's copy of the log of record.
    var store: Store { get }

    func status() async -> NodeStatus
    /// The URL of the node that decides, unless it is this one or nobody is known to.
    func otherOwner(_ status: NodeStatus) -> String?
    /// Waits while a node takes over: until one is known to decide, or something hinders them, at most two seconds.
    func waitForOwner() async throws -> NodeStatus
    /// The URLs of the other nodes; none where nobody can tell.
    func otherNodes() async -> [String]
    /// The broker that leads first; none where nobody answers.
    func brokerLags() async -> [BrokerLag]
    /// Waits until the erasure that this node has just made is finished, and lets any node tell how it stands meanwhile.
    func finishErasure(_ id: String, _ outcome: JSONValue) async throws
    /// How an erasure of this log stands, whichever node has made it; nil for an id of none.
    ///
    /// - Throws: ``Problem`` 503 while no broker can tell.
    func erasure(_ id: String) async throws(Problem) -> Jobs.Job?
    /// Gives the lease up and closes the store.
    func stop() async
}

/// How far a broker has come that holds the stream.
package struct BrokerLag: Sendable {
    package var name: String
    package var lag: UInt64
    package var isCurrent: Bool

    package init(name: String, lag: UInt64 = 0, isCurrent: Bool = true) {
        (self.name, self.lag, self.isCurrent) = (name, lag, isCurrent)
    }
}

/// Makes a server one node of a cluster: what `--cluster` needs beside the settings.
package protocol ClusterBackend: Sendable {
    /// Checks that the log of record was made with the same number of partitions.
    func claim(_ settings: ClusterSettings, log: ServiceLog) async throws
    /// Gets a copy of the store where there is none, and begins to follow.
    ///
    /// - Parameter pass: opens the other nodes' doors.
    func start(
        _ settings: ClusterSettings, store directory: String, options: StoreOptions, pass: NodePass, log: ServiceLog
    ) async throws -> any ClusterNodeHost
    /// The device tokens of all partitions.
    func devices(_ settings: ClusterSettings, log: ServiceLog) async throws -> any Devices
    /// The key that signs the checkpoints of all nodes: the first node's.
    func checkpointKey(_ settings: ClusterSettings, proposing own: String, log: ServiceLog) async throws -> String
}

extension Duration {
    package var milliseconds: Int64 { components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000 }
}
