import TraylogAudit
import TraylogDomain
import TraylogLMDB

extension Store {
    /// Stores the Merkle tree through the head, so that tree heads and proofs need not hash the log anew.
    ///
    /// Events are hashed on the calling thread and one more; the writer only writes what comes of it, some 33 bytes for
    /// each event, in transactions of its own between the groups. Nothing else waits for it.
    ///
    /// - Returns: the tree's head, of all events appended before the call.
    /// - Complexity: O(events since the last call).
    @discardableResult
    public func storeTree() throws(TraylogError) -> TreeHead {
        let head = try head()
        let writer = writer
        do {
            try queries.source.treeStorage.bring(through: head.rawValue) { try writer.write($0) }
        } catch {
            throw TraylogError(error, in: directory)
        }
        return try treeHead(asOf: .seq(head))
    }
}
