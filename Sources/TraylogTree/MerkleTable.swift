import TraylogAudit
import TraylogDomain
import TraylogLMDB
import TraylogPages
import TraylogStates

/// The stored part of the Merkle tree: the hashes of all leaves through some event, and of every eighth level above.
///
/// Compaction and erasure may only touch events whose leaves are here (``size(in:)``), and change no root then: the hash of
/// a leaf, 32 bytes, outlives its event.
package struct MerkleTable: Sendable {
    /// Hashes in a full row: two rows to a page of LMDB.
    static let rowHashes: UInt64 = 62
    /// Between levels that are stored.
    ///
    /// What lies between is hashed when it is needed: 255 hashes at most for a level.
    static let levelStep = 8
    static let tileWidth: UInt64 = 1 << UInt64(levelStep)

    private static let format: UInt8 = 1
    /// Less than the key of any row.
    private static let sizeKey: UInt64 = 0

    package let database: Database

    /// Rows of level 0 are the last ones, so that they can be appended.
    static func key(level: Int, row: UInt64) -> UInt64 { UInt64(255 - level) << 56 | row }

    /// The number of stored leaves: those of all events through this seq.
    ///
    /// 0 when nobody asked for the tree yet.
    ///
    /// - Throws: ``StoreFailure`` `damaged`, ``PackedError`` `newer`, ``LMDBError``.
    package func size(in transaction: borrowing ReadTransaction) throws -> UInt64 {
        try transaction.get(database, MerkleTable.sizeKey, MerkleTable.size(of:)) ?? 0
    }

    private static func size(of value: RawSpan) throws -> UInt64 {
        var reader = PackedReader(try open(value, key: sizeKey))
        let format = try reader.byte()
        guard format == MerkleTable.format else { throw PackedError.newer(version: format) }
        guard let size = try? reader.varint() else { throw StoreFailure.damagedTree("its size") }
        return size
    }

    /// The stored hashes of a level.
    ///
    /// - Parameters:
    ///   - level: a multiple of ``levelStep``.
    ///   - range: of indexes at this level.
    /// - Throws: ``StoreFailure`` `damaged`, also when one is missing.
    func hashes(
        level: Int, _ range: Range<UInt64>, in transaction: borrowing ReadTransaction
    ) throws -> [MerkleHash] {
        var hashes: [MerkleHash] = []
        hashes.reserveCapacity(range.count)
        var next = range.lowerBound
        while next < range.upperBound {
            let row = next / MerkleTable.rowHashes
            let first = row * MerkleTable.rowHashes
            let end = min(range.upperBound, first + MerkleTable.rowHashes)
            let key = MerkleTable.key(level: level, row: row)
            let found: Void? = try transaction.get(database, key) { value in
                let bytes = try MerkleTable.open(value, key: key)
                let span = RawSpan(_elements: bytes.span)
                for index in Int(next - first)..<Int(end - first) {
                    guard (index + 1) * MerkleHash.byteCount <= bytes.count,
                        let hash = MerkleHash(
                            bytes: span.extracting(
                                (index * MerkleHash.byteCount)..<((index + 1) * MerkleHash.byteCount)))
                    else { throw MerkleTable.missing(level: level, first + UInt64(index)) }
                    hashes.append(hash)
                }
            }
            guard found != nil else { throw MerkleTable.missing(level: level, next) }
            next = end
        }
        return hashes
    }

    /// The same as ``hashes(level:_:in:)``, nil where a row is missing or damaged.
    func readableHashes(
        level: Int, _ range: Range<UInt64>, in transaction: borrowing ReadTransaction
    ) throws -> [MerkleHash?] {
        do {
            return try hashes(level: level, range, in: transaction)
        } catch let failure as StoreFailure where failure.code == .damaged {
            guard range.count > 1 else { return [nil] }
            let middle = range.lowerBound + UInt64(range.count) / 2
            return try readableHashes(level: level, range.lowerBound..<middle, in: transaction)
                + readableHashes(level: level, middle..<range.upperBound, in: transaction)
        }
    }

    /// Whether there is a row too many, or one that is too long, for a tree of this size.
    func hasMoreRows(than size: UInt64, in transaction: borrowing ReadTransaction) throws -> Bool {
        var (rows, level) = (1, 0)
        while size >> UInt64(level) > 0 {
            let hashes = size >> UInt64(level)
            let last = (hashes - 1) / MerkleTable.rowHashes
            rows += Int(last) + 1
            let wanted = Int(hashes - last * MerkleTable.rowHashes) * MerkleHash.byteCount + Checked.checksumBytes
            let byteCount = try transaction.get(database, MerkleTable.key(level: level, row: last)) { $0.byteCount }
            if byteCount ?? 0 > wanted { return true }
            level += MerkleTable.levelStep
        }
        return try transaction.statistics(database).entries > rows
    }

    static func row(_ hashes: ArraySlice<MerkleHash>, key: UInt64) -> [UInt8] {
        var value: [UInt8] = []
        value.reserveCapacity(hashes.count * MerkleHash.byteCount + Checked.checksumBytes)
        for hash in hashes { hash.append(to: &value) }
        seal(&value, key: key)
        return value
    }

    static func sizeRow(_ size: UInt64) -> [UInt8] {
        var value = [format]
        value.appendVarint(size)
        seal(&value, key: sizeKey)
        return value
    }

    /// Writes what an extension adds; nothing when the stored tree is not the one that it was made for.
    func write(_ extension: TreeExtension, to transaction: inout WriteTransaction) throws {
        let size = try transaction.get(database, MerkleTable.sizeKey, MerkleTable.size(of:)) ?? 0
        guard size == `extension`.from else { return }
        let firstNew = (`extension`.from + MerkleTable.rowHashes - 1) / MerkleTable.rowHashes
        for row in `extension`.rows {
            // New rows of leaves have the greatest keys of the table.
            if row.key >= MerkleTable.key(level: 0, row: firstNew) {
                try transaction.append(database, row.key, RawSpan(_elements: row.value.span))
            } else {
                try transaction.put(database, row.key, RawSpan(_elements: row.value.span))
            }
        }
        let newSize = MerkleTable.sizeRow(`extension`.to)
        try transaction.put(database, MerkleTable.sizeKey, RawSpan(_elements: newSize.span))
    }

    static func seal(_ value: inout [UInt8], key: UInt64) {
        let key = bytes(of: key)
        Checked.seal(&value, key: RawSpan(_elements: key.span))
    }

    static func open(_ value: RawSpan, key: UInt64) throws -> [UInt8] {
        let key = bytes(of: key)
        do {
            return try Checked.open(value, key: RawSpan(_elements: key.span))
        } catch {
            throw StoreFailure.damagedTree(error.reason)
        }
    }

    private static func bytes(of key: UInt64) -> InlineArray<8, UInt8> {
        InlineArray { UInt8(truncatingIfNeeded: key >> UInt64(56 - 8 * $0)) }
    }

    private static func missing(level: Int, _ index: UInt64) -> StoreFailure {
        .damagedTree(
            level == 0 ? "the leaf of event \(index + 1) is missing" : "node \(index) of level \(level) is missing")
    }
}

extension StoreFailure {
    /// The stored part of the tree is not as it was written.
    static func damagedTree(_ what: String) -> StoreFailure {
        StoreFailure(
            code: .damaged,
            message: "the stored Merkle tree is damaged: \(what); run `traylog verify`, then restore a backup")
    }
}

extension Tables {
    package var merkle: MerkleTable { MerkleTable(database: treeDatabase) }
}
