import TraylogAudit
import TraylogDomain
import TraylogPages

// Rows of the tree below the floor: bits of tiles, sixteen to a row, and the hashes of all their pieces behind each other.

extension MerkleTable {
    /// Tiles in a full row of bits.
    static let rowTiles: UInt64 = 16
    private static let bitsBytes = 2 * LeafBits.byteCount
    private static let startBytes = 8

    /// First bytes of keys: those of rows of levels are far above.
    private enum Space: UInt64 {
        case hashes = 1
        case bits = 2
        case mended = 3
    }

    static func hashesKey(row: UInt64) -> UInt64 { key(.hashes, row) }
    static func bitsKey(row: UInt64) -> UInt64 { key(.bits, row) }
    /// Of a tile that takes the place of what the rows of bits and hashes say.
    static func mendedKey(tile: UInt64) -> UInt64 { key(.mended, tile) }

    private static func key(_ space: Space, _ number: UInt64) -> UInt64 { space.rawValue << 56 | number }

    static func bitsRow(_ tiles: ArraySlice<SparseTile>, firstHash: UInt64, key: UInt64) -> [UInt8] {
        var value: [UInt8] = []
        value.append(littleEndian: firstHash)
        for tile in tiles { tile.appendBits(to: &value) }
        seal(&value, key: key)
        return value
    }

    static func mendedRow(_ tile: SparseTile, key: UInt64) -> [UInt8] {
        var value: [UInt8] = []
        tile.appendBits(to: &value)
        for hash in tile.hashes { hash.append(to: &value) }
        seal(&value, key: key)
        return value
    }

    /// A tile below ``Extent/sparse``.
    ///
    /// - Throws: ``StoreFailure`` `damaged`, ``LMDBError``.
    func sparseTile(_ index: UInt64, in transaction: borrowing ReadTransaction) throws -> SparseTile {
        if let mended = try mendedTile(index, in: transaction) { return mended }
        let row = index / MerkleTable.rowTiles
        let key = MerkleTable.bitsKey(row: row)
        var (tile, first) = (SparseTile(), UInt64(0))
        let found: Void? = try transaction.get(database, key) { value in
            let bytes = try MerkleTable.open(value, key: key)
            let span = RawSpan(_elements: bytes.span)
            guard bytes.count >= MerkleTable.startBytes else { throw MerkleTable.missingTile(index) }
            first = span.littleEndian(at: 0, as: UInt64.self)
            for number in 0...Int(index % MerkleTable.rowTiles) {
                first += UInt64(tile.hashCount(after: number))
                let start = MerkleTable.startBytes + number * MerkleTable.bitsBytes
                guard start + MerkleTable.bitsBytes <= bytes.count else { throw MerkleTable.missingTile(index) }
                tile = SparseTile(bits: span.extracting(start..<(start + MerkleTable.bitsBytes)))
            }
        }
        guard found != nil, first < 1 << 56 else { throw MerkleTable.missingTile(index) }
        let range = first..<(first + UInt64(tile.hashCount))
        tile.hashes = try hashes(range, key: MerkleTable.hashesKey(row:), in: transaction) { _ in
            MerkleTable.missingTile(index)
        }
        return tile
    }

    private func mendedTile(_ index: UInt64, in transaction: borrowing ReadTransaction) throws -> SparseTile? {
        let key = MerkleTable.mendedKey(tile: index)
        return try transaction.get(database, key) { value in
            let bytes = try MerkleTable.open(value, key: key)
            let span = RawSpan(_elements: bytes.span)
            guard bytes.count >= MerkleTable.bitsBytes else { throw MerkleTable.missingTile(index) }
            var tile = SparseTile(bits: span.extracting(..<MerkleTable.bitsBytes))
            let size = MerkleHash.byteCount
            guard bytes.count == MerkleTable.bitsBytes + tile.hashCount * size else {
                throw MerkleTable.missingTile(index)
            }
            tile.hashes = stride(from: MerkleTable.bitsBytes, to: bytes.count, by: size).compactMap {
                MerkleHash(bytes: span.extracting($0..<($0 + size)))
            }
            return tile
        }
    }

    /// How many rows belong to no level: the size, and those of sparse tiles.
    func rowsBelowLevels(in transaction: borrowing ReadTransaction) throws -> Int {
        try transaction.withCursor(database) { cursor in
            var count = 0
            var found = try cursor.first()
            while found {
                let isBelow = cursor.withEntry { key, _ in
                    key.byteCount == 8
                        && key.littleEndian(at: 0, as: UInt64.self).byteSwapped < MerkleTable.lowestLevelKey
                }
                guard isBelow else { break }
                count += 1
                found = try cursor.next()
            }
            return count
        }
    }

    private static func missingTile(_ index: UInt64) -> StoreFailure {
        let first = index * tileWidth + 1
        return .damagedTree("what is left of the hashes of events \(first) to \(first + tileWidth - 1) is missing")
    }
}

extension SparseTile {
    fileprivate init(bits: RawSpan) {
        live = LeafBits(bits.extracting(..<LeafBits.byteCount))
        ends = LeafBits(bits.extracting(LeafBits.byteCount...))
    }

    fileprivate func appendBits(to value: inout [UInt8]) {
        live.append(to: &value)
        ends.append(to: &value)
    }

    /// Of the tile before the one with this number in its row; none before the first.
    fileprivate func hashCount(after number: Int) -> Int { number == 0 ? 0 : hashCount }
}
