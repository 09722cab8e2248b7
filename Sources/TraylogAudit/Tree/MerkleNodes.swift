/// Where the hashes of a tree come from: a store, an array, another machine.
///
/// Only nodes over a whole power of two of leaves are asked for, so that none ever changes while the tree grows.
public protocol MerkleNodes {
    /// The hash over the leaves from `index << level` on, `1 << level` of them; at level 0 that of a leaf.
    func node(level: Int, index: UInt64) throws -> MerkleHash
}

extension MerkleNodes {
    /// The root of the tree over the first `size` leaves.
    ///
    /// - Complexity: O(log size) nodes.
    public func root(of size: UInt64) throws -> MerkleHash {
        try size == 0 ? .ofEmptyTree : hash(over: 0..<size)
    }

    public func head(of size: UInt64) throws -> TreeHead {
        TreeHead(size: size, root: try root(of: size))
    }

    /// The hash over leaves of which the first one's index is a multiple of a power of two that is not below their
    /// number: what is below a node of some tree.
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
    /// - Parameter first: at most `second`. Of 0, and of `second`, the path is empty.
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
            // Left out where it is the whole first tree, whose root the verifier has.
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
