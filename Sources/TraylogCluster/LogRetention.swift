/// Says which messages must stay in the log of record, and when an erasure is finished.
public struct LogRetention: Hashable, Sendable, Codable {
    /// The position that the store of each node holds on its disk, by the node's name.
    ///
    /// A node that is down counts with its last one, until an operator removes it permanently; it begins with a copy
    /// then.
    ///
    /// A power failure may take the last transaction of a node (``NodeStatus/position``), so give one from before that.
    public var nodes: [String: LogPosition]
    /// The position of the newest backup; nil without one, and then everything stays.
    public var backup: LogPosition?

    /// The positions of the nodes and of the last backup: no message after the lowest of them may be trimmed.
    public init(nodes: [String: LogPosition], backup: LogPosition?) {
        self.nodes = nodes
        self.backup = backup
    }

    /// The first message that must stay: every node and the backup hold all before it, and the one itself.
    ///
    /// The newest message always stays, so that every node has one to compare its store with.
    ///
    /// - Returns: never before the log's first one.
    public func firstKept(of bounds: LogBounds) -> LogPosition {
        guard let backup, let slowest = nodes.values.min() else { return bounds.first }
        return max(bounds.first, min(slowest, backup, bounds.last))
    }

    /// Whether an erasure is complete: every node has rewritten its store, and the log is trimmed past the messages
    /// before it, so that neither still has the erased content.
    ///
    /// Backups are out of reach.
    ///
    /// - Parameters:
    ///   - erasure: the position of the message that announced it.
    ///   - bounds: of the log.
    public func isFinished(_ erasure: LogPosition, _ bounds: LogBounds) -> Bool {
        bounds.first >= erasure && nodes.values.allSatisfy { $0 >= erasure }
    }
}
