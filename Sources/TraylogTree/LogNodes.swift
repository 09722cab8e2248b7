import TraylogAudit
import TraylogLMDB

/// The nodes of the log's tree: from the table, from memory, or from the log.
package struct LogNodes: MerkleNodes {
    let storage: TreeStorage
    /// The size of the stored tree, or an earlier one.
    let stored: UInt64
    let tiles: TreeTail.Tiles

    package func node(level: Int, index: UInt64) throws -> MerkleHash {
        let above = level % MerkleTable.levelStep
        let base = level - above
        return .reduced(try hashes(level: base, (index << UInt64(above))..<((index + 1) << UInt64(above)))[...])
    }

    /// The hashes of a stored level, wherever they are.
    func hashes(level: Int, _ range: Range<UInt64>) throws -> [MerkleHash] {
        guard level > 0 else { return try storage.environment.read { try storage.leaves(range, in: $0) } }
        let end = min(max(stored >> UInt64(level), range.lowerBound), range.upperBound)
        var hashes: [MerkleHash] = []
        if range.lowerBound < end {
            hashes = try storage.environment.read { transaction in
                try storage.table.hashes(level: level, range.lowerBound..<end, in: transaction)
            }
        }
        for index in end..<range.upperBound {
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
