import TraylogAudit
import TraylogLMDB

extension TreeCheck {
    /// Holds tiles of which pieces are stored against the log and the nodes over them.
    ///
    /// - Parameter range: of whole tiles.
    /// - Returns: false when nothing at all is there of them.
    mutating func checkSparse(_ range: Range<UInt64>) throws -> Bool {
        let leaves = try storage.leavesOfLog(range)
        let width = MerkleTable.tileWidth
        let table = storage.table
        var isAnything = leaves.hashes.contains { $0 != nil } || !leaves.problems.isEmpty
        for start in stride(from: range.lowerBound, to: range.upperBound, by: Int(width)) {
            let (tile, node) = try storage.environment.read { transaction in
                (
                    readable { try table.sparseTile(start / width, in: transaction) },
                    try table.readableHashes(
                        level: MerkleTable.levelStep, (start / width)..<(start / width + 1), in: transaction)[0]
                )
            }
            let offset = Int(start - range.lowerBound)
            if tile != nil || node != nil { isAnything = true }
            check(tile, from: start, leaves.hashes[offset..<(offset + Int(width))], leaves.problems, node)
        }
        return isAnything
    }

    private func readable(_ read: () throws -> SparseTile) -> SparseTile? { try? read() }

    private mutating func check(
        _ tile: SparseTile?, from start: UInt64, _ log: ArraySlice<MerkleHash?>, _ problems: [UInt64: String],
        _ node: MerkleHash?
    ) {
        guard let tile else {
            add(start + 1, "the pieces of the stored tree from event \(start + 1) on are missing or damaged")
            return takeNode(node ?? .ofEmptyTree)
        }
        for (leaf, hash) in log.enumerated() {
            let seq = start + UInt64(leaf) + 1
            if hash == nil, tile.live.contains(leaf) {
                add(seq, "event \(seq) cannot be in the tree: \(problems[seq] ?? "it is missing from the log")")
            } else if hash != nil, !tile.live.contains(leaf) {
                add(seq, "event \(seq) left the log by the stored tree, and is there")
            }
        }
        var pieces: [(SparseTile.Piece, MerkleHash)] = []
        tile.forEachHash(leaf: { log[log.startIndex + $0] ?? .ofEmptyTree }) { pieces.append(($0, $1)) }
        var whole = MerkleAccumulator()
        for (piece, hash) in pieces { whole.append(subtree: hash, level: piece.level) }
        let isSame = whole.head.root == node
        if !isSame {
            let first = pieces.first { $0.0.isLive }.map { start + UInt64($0.0.first) + 1 } ?? start + 1
            add(
                first,
                "the events from \(first) to \(start + MerkleTable.tileWidth) that are in the log, and the pieces of the "
                    + "stored tree beside them, do not give the node over them: one of them was changed")
            if fromStored == nil { fromStored = fromLog }
        }
        append(pieces, from: start, whole: whole.head.root)
        fromStored?.append(subtree: node ?? .ofEmptyTree, level: MerkleTable.levelStep)
        note()
        tiles.append(isSame ? node : nil)
    }

    /// Where nothing is known of what is below.
    private mutating func takeNode(_ node: MerkleHash) {
        if fromStored == nil { fromStored = fromLog }
        fromLog.append(subtree: .ofEmptyTree, level: MerkleTable.levelStep)
        fromStored?.append(subtree: node, level: MerkleTable.levelStep)
        note()
        tiles.append(nil)
    }

    /// Piece by piece, where the root of a kept tree head may be one between.
    private mutating func append(
        _ pieces: [(SparseTile.Piece, MerkleHash)], from start: UInt64, whole: MerkleHash
    ) {
        let end = start + MerkleTable.tileWidth
        let sizes = Set(kept.map(\.size).filter { $0 > start && $0 < end })
        guard !sizes.isEmpty else {
            return fromLog.append(subtree: whole, level: MerkleTable.levelStep)
        }
        for (piece, hash) in pieces {
            for size in sizes where size > start + UInt64(piece.first) && size < start + UInt64(piece.end) {
                forgotten.insert(size)
            }
            fromLog.append(subtree: hash, level: piece.level)
            if sizes.contains(fromLog.size) { logRoots[fromLog.size] = fromLog.head.root }
        }
    }
}
