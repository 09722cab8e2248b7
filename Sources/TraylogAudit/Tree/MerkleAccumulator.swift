/// The head of a tree that grows leaf by leaf, in memory for a few hashes.
///
/// This is how an auditor computes the root of an exported log.
public struct MerkleAccumulator: Sendable {
    public private(set) var size: UInt64 = 0
    /// The complete subtrees that the leaves make, the greatest first: one for each bit of ``size``.
    private var subtrees: [MerkleHash] = []

    public init() {}

    /// - Complexity: one hash for each leaf, on average.
    public mutating func append(leafHash: MerkleHash) {
        var hash = leafHash
        var bits = size
        while bits & 1 == 1 {
            hash = .node(subtrees.removeLast(), hash)
            bits >>= 1
        }
        subtrees.append(hash)
        size += 1
    }

    /// - Complexity: O(log size) hashes.
    public var head: TreeHead {
        guard var root = subtrees.last else { return TreeHead(size: 0, root: .ofEmptyTree) }
        for subtree in subtrees.dropLast().reversed() { root = .node(subtree, root) }
        return TreeHead(size: size, root: root)
    }
}
