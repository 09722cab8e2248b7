@testable import TraylogAudit

/// The definitions of RFC 9162, section 2.1, word by word: recursive over lists of leaf hashes.
enum NaiveTree {
    static func root(_ leaves: ArraySlice<MerkleHash>) -> MerkleHash {
        switch leaves.count {
        case 0: return .ofEmptyTree
        case 1: return leaves[leaves.startIndex]
        default:
            let (left, right) = halves(leaves)
            return .node(root(left), root(right))
        }
    }

    static func path(_ index: Int, _ leaves: ArraySlice<MerkleHash>) -> [MerkleHash] {
        guard leaves.count > 1 else { return [] }
        let (left, right) = halves(leaves)
        return index < left.count
            ? path(index, left) + [root(right)] : path(index - left.count, right) + [root(left)]
    }

    static func consistency(_ first: Int, _ leaves: ArraySlice<MerkleHash>) -> [MerkleHash] {
        first == 0 || first == leaves.count ? [] : subproof(first, leaves, true)
    }

    private static func subproof(_ first: Int, _ leaves: ArraySlice<MerkleHash>, _ isWhole: Bool) -> [MerkleHash] {
        guard first < leaves.count else { return isWhole ? [] : [root(leaves)] }
        let (left, right) = halves(leaves)
        return first <= left.count
            ? subproof(first, left, isWhole) + [root(right)]
            : subproof(first - left.count, right, false) + [root(left)]
    }

    private static func halves(_ leaves: ArraySlice<MerkleHash>) -> (ArraySlice<MerkleHash>, ArraySlice<MerkleHash>) {
        var width = 1
        while 2 * width < leaves.count { width *= 2 }
        return (leaves.prefix(width), leaves.dropFirst(width))
    }
}

/// The nodes of a tree whose leaves are at hand.
struct ListedNodes: MerkleNodes {
    let leaves: [MerkleHash]

    func node(level: Int, index: UInt64) -> MerkleHash {
        let width = 1 << level
        return NaiveTree.root(leaves[(Int(index) * width)..<((Int(index) + 1) * width)])
    }
}
