import TraylogDomain
import TraylogPages
import TraylogLog

/// Values of custom projections: for each name a record, and chunks for what does not fit into it.
struct ProjectionTable: Sendable {
    /// With its checksum a chunk fills the one LMDB page that a value of this size has.
    static let chunkBytes = 4_076

    let database: Database

    /// No name has a zero byte, so the rows of one lie together and no name's rows among another's.
    static func recordKey(_ name: ProjectionName) -> [UInt8] { name.bytes + [0] }

    static func chunkKey(_ name: ProjectionName, copy: UInt8, index: Int) -> [UInt8] {
        var key = recordKey(name)
        key.append(copy)
        for shift in stride(from: 24, through: 0, by: -8) { key.append(UInt8(truncatingIfNeeded: index >> shift)) }
        return key
    }

    static func chunkCount(of byteCount: Int) -> Int { (byteCount + chunkBytes - 1) / chunkBytes }

    /// The record and the encoded value; nil when nothing is stored.
    ///
    /// - Throws: ``PackedError``, ``LMDBError``.
    func stored(
        _ name: ProjectionName, in transaction: borrowing ReadTransaction
    ) throws -> (record: ProjectionRecord, bytes: [UInt8])? {
        guard let row = try row(ProjectionTable.recordKey(name), in: transaction) else { return nil }
        var reader = PackedReader(row)
        let record = try ProjectionRecord(from: &reader)
        var bytes: [UInt8] = []
        if record.isInline {
            bytes = try reader.take(reader.remaining)
        } else {
            bytes.reserveCapacity(record.byteCount)
            for index in 0..<ProjectionTable.chunkCount(of: record.byteCount) {
                let key = ProjectionTable.chunkKey(name, copy: record.copy, index: index)
                guard let chunk = try self.row(key, in: transaction) else {
                    throw PackedError.damaged("chunk \(index) is missing")
                }
                bytes.append(contentsOf: chunk)
            }
        }
        guard bytes.count == record.byteCount, crc32c(RawSpan(_elements: bytes.span)) == record.checksum else {
            throw PackedError.damaged("the value is not the one that the record names")
        }
        return (record, bytes)
    }

    /// The record alone; nil when nothing is stored.
    func record(
        of name: ProjectionName, in transaction: borrowing ReadTransaction
    ) throws -> ProjectionRecord? {
        guard let row = try row(ProjectionTable.recordKey(name), in: transaction) else { return nil }
        var reader = PackedReader(row)
        return try ProjectionRecord(from: &reader)
    }

    /// The names that have rows, in byte order, and what their records say.
    func all(in transaction: borrowing ReadTransaction) throws -> [StoredProjection] {
        var found: [StoredProjection] = []
        var start: [UInt8] = []
        while let bytes = try firstName(from: start, in: transaction) {
            // The least key behind all rows of the name.
            start = bytes + [1]
            guard let text = String(validating: bytes, as: UTF8.self), let name = try? ProjectionName(text) else {
                var unreadable = StoredProjection(name: String(decoding: bytes, as: UTF8.self))
                unreadable.damage = "no name of a projection"
                found.append(unreadable)
                continue
            }
            if let projection = try summary(name, in: transaction) { found.append(projection) }
        }
        return found
    }

    /// What the record of a name says; nil for chunks without one, which a killed process can leave.
    private func summary(
        _ name: ProjectionName, in transaction: borrowing ReadTransaction
    ) throws -> StoredProjection? {
        var projection = StoredProjection(name: name.text)
        do {
            guard let record = try self.record(of: name, in: transaction) else { return nil }
            projection.version = record.version
            projection.position = Seq(record.position)
            projection.bytes = UInt64(record.byteCount)
        } catch let error as PackedError {
            projection.damage = error.reason
        }
        return projection
    }

    private func firstName(from start: [UInt8], in transaction: borrowing ReadTransaction) throws -> [UInt8]? {
        try transaction.withCursor(database) { cursor in
            guard try cursor.seek(RawSpan(_elements: start.span)) else { return nil }
            return cursor.withEntry { key, _ in
                var bytes: [UInt8] = []
                bytes.append(copying: key)
                return Array(bytes.prefix { $0 != 0 })
            }
        }
    }

    /// Keys that begin with `prefix`, from `start` on, at most `limit`.
    func keys(
        from start: [UInt8], startingWith prefix: [UInt8], limit: Int, in transaction: borrowing ReadTransaction
    ) throws -> [[UInt8]] {
        try transaction.withCursor(database) { cursor in
            var keys: [[UInt8]] = []
            var found = try cursor.seek(RawSpan(_elements: start.span))
            while found, keys.count < limit {
                var key: [UInt8] = []
                cursor.withEntry { stored, _ in key.append(copying: stored) }
                guard key.starts(with: prefix) else { break }
                keys.append(key)
                found = try cursor.next()
            }
            return keys
        }
    }

    private func row(_ key: [UInt8], in transaction: borrowing ReadTransaction) throws -> [UInt8]? {
        try transaction.get(database, RawSpan(_elements: key.span)) { value in
            try Checked.open(value, key: RawSpan(_elements: key.span))
        }
    }
}

extension PackedError {
    /// What is wrong, in words.
    var reason: String {
        switch self {
        case .damaged(let what): what
        case .newer(let version): "it was written by a newer version of Traylog (format \(version))"
        }
    }
}
