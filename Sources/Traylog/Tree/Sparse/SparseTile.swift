import TraylogAudit

/// What is kept of the hashes under a node of level 8, once events below it have left the log.
///
/// The tile falls into *pieces*: whole subtrees, as large as they can be, in which no event is in the log any more, and
/// inside of which no transaction ended; and the leaves of events that are. Of a piece the hash over it is kept, of an
/// event nothing, because its record gives the leaf. So every tree head at the end of a transaction can be made, and
/// every proof of an event that is there.
struct SparseTile: Sendable {
    /// Whose events are in the log.
    var live = LeafBits()
    /// With which leaves a transaction ended.
    var ends = LeafBits()
    /// Of the pieces that are gone, in their order.
    var hashes: [MerkleHash] = []

    /// A subtree: `1 << level` leaves from `first` on.
    struct Piece: Hashable {
        let level: Int
        let first: Int
        let isLive: Bool

        var end: Int { first + 1 << level }
    }

    /// How many hashes belong to the tile.
    var hashCount: Int {
        var count = 0
        forEachPiece { if !$0.isLive { count += 1 } }
        return count
    }

    func forEachPiece(_ body: (Piece) throws -> Void) rethrows {
        try visit(MerkleTable.levelStep, 0, body)
    }

    private func visit(_ level: Int, _ first: Int, _ body: (Piece) throws -> Void) rethrows {
        let end = first + 1 << level
        let isLive = live.hasAny(in: first..<end)
        if level == 0 || (!isLive && !ends.hasAny(in: first..<(end - 1))) {
            return try body(Piece(level: level, first: first, isLive: isLive))
        }
        try visit(level - 1, first, body)
        try visit(level - 1, first + 1 << (level - 1), body)
    }

    /// Visits the pieces with their hashes.
    ///
    /// - Parameter leaf: the hash of a leaf whose event is in the log.
    func forEachHash(leaf: (Int) throws -> MerkleHash, _ body: (Piece, MerkleHash) throws -> Void) rethrows {
        var next = 0
        try forEachPiece { piece in
            if piece.isLive { return try body(piece, leaf(piece.first)) }
            try body(piece, hashes[next])
            next += 1
        }
    }

    /// The hash over `1 << level` leaves from `first` on; nil inside of a piece.
    func node(level: Int, first: Int, leaf: (Int) throws -> MerkleHash) rethrows -> MerkleHash? {
        let end = first + 1 << level
        var subtree = MerkleAccumulator()
        var next = 0
        try forEachPiece { piece in
            defer { if !piece.isLive { next += 1 } }
            guard piece.first >= first, piece.end <= end else { return }
            subtree.append(subtree: piece.isLive ? try leaf(piece.first) : hashes[next], level: piece.level)
        }
        return subtree.size == 1 << UInt64(level) ? subtree.head.root : nil
    }
}
