import TraylogAudit
import TraylogDomain
import TraylogLMDB
import TraylogStates

/// The hashes of some events that left the log, as one row of ``MerkleTable`` holds them.
///
/// The key of the row is the first event. The value has the number of hashes, for each but the first the distance from the
/// event before, less 1, and then the hashes. A full row takes half a page of LMDB: 61 hashes where events lie close
/// together, 33.6 bytes for each.
struct RemovedLeaves {
    /// The bytes of a value of which two fit into a page of LMDB, less the checksum.
    private static let contentBytes = 2_022 - Checked.checksumBytes
    private static let hashesAtMost = (contentBytes - 1 + 1) / (MerkleHash.byteCount + 1)

    /// Ascending.
    private(set) var leaves: [(seq: UInt64, hash: MerkleHash)] = []
    /// What stands for the distances.
    private var distances: [UInt8] = []

    init() {}

    /// Adds the hash of a later event.
    ///
    /// - Returns: false where the row has no room for it.
    mutating func append(_ seq: UInt64, _ hash: MerkleHash) -> Bool {
        guard let last = leaves.last?.seq else {
            leaves.append((seq, hash))
            return true
        }
        precondition(seq > last, "hashes of removed events come in the order of the log")
        let length = distances.count
        distances.appendVarint(seq - last - 1)
        guard leaves.count < Self.hashesAtMost,
            1 + distances.count + (leaves.count + 1) * MerkleHash.byteCount <= Self.contentBytes
        else {
            distances.removeLast(distances.count - length)
            return false
        }
        leaves.append((seq, hash))
        return true
    }

    /// The row without some of its events.
    func removing(_ seqs: Set<UInt64>) -> RemovedLeaves {
        var rest = RemovedLeaves()
        // A distance that spans a removed event takes no more bytes than the two that it replaces and a hash.
        for (seq, hash) in leaves where !seqs.contains(seq) { _ = rest.append(seq, hash) }
        return rest
    }

    /// The row's key and value; nil without a hash.
    func sealed() -> (key: [UInt8], value: [UInt8])? {
        guard let first = leaves.first?.seq else { return nil }
        var value = [UInt8(leaves.count)]
        value.reserveCapacity(Self.contentBytes + Checked.checksumBytes)
        value += distances
        for leaf in leaves { leaf.hash.append(to: &value) }
        MerkleTable.seal(&value, key: first)
        return (stride(from: UInt64(56), through: 0, by: -8).map { UInt8(truncatingIfNeeded: first >> $0) }, value)
    }

    /// - Throws: ``StoreFailure`` `damaged`.
    init(_ value: RawSpan, key: UInt64) throws {
        do {
            try self.init(try MerkleTable.open(value, key: key), first: key)
        } catch {
            throw StoreFailure.damagedLeaves("the hashes of removed events from \(key) on: \(error.reason)")
        }
    }

    private init(_ bytes: [UInt8], first: UInt64) throws(PackedError) {
        var reader = PackedReader(bytes)
        let count = Int(try reader.byte())
        let hashBytes = count * MerkleHash.byteCount
        guard count > 0, reader.remaining >= hashBytes else { throw .damaged("ends early") }
        let start = bytes.count - hashBytes
        let span = RawSpan(_elements: bytes.span)
        var seq = first
        for index in 0..<count {
            if index > 0 {
                let distance = try reader.varint()
                guard distance < MerkleTable.firstLevelKey - 1, seq < MerkleTable.firstLevelKey - 1 - distance else {
                    throw .damaged("number too large")
                }
                seq += distance + 1
                distances.appendVarint(distance)
            }
            let place = start + index * MerkleHash.byteCount
            guard let hash = MerkleHash(bytes: span.extracting(place..<(place + MerkleHash.byteCount))) else {
                throw .damaged("ends early")
            }
            leaves.append((seq, hash))
        }
        guard reader.remaining == hashBytes else { throw .damaged("its length") }
    }
}

extension MerkleTable {
    /// Visits the hashes of events that left the log, in order.
    ///
    /// - Parameters:
    ///   - seqs: the events to visit.
    ///   - damaged: called for each row that cannot be read; throws by default.
    /// - Throws: ``StoreFailure`` `damaged`, ``LMDBError``.
    /// - Complexity: O(log n), and 61 hashes at most are read in vain.
    func forEachRemovedLeaf(
        _ seqs: ClosedRange<UInt64>, in transaction: borrowing ReadTransaction,
        damaged: (_ first: UInt64, _ failure: StoreFailure) throws -> Void = { throw $1 },
        _ body: (UInt64, MerkleHash) throws -> Void
    ) throws {
        try transaction.withCursor(database) { cursor in
            var found = try MerkleTable.seekRow(seqs.lowerBound, &cursor)
            while found {
                let goesOn = try cursor.withEntry { key, value in
                    let first = try MerkleTable.number(of: key)
                    guard first <= seqs.upperBound, first < MerkleTable.firstLevelKey else { return false }
                    do {
                        for (seq, hash) in try RemovedLeaves(value, key: first).leaves where seqs.contains(seq) {
                            try body(seq, hash)
                        }
                    } catch let failure as StoreFailure where failure.code == .damaged {
                        try damaged(first, failure)
                    }
                    return true
                }
                guard goesOn else { return }
                found = try cursor.next()
            }
        }
    }

    /// Some hashes of events that left the log, from `seq` on: the rest of a row.
    ///
    /// - Returns: none when there are no more.
    func removedLeaves(
        from seq: UInt64, in transaction: borrowing ReadTransaction
    ) throws -> [(seq: UInt64, hash: MerkleHash)] {
        try transaction.withCursor(database) { cursor in
            var found = try MerkleTable.seekRow(seq, &cursor)
            while found {
                let leaves: [(seq: UInt64, hash: MerkleHash)]? = try cursor.withEntry { key, value in
                    let first = try MerkleTable.number(of: key)
                    guard first < MerkleTable.firstLevelKey else { return nil }
                    return try RemovedLeaves(value, key: first).leaves.filter { $0.seq >= seq }
                }
                guard let leaves else { return [] }
                guard leaves.isEmpty else { return leaves }
                found = try cursor.next()
            }
            return []
        }
    }

    /// Moves to the row that may hold an event's hash, or else to the next one.
    private static func seekRow(_ seq: UInt64, _ cursor: inout RowCursor) throws -> Bool {
        let found = try cursor.seek(seq)
        let isAtStart = try found && cursor.withEntry { key, _ in try number(of: key) == seq }
        guard !isAtStart else { return true }
        // The row before may reach that far.
        let isRow = try cursor.previous() && cursor.withEntry { key, _ in try number(of: key) > 0 }
        return try isRow || cursor.next()
    }

    /// Takes the hashes of events out that the log has again.
    ///
    /// - Parameters:
    ///   - reading: of the same environment, as of its last commit. The transaction must not have changed removed leaves.
    package func remove(
        _ seqs: Set<UInt64>, as reading: borrowing ReadTransaction, in transaction: inout WriteTransaction
    ) throws {
        var rows: [UInt64: RemovedLeaves] = [:]
        for seq in seqs {
            guard let row = try row(holding: seq, in: reading) else { continue }
            rows[row.leaves[0].seq] = row
        }
        for (key, row) in rows {
            _ = try transaction.delete(database, key)
            guard let (key, value) = row.removing(seqs).sealed() else { continue }
            try transaction.put(database, RawSpan(_elements: key.span), RawSpan(_elements: value.span))
        }
    }

    /// The row that holds, or would hold, the hash of an event.
    func row(holding seq: UInt64, in transaction: borrowing ReadTransaction) throws -> RemovedLeaves? {
        try transaction.withCursor(database) { cursor in
            // The first row that begins after it, or the end; the one before holds it.
            _ = try cursor.seek(seq + 1)
            guard try cursor.previous() else { return nil }
            return try cursor.withEntry { key, value in
                let first = try MerkleTable.number(of: key)
                guard first > 0, first <= seq else { return nil }
                return try RemovedLeaves(value, key: first)
            }
        }
    }

    /// Whether a row has hashes of events that left the log, which follow from nothing else.
    package static func isRemovedLeaves(_ key: RawSpan) -> Bool {
        guard let number = try? number(of: key) else { return true }
        return number > 0 && number < firstLevelKey
    }

    static func number(of key: RawSpan) throws -> UInt64 {
        guard key.byteCount == 8 else { throw StoreFailure.damagedLeaves("the key of a row") }
        return key.littleEndian(at: 0, as: UInt64.self).byteSwapped
    }
}
