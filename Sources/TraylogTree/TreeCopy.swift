import TraylogAudit
import TraylogLMDB
import TraylogLog

/// The Merkle tree on its way into a new file: the hashes of all events that the new log does not have, and the stored
/// levels.
///
/// It is shown the events of the log in their order. Between them it finds those that left the log earlier.
package struct TreeCopy {
    private let table: MerkleTable
    private let log: EventLog
    /// Leaves that the stored levels of the old file cover.
    private let covered: UInt64
    private var next: UInt64 = 1
    /// Hashes of events that left the log earlier, from `next` on.
    private var earlier: ArraySlice<(seq: UInt64, hash: MerkleHash)> = []
    private var row = RemovedLeaves()
    private var rows: [(key: [UInt8], value: [UInt8])] = []
    /// Leaves of a tile that is not complete.
    private var leaves: [MerkleHash] = []
    /// The hashes over each 256 leaves, from `covered` on.
    private var tiles: [MerkleHash] = []

    /// - Parameters:
    ///   - table: of both files.
    ///   - transaction: of the old file.
    package init(of table: MerkleTable, _ log: EventLog, in transaction: borrowing ReadTransaction) throws {
        self.table = table
        self.log = log
        covered = try table.size(in: transaction)
    }

    /// Takes an event that the new log has; its leaf is not computed where the stored levels cover it.
    package mutating func keep(_ seq: UInt64, _ record: RawSpan, in transaction: borrowing ReadTransaction) throws {
        try takeEarlier(before: seq, in: transaction)
        if seq > covered { addLeaf(try log.leaf(of: seq, record, in: transaction).hash) }
        next = seq + 1
    }

    /// Takes an event that leaves the log.
    package mutating func remove(_ seq: UInt64, _ record: RawSpan, in transaction: borrowing ReadTransaction) throws {
        try takeEarlier(before: seq, in: transaction)
        let hash = try log.leaf(of: seq, record, in: transaction).hash
        addRemoved(seq, hash)
        if seq > covered { addLeaf(hash) }
        next = seq + 1
    }

    /// Takes what left the log earlier through the last event.
    package mutating func finish(through end: UInt64, in transaction: borrowing ReadTransaction) throws {
        try takeEarlier(before: end + 1, in: transaction)
        closeRow()
    }

    private mutating func takeEarlier(before seq: UInt64, in transaction: borrowing ReadTransaction) throws {
        while next < seq {
            while let first = earlier.first, first.seq < next { earlier.removeFirst() }
            if earlier.isEmpty { earlier = try table.removedLeaves(from: next, in: transaction)[...] }
            guard let first = earlier.first, first.seq == next else {
                throw CodecError(.damaged, seq: next, "it is missing from the log, and its hash from the stored tree")
            }
            addRemoved(next, first.hash)
            if next > covered { addLeaf(first.hash) }
            next += 1
        }
    }

    private mutating func addRemoved(_ seq: UInt64, _ hash: MerkleHash) {
        if row.append(seq, hash) { return }
        closeRow()
        _ = row.append(seq, hash)
    }

    private mutating func closeRow() {
        guard let sealed = row.sealed() else { return }
        rows.append(sealed)
        row = RemovedLeaves()
    }

    private mutating func addLeaf(_ hash: MerkleHash) {
        leaves.append(hash)
        guard leaves.count == MerkleTable.tileWidth else { return }
        tiles.append(.reduced(leaves[...]))
        leaves.removeAll(keepingCapacity: true)
    }

    /// Writes the removed leaves that wait.
    package mutating func write(to transaction: inout WriteTransaction) throws {
        for row in rows {
            try transaction.append(table.database, RawSpan(_elements: row.key.span), RawSpan(_elements: row.value.span))
        }
        rows.removeAll()
    }

    /// Writes the stored levels: those of the old file as they are now, and what the copy added.
    package func writeLevels(from source: Environment, to target: Environment) throws {
        let added = try source.read { transaction in
            var all = try table.tiles(in: transaction)
            let last = Int(covered / MerkleTable.tileWidth)
            if last + tiles.count > all.count { all = all.prefix(last) + tiles }
            return try TreeExtension(from: 0, tiles: all)
        }
        try target.write { try table.write(added, to: &$0) }
    }
}
