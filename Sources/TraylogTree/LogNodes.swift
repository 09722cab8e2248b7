import TraylogAudit
import TraylogLMDB
import TraylogPlatform

/// The nodes of the log's tree: from the table, from memory, or from the log.
package struct LogNodes: MerkleNodes {
    let storage: TreeStorage
    /// The leaves that the stored levels cover, or covered earlier.
    let stored: UInt64
    let tiles: TreeTail.Tiles

    package func node(level: Int, index: UInt64) throws -> MerkleHash {
        let above = level % MerkleTable.levelStep
        let base = level - above
        return .reduced(try hashes(level: base, (index << UInt64(above))..<((index + 1) << UInt64(above)))[...])
    }

    /// The hashes of a stored level, or of leaves, wherever they are.
    func hashes(level: Int, _ range: Range<UInt64>) throws -> [MerkleHash] {
        guard level > 0 else { return try storage.rows.read { try storage.leaves(range, in: $0) } }
        let end = min(max(stored >> UInt64(level), range.lowerBound), range.upperBound)
        var hashes: [MerkleHash] = []
        if range.lowerBound < end {
            hashes = try storage.rows.read { transaction in
                try storage.table.hashes(level: level, range.lowerBound..<end, in: transaction)
            }
        }
        for index in end..<range.upperBound {
            try Cancellation.checkCurrent()
            if level == MerkleTable.levelStep, index >= tiles.first, index < tiles.end {
                hashes.append(tiles.hashes[Int(index - tiles.first)])
            } else {
                let width = MerkleTable.tileWidth
                let below = try self.hashes(
                    level: level - MerkleTable.levelStep, (index * width)..<((index + 1) * width))
                hashes.append(.reduced(below[...]))
            }
        }
        return hashes
    }
}

/// Hashes over whole tiles of events that the stored levels do not cover: in memory, because queries never write.
///
/// They stay right, since no leaf ever changes: an eighth of a byte for each event.
package final class TreeTail: Sendable {
    struct Tiles {
        /// The index of the first tile in memory; the table has those before.
        var first: UInt64 = 0
        var hashes: [MerkleHash] = []

        var end: UInt64 { first + UInt64(hashes.count) }
    }

    private let tiles = Monitor(Tiles())

    package init() {}

    /// The nodes of the tree through `head`, after a look at the events that were appended since the last call.
    package func nodes(through head: UInt64, _ storage: TreeStorage) throws -> LogNodes {
        try tiles.withLock { tiles in
            let stored = try storage.size
            let storedTiles = stored / MerkleTable.tileWidth
            if storedTiles >= tiles.end { tiles = Tiles(first: storedTiles) }
            let step = TreeStorage.leavesPerTransaction / MerkleTable.tileWidth
            let end = head / MerkleTable.tileWidth
            while tiles.end < end {
                let next = min(end, tiles.end + step)
                let leaves = (tiles.end * MerkleTable.tileWidth)..<(next * MerkleTable.tileWidth)
                tiles.hashes += try storage.tiles(over: leaves)
            }
            return LogNodes(storage: storage, stored: stored, tiles: tiles)
        }
    }
}

/// Nodes of a tree for many proofs in a row: each proof finds the hashes of those before it.
package final class CachedNodes: MerkleNodes {
    /// Some 16 KB each.
    private static let tilesInMemory = 512

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
        if tiles.count >= CachedNodes.tilesInMemory { tiles.removeAll() }
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
