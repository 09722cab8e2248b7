/// The number of leaves of a tree, and the hash over all of them.
///
/// Two logs with equal tree heads hold the same events in the same order. Keep it in a different place than the log, because
/// anybody who can rewrite the log can rewrite a tree head beside it.
///
/// As JSON: `{"treeSize","rootHash"}`.
public struct TreeHead: Hashable, Sendable, Codable {
    /// The number of leaves: the seq of the newest event.
    public var size: UInt64
    /// The hash over all leaves.
    public var root: MerkleHash

    private enum CodingKeys: String, CodingKey {
        case size = "treeSize"
        case root = "rootHash"
    }

    /// The head of a tree of `size` leaves; nothing is checked here, as only a proof can.
    public init(size: UInt64, root: MerkleHash) {
        self.size = size
        self.root = root
    }
}

/// The hashes of a tree, from a store, an array or another machine.
///
/// Only nodes over a power of two of leaves are requested. They never change while the tree grows.
public protocol MerkleNodes {
    /// The hash over `1 << level` leaves, from leaf `index << level` on. At level 0 it is the hash of a leaf.
    func node(level: Int, index: UInt64) throws -> MerkleHash
}

extension MerkleNodes {
    /// The root of the tree over the first `size` leaves.
    ///
    /// - Complexity: O(log size) nodes.
    public func root(of size: UInt64) throws -> MerkleHash {
        try size == 0 ? .ofEmptyTree : hash(over: 0..<size)
    }

    /// The tree head of the first `size` leaves.
    public func head(of size: UInt64) throws -> TreeHead {
        TreeHead(size: size, root: try root(of: size))
    }

    /// The tree over the first `size` leaves, which can be extended leaf by leaf.
    ///
    /// - Complexity: O(log size) nodes.
    public func accumulator(of size: UInt64) throws -> MerkleAccumulator {
        var accumulator = MerkleAccumulator()
        while accumulator.size < size {
            let level = 63 - (size - accumulator.size).leadingZeroBitCount
            let index = accumulator.size >> UInt64(level)
            accumulator.append(subtree: try node(level: level, index: index), level: level)
        }
        return accumulator
    }

    /// The hash over the leaves below a node of some tree: the first index is a multiple of a power of two that is at
    /// least their number.
    private func hash(over leaves: Range<UInt64>) throws -> MerkleHash {
        var end = leaves.upperBound
        var rest = end - leaves.lowerBound
        var hash: MerkleHash?
        // From the smallest complete subtree, on the right, to the greatest.
        while rest > 0 {
            let level = rest.trailingZeroBitCount
            end -= 1 << UInt64(level)
            let piece = try node(level: level, index: end >> UInt64(level))
            hash = hash.map { .node(piece, $0) } ?? piece
            rest &= rest - 1
        }
        return hash ?? .ofEmptyTree
    }

    /// The proof that the leaf with this index is in the tree over the first `size` leaves (RFC 9162, 2.1.3.1).
    ///
    /// - Parameter index: below `size`.
    /// - Complexity: O(log size) nodes.
    public func inclusionProof(ofLeaf index: UInt64, in size: UInt64) throws -> InclusionProof {
        precondition(index < size, "only what is in the tree can be proved")
        var (start, end) = (UInt64(0), size)
        var path: [MerkleHash] = []
        while end - start > 1 {
            let middle = start + (end - start).largestPowerOfTwoBelow
            if index < middle {
                path.append(try hash(over: middle..<end))
                end = middle
            } else {
                path.append(try hash(over: start..<middle))
                start = middle
            }
        }
        return InclusionProof(leafIndex: index, treeSize: size, path: path.reversed())
    }

    /// The proof that the tree over `second` leaves begins with that over `first` (RFC 9162, 2.1.4.1).
    ///
    /// - Parameter first: at most `second`. For 0 and for `second` the path is empty.
    /// - Complexity: O(log second) nodes.
    public func consistencyProof(from first: UInt64, to second: UInt64) throws -> ConsistencyProof {
        precondition(first <= second, "a tree does not shrink")
        var path: [MerkleHash] = []
        if first > 0, first < second {
            var (start, end) = (UInt64(0), second)
            while first != end {
                let middle = start + (end - start).largestPowerOfTwoBelow
                if first <= middle {
                    path.append(try hash(over: middle..<end))
                    end = middle
                } else {
                    path.append(try hash(over: start..<middle))
                    start = middle
                }
            }
            // Left out when it is the whole first tree, because the verifier has its root.
            if start > 0 { path.append(try hash(over: start..<end)) }
        }
        return ConsistencyProof(first: first, second: second, path: path.reversed())
    }
}

extension UInt64 {
    /// The greatest power of two that is less than a number above 1.
    fileprivate var largestPowerOfTwoBelow: UInt64 {
        1 << UInt64(63 - (self - 1).leadingZeroBitCount)
    }
}

/// Computes the head of a tree leaf by leaf, in memory for a few hashes.
///
/// An auditor uses it on an exported log.
public struct MerkleAccumulator: Sendable {
    /// The number of leaves.
    public private(set) var size: UInt64 = 0
    /// The roots of the complete subtrees, the greatest first: one for each bit of ``size``.
    private var subtrees: [MerkleHash] = []

    /// An empty tree.
    public init() {}

    /// - Complexity: one hash for each leaf, on average.
    public mutating func append(leafHash: MerkleHash) { append(subtree: leafHash, level: 0) }

    /// Appends `1 << level` leaves at once, given the hash over them.
    ///
    /// - Precondition: ``size`` is a multiple of `1 << level`.
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
