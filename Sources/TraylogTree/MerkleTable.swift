import TraylogAudit
import TraylogDomain
import TraylogLMDB
import TraylogStates

/// The stored part of the Merkle tree: the hashes of events that left the log, and every eighth level above the leaves.
///
/// The log provides every other leaf, also of events that were erased. The stored levels only save hashing; without them
/// every node still follows from the leaves.
package struct MerkleTable: Sendable {
    /// Hashes in a full row of a stored level: two rows to a page of LMDB.
    static let rowHashes: UInt64 = 62
    /// Between levels that are stored.
    ///
    /// What lies between is hashed when it is needed: 255 hashes at most for a level.
    static let levelStep = 8
    static let tileWidth: UInt64 = 1 << UInt64(levelStep)

    /// 1 had the hashes of all leaves, and was never released.
    private static let format: UInt8 = 2
    /// Less than the key of any row.
    private static let sizeKey: UInt64 = 0
    /// Less than the key of any row of a stored level, and greater than any removed leaf's.
    static let firstLevelKey: UInt64 = 1 << 56

    package let database: Database

    /// The key of a row of a stored level.
    ///
    /// Rows of level 8 are the last ones of the table, so that they can be appended.
    static func key(level: Int, row: UInt64) -> UInt64 { UInt64(255 - level) << 56 | row }

    /// The number of leaves that the stored levels cover: a multiple of 256, and 0 when nobody asked for the tree yet.
    ///
    /// - Throws: ``StoreFailure`` `damaged`, ``PackedError`` `newer`, ``LMDBError``.
    package func size(in transaction: borrowing ReadTransaction) throws -> UInt64 {
        try transaction.get(database, MerkleTable.sizeKey, MerkleTable.size(of:)) ?? 0
    }

    private static func size(of value: RawSpan) throws -> UInt64 {
        var reader = PackedReader(try openLevels(value, key: sizeKey))
        let format = try reader.byte()
        guard format <= MerkleTable.format else { throw PackedError.newer(version: format) }
        guard format == MerkleTable.format, let size = try? reader.varint(), size.isMultiple(of: tileWidth) else {
            throw StoreFailure.damagedLevels("its size")
        }
        return size
    }

    /// The stored hashes of a level.
    ///
    /// - Parameters:
    ///   - level: a multiple of ``levelStep``, above 0.
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
                let bytes = try MerkleTable.openLevels(value, key: key)
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

    /// The stored hash over each 256 leaves.
    ///
    /// - Throws: ``StoreFailure`` `damaged`.
    func tiles(in transaction: borrowing ReadTransaction) throws -> [MerkleHash] {
        try hashes(level: MerkleTable.levelStep, 0..<(size(in: transaction) / MerkleTable.tileWidth), in: transaction)
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

    /// Whether there is a row too many, or one that is too long, for stored levels that cover `size` leaves.
    func hasMoreRows(than size: UInt64, in transaction: borrowing ReadTransaction) throws -> Bool {
        try transaction.withCursor(database) { cursor in
            var found = try cursor.seek(MerkleTable.firstLevelKey)
            while found {
                let isExpected = cursor.withEntry { key, value in
                    guard key.byteCount == 8 else { return false }
                    let number = key.littleEndian(at: 0, as: UInt64.self).byteSwapped
                    let (level, row) = (255 - number >> 56, number & (MerkleTable.firstLevelKey - 1))
                    guard level > 0, level < 64, level.isMultiple(of: UInt64(MerkleTable.levelStep)) else {
                        return false
                    }
                    let hashes = size >> level
                    guard row < hashes, row * MerkleTable.rowHashes < hashes else { return false }
                    let count = Int(min(hashes - row * MerkleTable.rowHashes, MerkleTable.rowHashes))
                    return value.byteCount <= count * MerkleHash.byteCount + Checked.checksumBytes
                }
                guard isExpected else { return true }
                found = try cursor.next()
            }
            return false
        }
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
        let nodes = `extension`.from / MerkleTable.tileWidth
        let firstNew = (nodes + MerkleTable.rowHashes - 1) / MerkleTable.rowHashes
        for row in `extension`.rows {
            // New rows of level 8 have the greatest keys of the table.
            if row.key >= MerkleTable.key(level: MerkleTable.levelStep, row: firstNew) {
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

    static func open(_ value: RawSpan, key: UInt64) throws(PackedError) -> [UInt8] {
        let key = bytes(of: key)
        return try Checked.open(value, key: RawSpan(_elements: key.span))
    }

    /// The same for what follows from the log.
    private static func openLevels(_ value: RawSpan, key: UInt64) throws -> [UInt8] {
        do {
            return try open(value, key: key)
        } catch {
            throw StoreFailure.damagedLevels(error.reason)
        }
    }

    private static func bytes(of key: UInt64) -> InlineArray<8, UInt8> {
        InlineArray { UInt8(truncatingIfNeeded: key >> UInt64(56 - 8 * $0)) }
    }

    private static func missing(level: Int, _ index: UInt64) -> StoreFailure {
        .damagedLevels("node \(index) of level \(level) is missing")
    }
}

extension StoreFailure {
    /// Stored levels of the tree are not as they were written.
    static func damagedLevels(_ what: String) -> StoreFailure {
        StoreFailure(
            code: .damaged,
            message:
                "the stored Merkle tree is damaged: \(what); run `traylog verify`, then `traylog replay --rebuild`, "
                + "which derives the tree from the log again")
    }

    /// Hashes of events that left the log are not as they were written.
    static func damagedLeaves(_ what: String) -> StoreFailure {
        StoreFailure(
            code: .damaged,
            message: "the stored Merkle tree is damaged: \(what); run `traylog verify`, then restore a backup")
    }
}

extension LogTables {
    package var merkle: MerkleTable { MerkleTable(database: treeDatabase) }
}
