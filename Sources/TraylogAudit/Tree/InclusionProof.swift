/// That a leaf is in a tree: the hashes beside the way from the leaf to the root (RFC 9162, 2.1.3).
public struct InclusionProof: Hashable, Sendable {
    /// The event's seq less 1.
    public var leafIndex: UInt64
    public var treeSize: UInt64
    /// From the leaf to the root.
    public var path: [MerkleHash]

    public init(leafIndex: UInt64, treeSize: UInt64, path: [MerkleHash]) {
        self.leafIndex = leafIndex
        self.treeSize = treeSize
        self.path = path
    }

    /// Whether the leaf with this hash stands at ``leafIndex`` of the tree with this head.
    public func proves(_ leafHash: MerkleHash, in head: TreeHead) -> Bool {
        treeSize == head.size && root(from: leafHash) == head.root
    }

    /// The root of the tree, if the leaf with this hash is in it; nil when the path has not the length that it has in a
    /// tree of this size.
    public func root(from leafHash: MerkleHash) -> MerkleHash? {
        guard leafIndex < treeSize else { return nil }
        var (index, last) = (leafIndex, treeSize - 1)
        var hash = leafHash
        for sibling in path {
            guard last > 0 else { return nil }
            if index & 1 == 1 || index == last {
                hash = .node(sibling, hash)
                // The last one of its level has no sibling there: up to where it has one.
                while index & 1 == 0, index > 0 { (index, last) = (index >> 1, last >> 1) }
            } else {
                hash = .node(hash, sibling)
            }
            (index, last) = (index >> 1, last >> 1)
        }
        return last == 0 ? hash : nil
    }
}
