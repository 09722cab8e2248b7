import TraylogAudit
import TraylogPlatform

/// Hashes over whole tiles of events that the stored tree does not hold: in memory, because queries never write.
///
/// They stay right for ever, since no leaf ever changes: an eighth of a byte for each event.
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
                tiles.hashes += try storage.hashed(leaves).tiles
            }
            return LogNodes(storage: storage, stored: stored, tiles: tiles)
        }
    }
}
