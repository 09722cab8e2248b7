/// The head of a tree that grows leaf by leaf, in memory for a few hashes.
///
/// This is how an auditor computes the root of an exported log.
public struct MerkleAccumulator: Sendable {
    public private(set) var size: UInt64 = 0
    /// The complete subtrees that the leaves make, the greatest first: one for each bit of ``size``.
    private var subtrees: [MerkleHash] = []

    public init() {}

    /// - Complexity: one hash for each leaf, on average.
    public mutating func append(leafHash: MerkleHash) { append(subtree: leafHash, level: 0) }

    /// Appends `1 << level` leaves at once, by the hash over them.
    ///
    /// - Parameter level: such that ``size`` is a multiple of `1 << level`.
    public mutating func append(subtree: MerkleHash, level: Int) {
        precondition(size & ((1 << UInt64(level)) - 1) == 0, "subtrees begin at multiples of their size")
        var hash = subtree
        var bits = size >> UInt64(level)
        while bits & 1 == 1 {
            hash = .node(subtrees.removeLast(), hash)
            bits >>= 1
        }
        subtrees.append(hash)
        size += 1 << UInt64(level)
    }

    /// - Complexity: O(log size) hashes.
    public var head: TreeHead {
        guard var root = subtrees.last else { return TreeHead(size: 0, root: .ofEmptyTree) }
        for subtree in subtrees.dropLast().reversed() { root = .node(subtree, root) }
        return TreeHead(size: size, root: root)
    }
}
