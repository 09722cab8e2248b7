import TraylogAudit

/// Rows that make the stored levels cover more leaves, ready to be written.
struct TreeExtension: Sendable {
    /// The leaves that the stored levels cover before and after.
    let from: UInt64
    let to: UInt64
    /// In the order of their keys within each level, the lowest level first.
    private(set) var rows: [(key: UInt64, value: [UInt8])] = []

    /// - Parameters:
    ///   - from: a multiple of 256.
    ///   - tiles: the hash over each 256 leaves from there on.
    ///   - stored: hashes that are stored already, by level and indexes.
    init(
        from: UInt64, tiles: [MerkleHash],
        stored: (_ level: Int, _ range: Range<UInt64>) throws -> [MerkleHash] = { _, _ in [] }
    ) throws {
        self.from = from
        to = from + UInt64(tiles.count) * MerkleTable.tileWidth
        var (level, first, new) = (MerkleTable.levelStep, from / MerkleTable.tileWidth, tiles)
        while !new.isEmpty {
            try add(level: level, from: first, new[...], stored)
            (first, new) = try TreeExtension.parents(level: level, from: first, new, stored)
            level += MerkleTable.levelStep
        }
    }

    /// Fills the last row, and makes new ones.
    private mutating func add(
        level: Int, from: UInt64, _ new: ArraySlice<MerkleHash>, _ stored: (Int, Range<UInt64>) throws -> [MerkleHash]
    ) throws {
        let width = MerkleTable.rowHashes
        var row = from / width
        var rest = new
        if from % width != 0 {
            let key = MerkleTable.key(level: level, row: row)
            let before = try stored(level, (row * width)..<from)
            let added = rest.prefix(Int(width) - before.count)
            rows.append((key, MerkleTable.row((before + added)[...], key: key)))
            rest = rest.dropFirst(added.count)
            row += 1
        }
        while !rest.isEmpty {
            let key = MerkleTable.key(level: level, row: row)
            rows.append((key, MerkleTable.row(rest.prefix(Int(width)), key: key)))
            rest = rest.dropFirst(Int(width))
            row += 1
        }
    }

    /// The hashes one stored level above, of those tiles that `new` completes.
    private static func parents(
        level: Int, from: UInt64, _ new: [MerkleHash], _ stored: (Int, Range<UInt64>) throws -> [MerkleHash]
    ) throws -> (first: UInt64, hashes: [MerkleHash]) {
        let width = MerkleTable.tileWidth
        let first = from / width
        let end = (from + UInt64(new.count)) / width
        guard end > first else { return (first, []) }
        let all = try stored(level, (first * width)..<from) + new
        return (first, MerkleHash.tiles(all[...]))
    }
}

extension MerkleHash {
    /// The hash over a whole power of two of hashes.
    static func reduced(_ hashes: ArraySlice<MerkleHash>) -> MerkleHash {
        var level = Array(hashes)
        var count = level.count
        precondition(count > 0 && count & (count - 1) == 0, "a subtree is whole")
        while count > 1 {
            count /= 2
            for index in 0..<count { level[index] = .node(level[2 * index], level[2 * index + 1]) }
        }
        return level[0]
    }

    /// The hash over each whole tile, from the first hash on.
    static func tiles(_ hashes: ArraySlice<MerkleHash>) -> [MerkleHash] {
        let width = Int(MerkleTable.tileWidth)
        return (0..<(hashes.count / width)).map { tile in
            reduced(hashes[(hashes.startIndex + tile * width)..<(hashes.startIndex + (tile + 1) * width)])
        }
    }
}
