import TraylogAudit
import TraylogPages
import TraylogLog

extension TreeStorage {
    /// A node below level 8 of which only pieces may be kept; nil above ``MerkleTable/Extent/sparse``.
    ///
    /// - Throws: ``ForgottenNode`` inside of a piece; ``StoreFailure`` `damaged`.
    func sparseNode(level: Int, index: UInt64) throws -> MerkleHash? {
        try environment.read { transaction in
            guard try (index + 1) << UInt64(level) <= table.extent(in: transaction).sparse else { return nil }
            let first = index << UInt64(level)
            let start = first / MerkleTable.tileWidth * MerkleTable.tileWidth
            let tile = try table.sparseTile(start / MerkleTable.tileWidth, in: transaction)
            let node = try tile.node(level: level, first: Int(first - start)) { leaf in
                try liveLeaf(start + UInt64(leaf), in: transaction)
            }
            guard let node else { throw ForgottenNode() }
            return node
        }
    }

    /// The hash of a leaf whose event has to be in the log.
    func liveLeaf(_ index: UInt64, in transaction: borrowing ReadTransaction) throws -> MerkleHash {
        guard let leaf = try log.leaf(index + 1, in: transaction) else {
            throw CodecError(.damaged, seq: index + 1, "it is missing from the log")
        }
        return leaf.hash
    }
}
