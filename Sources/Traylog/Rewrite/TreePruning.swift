import TraylogAudit
import TraylogDomain
import TraylogLMDB
import TraylogLog

/// Writes of the tree below the floor what a new file needs: see ``SparseTile``.
struct TreePruning {
    /// A tree below a floor of no more than so many leaves stays whole: that is four megabytes.
    static let wholeLeaves: UInt64 = 131_072
    /// Rows of hashes that one transaction writes, some two megabytes.
    private static let rowsAtOnce = 1_000

    let source: TreeStorage
    /// Where the log is already what it will be.
    let target: Environment
    /// Below it events are missing in the source.
    private let floor: UInt64
    /// How far the tree of the source is sparse itself.
    private let wasSparse: UInt64
    /// All tiles so far, without their hashes.
    private var tiles: [SparseTile] = []
    /// Of each row of tiles, which hash is its first one.
    private var firstHashes: [UInt64] = []
    /// Not written yet.
    private var hashes: [MerkleHash] = []
    private var writtenHashes: UInt64 = 0

    init(source: TreeStorage, target: Environment, floor: UInt64) throws {
        self.source = source
        self.target = target
        self.floor = floor
        wasSparse = try source.environment.read { try source.table.extent(in: $0).sparse }
    }

    /// Leaves that are in the copy as pieces only.
    var sparse: UInt64 { UInt64(tiles.count) * MerkleTable.tileWidth }

    /// Copies the whole tiles through `end`, if there are more than `wholeLeaves` leaves, or some are sparse already.
    mutating func run(through end: UInt64, wholeLeaves: UInt64) throws {
        guard end > wholeLeaves || wasSparse > 0 else { return }
        let width = MerkleTable.tileWidth
        while sparse + width <= end {
            let first = sparse
            let count = min(MerkleTable.rowTiles, (end - first) / width)
            firstHashes.append(writtenHashes + UInt64(hashes.count))
            for bits in try bits(from: first, tiles: Int(count)) {
                var tile = try filled(bits, at: sparse)
                hashes += tile.hashes
                tile.hashes = []
                tiles.append(tile)
            }
            try writeHashes(isLast: false)
        }
        try writeHashes(isLast: true)
        try writeBits()
    }

    /// An event is in the log again: writes its tile once more, with its leaf as one that is.
    mutating func put(back seq: UInt64, in transaction: inout WriteTransaction) throws {
        guard seq <= sparse else { return }
        let index = (seq - 1) / MerkleTable.tileWidth
        let start = index * MerkleTable.tileWidth
        tiles[Int(index)].live.insert(Int(seq - 1 - start))
        let tile = try filled(tiles[Int(index)], at: start)
        let key = MerkleTable.mendedKey(tile: index)
        let row = MerkleTable.mendedRow(tile, key: key)
        try transaction.put(source.table.database, key, RawSpan(_elements: row.span))
    }

    /// Which rows of the table are copied as they are.
    func keeps(_ key: UInt64) -> Bool {
        let firstWhole = sparse / MerkleTable.rowHashes
        let leaves = MerkleTable.key(level: 0, row: 0)
        if key >= leaves { return key - leaves >= firstWhole }
        return key >= MerkleTable.lowestLevelKey
    }

    // MARK: Tiles

    /// What the two logs say about the events of some tiles.
    private func bits(from first: UInt64, tiles count: Int) throws -> [SparseTile] {
        var tiles = Array(repeating: SparseTile(), count: count)
        let width = Int(MerkleTable.tileWidth)
        let end = first + UInt64(count * width)
        let log = source.log
        try target.read { transaction in
            _ = try log.forEachRecord(from: first + 1, floor: .max, in: transaction) { seq, _ in
                guard seq <= end else { return false }
                let leaf = Int(seq - 1 - first)
                tiles[leaf / width].live.insert(leaf % width)
                return seq < end
            }
        }
        var next = first + 1
        var time: Timestamp?
        func note(endBefore seq: UInt64) {
            guard seq > first + 1 else { return }
            let leaf = Int(seq - 2 - first)
            tiles[leaf / width].ends.insert(leaf % width)
        }
        try source.environment.read { transaction in
            let table = source.table
            let known = min(max(wasSparse, first), end)
            for start in stride(from: first, to: known, by: width) {
                let tile = try table.sparseTile(start / MerkleTable.tileWidth, in: transaction)
                tiles[Int(start - first) / width].ends = tile.ends
            }
            next = known + 1
            guard next <= end else { return }
            _ = try log.forEachRecord(from: next, floor: floor, in: transaction) { seq, record in
                guard seq <= end else { return false }
                // Where events are missing, nobody knows any more where a transaction ended.
                for missing in next..<seq { note(endBefore: missing) }
                let header = try RecordHeader.read(record, seq: seq)
                if header.isFirst || seq > next || time.map({ $0 != header.recordedAt }) ?? false {
                    note(endBefore: seq)
                }
                (next, time) = (seq + 1, header.recordedAt)
                return seq < end
            }
            for missing in next..<(end + 1) { note(endBefore: missing) }
        }
        return tiles
    }

    /// The tile with the hashes of its pieces.
    private func filled(_ bits: SparseTile, at first: UInt64) throws -> SparseTile {
        try source.environment.read { transaction in
            var tile = bits
            tile.hashes = []
            if first < wasSparse {
                let old = try source.table.sparseTile(first / MerkleTable.tileWidth, in: transaction)
                try tile.forEachPiece { piece in
                    guard !piece.isLive else { return }
                    let node = try old.node(level: piece.level, first: piece.first) { leaf in
                        try source.liveLeaf(first + UInt64(leaf), in: transaction)
                    }
                    guard let node else {
                        throw StoreFailure.damagedTree("event \(first + UInt64(piece.first) + 1) was not in the log")
                    }
                    tile.hashes.append(node)
                }
            } else {
                let leaves = try source.leaves(first..<(first + MerkleTable.tileWidth), in: transaction)
                tile.forEachPiece { piece in
                    if !piece.isLive { tile.hashes.append(.reduced(leaves[piece.first..<piece.end])) }
                }
            }
            return tile
        }
    }

    // MARK: Rows

    private mutating func writeHashes(isLast: Bool) throws {
        let width = Int(MerkleTable.rowHashes)
        guard isLast || hashes.count >= width * TreePruning.rowsAtOnce else { return }
        let count = isLast ? hashes.count : hashes.count / width * width
        let (first, written, table) = (writtenHashes / MerkleTable.rowHashes, hashes[..<count], source.table)
        try target.write { transaction in
            for (row, start) in stride(from: 0, to: count, by: width).enumerated() {
                let key = MerkleTable.hashesKey(row: first + UInt64(row))
                let value = MerkleTable.row(written[start..<min(start + width, count)], key: key)
                try transaction.append(table.database, key, RawSpan(_elements: value.span))
            }
        }
        writtenHashes += UInt64(count)
        hashes.removeFirst(count)
    }

    private func writeBits() throws {
        let rows = Int(MerkleTable.rowTiles)
        for start in stride(from: 0, to: firstHashes.count, by: TreePruning.rowsAtOnce) {
            try target.write { transaction in
                for row in start..<min(start + TreePruning.rowsAtOnce, firstHashes.count) {
                    let key = MerkleTable.bitsKey(row: UInt64(row))
                    let some = tiles[(row * rows)..<min((row + 1) * rows, tiles.count)]
                    let value = MerkleTable.bitsRow(some, firstHash: firstHashes[row], key: key)
                    try transaction.append(source.table.database, key, RawSpan(_elements: value.span))
                }
            }
        }
    }
}
