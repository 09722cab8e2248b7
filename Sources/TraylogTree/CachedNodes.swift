import TraylogAudit

/// Nodes of a tree for many proofs in a row: what one proof hashed, the next one finds.
package final class CachedNodes: MerkleNodes {
    /// Some 16 KB each.
    private static let tilesAtHand = 512

    private struct Place: Hashable {
        let level: Int
        let index: UInt64
    }

    private let nodes: LogNodes
    private let size: UInt64
    /// All levels within a whole tile, the lowest first.
    private var tiles: [Place: [[MerkleHash]]] = [:]
    /// Nodes at the right edge, where no tile is whole.
    private var others: [Place: MerkleHash] = [:]

    package init(_ nodes: LogNodes, size: UInt64) {
        self.nodes = nodes
        self.size = size
    }

    package func node(level: Int, index: UInt64) throws -> MerkleHash {
        let above = level % MerkleTable.levelStep
        let base = level - above
        let tile = index >> UInt64(MerkleTable.levelStep - above)
        guard (tile + 1) << UInt64(base + MerkleTable.levelStep) <= size else {
            let place = Place(level: level, index: index)
            if let known = others[place] { return known }
            let hash = try nodes.node(level: level, index: index)
            others[place] = hash
            return hash
        }
        let levels = try self.tile(base, tile)
        return levels[above][Int(index & ((MerkleTable.tileWidth >> UInt64(above)) - 1))]
    }

    private func tile(_ base: Int, _ index: UInt64) throws -> [[MerkleHash]] {
        let place = Place(level: base, index: index)
        if let known = tiles[place] { return known }
        if tiles.count >= CachedNodes.tilesAtHand { tiles.removeAll() }
        let width = MerkleTable.tileWidth
        var level = try nodes.hashes(level: base, (index * width)..<((index + 1) * width))
        var levels = [level]
        for _ in 1..<MerkleTable.levelStep {
            level = (0..<(level.count / 2)).map { .node(level[2 * $0], level[2 * $0 + 1]) }
            levels.append(level)
        }
        tiles[place] = levels
        return levels
    }
}
