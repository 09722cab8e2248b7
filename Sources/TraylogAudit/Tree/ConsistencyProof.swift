/// That a tree begins with all leaves of an earlier one, in the same order (RFC 9162, 2.1.4).
public struct ConsistencyProof: Hashable, Sendable {
    /// The sizes of the two trees.
    public var first: UInt64
    public var second: UInt64
    public var path: [MerkleHash]

    public init(first: UInt64, second: UInt64, path: [MerkleHash]) {
        self.first = first
        self.second = second
        self.path = path
    }

    /// Whether the tree with the head `new` extends that with the head `old`.
    ///
    /// Every tree extends the empty one.
    public func proves(from old: TreeHead, to new: TreeHead) -> Bool {
        guard old.size == first, new.size == second, first <= second else { return false }
        if first == second { return path.isEmpty && old.root == new.root }
        if first == 0 { return path.isEmpty && old.root == .ofEmptyTree }
        var rest = path[...]
        // A complete first tree is a node of the second, and the path begins above it.
        let begin = first & (first - 1) == 0 ? old.root : rest.popFirst()
        guard let begin else { return false }
        var (index, last) = (first - 1, second - 1)
        while index & 1 == 1 { (index, last) = (index >> 1, last >> 1) }
        var (oldRoot, newRoot) = (begin, begin)
        for sibling in rest {
            guard last > 0 else { return false }
            if index & 1 == 1 || index == last {
                oldRoot = .node(sibling, oldRoot)
                newRoot = .node(sibling, newRoot)
                while index & 1 == 0, index > 0 { (index, last) = (index >> 1, last >> 1) }
            } else {
                newRoot = .node(newRoot, sibling)
            }
            (index, last) = (index >> 1, last >> 1)
        }
        return last == 0 && oldRoot == old.root && newRoot == new.root
    }
}
