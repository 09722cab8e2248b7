import TraylogAudit
import TraylogLMDB
import TraylogLog
import TraylogPlatform

/// The tree in the file: what is stored of it, and the log, from which the rest follows.
package struct TreeStorage: Sendable {
    /// Leaves that one transaction makes the stored levels cover at most: a multiple of a row's and of a tile's.
    static let leavesPerTransaction: UInt64 = 62 * 256 * 16
    /// Leaves that one read transaction hashes at most, so that none lives long.
    private static let leavesPerRead: UInt64 = 8_192
    /// From so many on a second thread is worth its start.
    private static let leavesForTwo: UInt64 = 4_096

    /// The environment, or the one file of it that a check reads.
    package let rows: any RowReader
    package let table: MerkleTable
    package let log: EventLog

    package init(rows: any RowReader, table: MerkleTable, log: EventLog) {
        self.rows = rows
        self.table = table
        self.log = log
    }

    /// The caller's way of making a transaction that writes: directly, or as maintenance of the store's writer.
    package typealias Write = (@escaping @Sendable (inout WriteTransaction) throws -> Void) throws -> Void

    /// The number of leaves that the stored levels cover.
    package var size: UInt64 {
        get throws { try rows.read { try table.size(in: $0) } }
    }

    /// Extends the stored levels until they cover the events through `seq`, except for the last 255 at most.
    ///
    /// Leaves are hashed outside of the transactions, each of which writes some rows and frees a handful of pages. Killed in
    /// between, the levels cover less, and are sound. Others may extend them at the same time.
    ///
    /// - Parameters:
    ///   - seq: at most the head.
    ///   - write: makes each transaction durable, or throws.
    ///   - progress: called with the number of events that are covered, after each transaction.
    /// - Throws: ``CodecError`` for an event that is damaged or missing; what `write` throws.
    /// - Complexity: O(events that are not covered yet), about three hashes for each.
    package func bring(through seq: UInt64, write: Write, progress: (UInt64) -> Void = { _ in }) throws {
        let wanted = seq / MerkleTable.tileWidth * MerkleTable.tileWidth
        var size = try size
        while size < wanted {
            let step = TreeStorage.leavesPerTransaction
            let added = try `extension`(from: size, to: min(wanted, (size / step + 1) * step))
            let table = table
            try write { try table.write(added, to: &$0) }
            size = try self.size
            progress(size)
        }
    }

    /// The rows that the stored levels lack to cover the leaves through `end`; both are multiples of a tile's width.
    private func `extension`(from size: UInt64, to end: UInt64) throws -> TreeExtension {
        let tiles = try self.tiles(over: size..<end)
        return try rows.read { transaction in
            try TreeExtension(from: size, tiles: tiles) { level, range in
                try table.hashes(level: level, range, in: transaction)
            }
        }
    }

    /// The hash over each tile of a range of leaves; by two threads when there are many.
    ///
    /// - Parameter range: of indexes, of whole tiles.
    func tiles(over range: Range<UInt64>) throws -> [MerkleHash] {
        guard UInt64(range.count) >= TreeStorage.leavesForTwo else { return try tilesAlone(range) }
        let width = MerkleTable.tileWidth
        let middle = (range.lowerBound + UInt64(range.count) / 2) / width * width
        let second = Concurrent { try tilesAlone(middle..<range.upperBound) }
        let first = Result { try tilesAlone(range.lowerBound..<middle) }
        let rest = second.result
        return try first.get() + rest.get()
    }

    private func tilesAlone(_ range: Range<UInt64>) throws -> [MerkleHash] {
        var tiles: [MerkleHash] = []
        var next = range.lowerBound
        while next < range.upperBound {
            try Cancellation.checkCurrent()
            let end = min(range.upperBound, next + TreeStorage.leavesPerRead)
            let leaves = try rows.read { try self.leaves(next..<end, in: $0) }
            tiles += MerkleHash.tiles(leaves[...])
            next = end
        }
        return tiles
    }

    /// Hashes of leaves: of events that left the log from the table, the others from their records.
    ///
    /// - Parameter transaction: what a compaction takes from the log is in the table in the same snapshot.
    /// - Throws: ``CodecError`` `damaged` for an event that neither of them has.
    func leaves(_ range: Range<UInt64>, in transaction: borrowing ReadTransaction) throws -> [MerkleHash] {
        guard !range.isEmpty else { return [] }
        var removed: [(seq: UInt64, hash: MerkleHash)] = []
        try table.forEachRemovedLeaf((range.lowerBound + 1)...range.upperBound, in: transaction) {
            removed.append(($0, $1))
        }
        var hashes: [MerkleHash] = []
        hashes.reserveCapacity(range.count)
        var (next, index) = (range.lowerBound + 1, 0)
        func addRemoved(before seq: UInt64) throws {
            while next < seq {
                while index < removed.count, removed[index].seq < next { index += 1 }
                guard index < removed.count, removed[index].seq == next else {
                    throw CodecError(
                        .damaged, seq: next, "it is missing from the log, and its hash from the stored tree")
                }
                hashes.append(removed[index].hash)
                next += 1
            }
        }
        _ = try log.forEachRecord(from: next, floor: .max, in: transaction) { seq, record in
            guard seq <= range.upperBound else { return false }
            try addRemoved(before: seq)
            hashes.append(try log.leaf(of: seq, record, in: transaction).hash)
            next += 1
            return seq < range.upperBound
        }
        try addRemoved(before: range.upperBound + 1)
        return hashes
    }
}
