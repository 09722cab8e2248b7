import Testing

@testable import TraylogAudit

/// Roots and proofs are those of RFC 9162, and nothing else verifies.
@Suite struct MerkleTreeTests {
    private static let leaves = (0..<70).map { MerkleHash.leaf(RawSpan(_elements: [UInt8($0), 7].span)) }

    @Test func rootsAreTheWellKnownOnes() throws {
        let nodes = ListedNodes(leaves: Vectors.leafHashes)
        #expect(try nodes.root(of: 0).hex == Vectors.emptyRoot)
        for (index, root) in Vectors.roots.enumerated() { #expect(try nodes.root(of: UInt64(index + 1)).hex == root) }
    }

    @Test func rootsMatchTheDefinition() throws {
        let nodes = ListedNodes(leaves: Self.leaves)
        var accumulator = MerkleAccumulator()
        for size in 0...Self.leaves.count {
            let root = NaiveTree.root(Self.leaves.prefix(size))
            #expect(try nodes.root(of: UInt64(size)) == root)
            #expect(accumulator.head == TreeHead(size: UInt64(size), root: root))
            if size < Self.leaves.count { accumulator.append(leafHash: Self.leaves[size]) }
        }
    }

    @Test func everyInclusionProofMatchesTheDefinitionAndVerifies() throws {
        let nodes = ListedNodes(leaves: Self.leaves)
        for size in 1...Self.leaves.count {
            let head = try nodes.head(of: UInt64(size))
            for index in 0..<size {
                let proof = try nodes.inclusionProof(ofLeaf: UInt64(index), in: UInt64(size))
                #expect(proof.path == NaiveTree.path(index, Self.leaves.prefix(size)))
                #expect(proof.proves(Self.leaves[index], in: head))
            }
        }
    }

    @Test func everyConsistencyProofMatchesTheDefinitionAndVerifies() throws {
        let nodes = ListedNodes(leaves: Self.leaves)
        for second in 0...Self.leaves.count {
            let new = try nodes.head(of: UInt64(second))
            for first in 0...second {
                let proof = try nodes.consistencyProof(from: UInt64(first), to: UInt64(second))
                #expect(proof.path == NaiveTree.consistency(first, Self.leaves.prefix(second)))
                #expect(proof.proves(from: try nodes.head(of: UInt64(first)), to: new))
            }
        }
    }

    @Test func anInclusionProofOfAnythingElseFails() throws {
        let nodes = ListedNodes(leaves: Self.leaves)
        for size in 1...20 {
            let head = try nodes.head(of: UInt64(size))
            for index in 0..<size {
                let proof = try nodes.inclusionProof(ofLeaf: UInt64(index), in: UInt64(size))
                for other in 0..<size where other != index {
                    #expect(!proof.proves(Self.leaves[other], in: head))
                    var moved = proof
                    moved.leafIndex = UInt64(other)
                    #expect(!moved.proves(Self.leaves[index], in: head))
                }
                for wrong in Self.spoiled(proof.path) {
                    var spoiled = proof
                    spoiled.path = wrong
                    #expect(!spoiled.proves(Self.leaves[index], in: head))
                }
                var smaller = proof
                smaller.treeSize -= 1
                #expect(!smaller.proves(Self.leaves[index], in: head))
            }
        }
    }

    @Test func aConsistencyProofOfAnythingElseFails() throws {
        let nodes = ListedNodes(leaves: Self.leaves)
        var changed = Self.leaves
        changed[3] = .ofEmptyTree
        let others = ListedNodes(leaves: changed)
        for second in 5...20 {
            for first in 4...second {
                let (old, new) = (try nodes.head(of: UInt64(first)), try nodes.head(of: UInt64(second)))
                let proof = try nodes.consistencyProof(from: UInt64(first), to: UInt64(second))
                let forged = try others.head(of: UInt64(second))
                #expect(!proof.proves(from: old, to: forged))
                #expect(
                    !(try others.consistencyProof(from: UInt64(first), to: UInt64(second))).proves(
                        from: old, to: forged))
                for wrong in Self.spoiled(proof.path) {
                    var spoiled = proof
                    spoiled.path = wrong
                    #expect(!spoiled.proves(from: old, to: new))
                }
            }
        }
    }

    /// The path with one hash changed, left out, or too many.
    private static func spoiled(_ path: [MerkleHash]) -> [[MerkleHash]] {
        var all = [path + [.ofEmptyTree], [.ofEmptyTree] + path]
        for index in path.indices {
            var (changed, shortened) = (path, path)
            changed[index] = .node(path[index], path[index])
            shortened.remove(at: index)
            all += [changed, shortened]
        }
        return all
    }

    @Test func sizesWithoutBoundDoNotTrap() {
        for size in [UInt64.max, UInt64(1) << 63, (UInt64(1) << 63) + 1] as [UInt64] {
            let path = [MerkleHash](repeating: .ofEmptyTree, count: 64)
            let head = TreeHead(size: size, root: .ofEmptyTree)
            for index in [0, 1, size - 1] as [UInt64] {
                let proof = InclusionProof(leafIndex: index, treeSize: size, path: path)
                #expect(!proof.proves(.ofEmptyTree, in: head))
            }
            let old = TreeHead(size: size - 1, root: .ofEmptyTree)
            #expect(!ConsistencyProof(first: size - 1, second: size, path: path).proves(from: old, to: head))
            #expect(!ConsistencyProof(first: size - 1, second: size, path: []).proves(from: old, to: head))
        }
    }
}
