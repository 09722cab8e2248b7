import TraylogAudit
import TraylogLMDB
import TraylogLog
import TraylogPages
import TraylogPlatform

/// The tree in the file: what is stored of it, and the log, from which the rest follows.
package struct TreeStorage: Sendable {
    /// Leaves that one transaction adds at most: a multiple of a row's and of a tile's, some 2 MB.
    static let leavesPerTransaction: UInt64 = 62 * 256 * 4
    /// Leaves that one read transaction hashes at most, so that none lives long.
    private static let leavesPerRead: UInt64 = 8_192
    /// From so many on a second thread is worth its start.
    private static let leavesForTwo: UInt64 = 4_096

    package let environment: Environment
    package let table: MerkleTable
    package let log: EventLog

    package init(environment: Environment, table: MerkleTable, log: EventLog) {
        self.environment = environment
        self.table = table
        self.log = log
    }

    /// The caller's way of making a transaction that writes: directly, or as a chore of the store's writer.
    package typealias Write = (@escaping @Sendable (inout WriteTransaction) throws -> Void) throws -> Void

    var size: UInt64 {
        get throws { try environment.read { try table.size(in: $0) } }
    }

    /// Extends the stored tree until it holds the leaves of all events through `seq`.
    ///
    /// Leaves are hashed outside of the transactions, each of which writes some 2 MB at most and frees a handful of
    /// pages. Killed in between, the tree is smaller and sound. Others may extend it at the same time.
    ///
    /// - Parameters:
    ///   - seq: at most the head.
    ///   - write: makes each transaction durable, or throws.
    ///   - progress: called with the size after each transaction.
    /// - Throws: ``CodecError`` for an event that is damaged or missing; what `write` throws.
    /// - Complexity: O(events that are not stored yet), about three hashes for each.
    package func bring(through seq: UInt64, write: Write, progress: (UInt64) -> Void = { _ in }) throws {
        var size = try size
        while size < seq {
            let step = TreeStorage.leavesPerTransaction
            let added = try `extension`(from: size, to: min(seq, (size / step + 1) * step))
            let table = table
            try write { try table.write(added, to: &$0) }
            size = try self.size
            progress(size)
        }
    }

    /// The rows that the tree lacks of the leaves through `end`.
    func `extension`(from size: UInt64, to end: UInt64) throws -> TreeExtension {
        // From the start of a tile, so that the tile can be hashed when it is whole.
        let start = size / MerkleTable.tileWidth * MerkleTable.tileWidth
        let (leaves, tiles) = try hashed(start..<end)
        return try environment.read { transaction in
            try TreeExtension(from: size, leaves: leaves.dropFirst(Int(size - start)), tiles: tiles) { level, range in
                try table.hashes(level: level, range, in: transaction)
            }
        }
    }

    /// Hashes of leaves, and of the whole tiles among them; by two threads when there are many.
    ///
    /// - Parameter range: of indexes, from the start of a tile on.
    func hashed(_ range: Range<UInt64>) throws -> (leaves: [MerkleHash], tiles: [MerkleHash]) {
        guard UInt64(range.count) >= TreeStorage.leavesForTwo else { return try hashedAlone(range) }
        let width = MerkleTable.tileWidth
        let middle = (range.lowerBound + UInt64(range.count) / 2) / width * width
        let second = Concurrent { try hashedAlone(middle..<range.upperBound) }
        let first = Result { try hashedAlone(range.lowerBound..<middle) }
        let rest = second.result
        let (leaves, tiles) = try first.get()
        let (moreLeaves, moreTiles) = try rest.get()
        return (leaves + moreLeaves, tiles + moreTiles)
    }

    private func hashedAlone(_ range: Range<UInt64>) throws -> (leaves: [MerkleHash], tiles: [MerkleHash]) {
        var hashes: [MerkleHash] = []
        hashes.reserveCapacity(range.count)
        var next = range.lowerBound
        while next < range.upperBound {
            try Cancellation.checkCurrent()
            let end = min(range.upperBound, next + TreeStorage.leavesPerRead)
            try environment.read { try appendLeaves(next..<end, to: &hashes, in: $0) }
            next = end
        }
        return (hashes, MerkleHash.tiles(hashes[...]))
    }

    /// Hashes of leaves: those that are stored from the table, the others from the log.
    func leaves(_ range: Range<UInt64>, in transaction: borrowing ReadTransaction) throws -> [MerkleHash] {
        var hashes: [MerkleHash] = []
        hashes.reserveCapacity(range.count)
        try appendLeaves(range, to: &hashes, in: transaction)
        return hashes
    }

    private func appendLeaves(
        _ range: Range<UInt64>, to hashes: inout [MerkleHash], in transaction: borrowing ReadTransaction
    ) throws {
        // In one snapshot: what compaction took from the log meanwhile is in the table.
        let stored = min(max(try table.size(in: transaction), range.lowerBound), range.upperBound)
        if range.lowerBound < stored {
            hashes += try table.hashes(level: 0, range.lowerBound..<stored, in: transaction)
        }
        if stored < range.upperBound {
            try log.appendLeafHashes(of: (stored + 1)...range.upperBound, to: &hashes, in: transaction)
        }
    }
}
