/// Proves that a leaf is in a tree, by the hashes beside the path from the leaf to the root (RFC 9162, 2.1.3).
public struct InclusionProof: Hashable, Sendable, Codable {
    /// The event's seq minus 1.
    public var leafIndex: UInt64
    /// The number of leaves of the tree.
    public var treeSize: UInt64
    /// From the leaf to the root.
    public var path: [MerkleHash]

    /// A proof as RFC 9162, section 2.1.3 has it: `path` from the leaf's sibling to the root's child.
    public init(leafIndex: UInt64, treeSize: UInt64, path: [MerkleHash]) {
        self.leafIndex = leafIndex
        self.treeSize = treeSize
        self.path = path
    }

    /// Whether the leaf with this hash is at ``leafIndex`` in the tree with this head.
    public func proves(_ leafHash: MerkleHash, in head: TreeHead) -> Bool {
        treeSize == head.size && root(from: leafHash) == head.root
    }

    /// The root of the tree, if the leaf with this hash is in it; nil when the path has the wrong length for a tree of
    /// this size.
    public func root(from leafHash: MerkleHash) -> MerkleHash? {
        guard leafIndex < treeSize else { return nil }
        var (index, last) = (leafIndex, treeSize - 1)
        var hash = leafHash
        for sibling in path {
            guard last > 0 else { return nil }
            if index & 1 == 1 || index == last {
                hash = .node(sibling, hash)
                // The last node of a level has no sibling there: go up to where it has one.
                while index & 1 == 0, index > 0 { (index, last) = (index >> 1, last >> 1) }
            } else {
                hash = .node(hash, sibling)
            }
            (index, last) = (index >> 1, last >> 1)
        }
        return last == 0 ? hash : nil
    }
}

/// Proves that a tree begins with all leaves of an earlier one, in the same order (RFC 9162, 2.1.4).
public struct ConsistencyProof: Hashable, Sendable, Codable {
    /// The sizes of the two trees.
    public var first: UInt64
    /// The size of the later tree.
    public var second: UInt64
    /// The hashes that lead from one root to the other (RFC 9162).
    public var path: [MerkleHash]

    /// A proof as RFC 9162, section 2.1.4 has it: from the tree of `first` leaves to the tree of `second`.
    public init(first: UInt64, second: UInt64, path: [MerkleHash]) {
        self.first = first
        self.second = second
        self.path = path
    }

    /// Whether the tree with the head `new` extends the tree with the head `old`.
    ///
    /// Every tree extends the empty one.
    public func proves(from old: TreeHead, to new: TreeHead) -> Bool {
        guard old.size == first, new.size == second, first <= second else { return false }
        if first == second { return path.isEmpty && old.root == new.root }
        if first == 0 { return path.isEmpty && old.root == .ofEmptyTree }
        var rest = path[...]
        // A complete first tree is a node of the second; then the path begins above it.
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

/// Proves that an event is in a log, by the hash of its leaf, a tree head, and the path between them.
///
/// It can be verified without the log.
public struct EventProof: Hashable, Sendable {
    /// The leaf of the event; nil for an event that left the log, of which only ``leafHash`` is left.
    public var leaf: EventLeaf?
    /// The hash of the event's leaf.
    public var leafHash: MerkleHash
    /// The tree head that the proof leads to.
    public var head: TreeHead
    /// The path from the leaf to the root.
    public var inclusion: InclusionProof

    /// A proof with the event's header; the hash of the leaf follows from it.
    package init(leaf: EventLeaf, head: TreeHead, inclusion: InclusionProof) {
        self.leaf = leaf
        leafHash = leaf.hash
        self.head = head
        self.inclusion = inclusion
    }

    /// Makes the proof of an event that left the log.
    package init(leafHash: MerkleHash, head: TreeHead, inclusion: InclusionProof) {
        self.leafHash = leafHash
        self.head = head
        self.inclusion = inclusion
    }

    /// The event's number.
    ///
    /// Leaves are counted from 0, events from 1.
    public var seq: UInt64 { inclusion.leafIndex &+ 1 }

    /// Whether the leaf is in its place in the tree of ``head``.
    ///
    /// That means something only for a head that you trust: compare it with one that was kept elsewhere. Without
    /// ``leaf`` it shows that there was an event with ``leafHash``, and nothing about its content.
    public var isValid: Bool {
        if let leaf, leaf.hash != leafHash || leaf.index != inclusion.leafIndex { return false }
        return inclusion.proves(leafHash, in: head)
    }
}

/// Proves that a log was only appended to between two tree heads.
///
/// It can be verified without the log.
public struct TreeGrowth: Hashable, Sendable {
    /// The earlier tree head.
    public var first: TreeHead
    /// The later tree head.
    public var second: TreeHead
    /// The proof that the later tree begins with the earlier one.
    public var consistency: ConsistencyProof

    /// The growth between two heads; ``isValid`` says whether the proof shows it.
    package init(first: TreeHead, second: TreeHead, consistency: ConsistencyProof) {
        self.first = first
        self.second = second
        self.consistency = consistency
    }

    /// Whether all events of the first tree have the same places in the second.
    public var isValid: Bool { consistency.proves(from: first, to: second) }
}
