import TraylogDomain
import TraylogJSON
import TraylogLog
import TraylogLMDB

/// The stored values of custom projections: for each name a record, and chunks for a value that does not fit into it.
package struct ProjectionTable: Sendable {
    /// With its checksum a chunk fills one page of LMDB.
    package static let chunkBytes = 4_076

    package let database: Database

    /// The key of the record.
    ///
    /// No name has a zero byte, so the rows of one name are together.
    package static func recordKey(_ name: ProjectionName) -> [UInt8] { name.bytes + [0] }

    package static func chunkKey(_ name: ProjectionName, copy: UInt8, index: Int) -> [UInt8] {
        var key = recordKey(name)
        key.append(copy)
        for shift in stride(from: 24, through: 0, by: -8) { key.append(UInt8(truncatingIfNeeded: index >> shift)) }
        return key
    }

    package static func chunkCount(of byteCount: Int) -> Int { (byteCount + chunkBytes - 1) / chunkBytes }

    /// The record and the encoded value; nil when nothing is stored.
    ///
    /// - Throws: ``PackedError``, ``LMDBError``.
    package func stored(
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
    package func record(
        of name: ProjectionName, in transaction: borrowing ReadTransaction
    ) throws -> ProjectionRecord? {
        guard let row = try row(ProjectionTable.recordKey(name), in: transaction) else { return nil }
        var reader = PackedReader(row)
        return try ProjectionRecord(from: &reader)
    }

    /// The stored projections, in byte order of their names.
    package func all(in transaction: borrowing ReadTransaction) throws -> [StoredProjection] {
        var found: [StoredProjection] = []
        var start: [UInt8] = []
        while let bytes = try firstName(from: start, in: transaction) {
            // The least key after all rows of the name.
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

    /// The projection of a name; nil for chunks without a record, which a killed process can leave.
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
    package func keys(
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

/// The description of a stored value.
///
/// It is written last (Docs/internals/format.md, "Projections").
package struct ProjectionRecord: Hashable, Sendable {
    static let format: UInt8 = 1
    /// The size of the largest value that is stored in the record itself.
    static let inlineBytes = 1_800
    package static let maximumBytes = 64 << 20

    package var version: UInt32
    package var position: UInt64
    /// The copy of chunks, 0 or 1, that holds the value.
    package var copy: UInt8
    package var byteCount: Int
    /// CRC-32C of the encoded value.
    var checksum: UInt32

    package var isInline: Bool { byteCount <= ProjectionRecord.inlineBytes }

    package init(version: UInt32, position: UInt64, copy: UInt8, byteCount: Int, checksum: UInt32) {
        self.version = version
        self.position = position
        self.copy = copy
        self.byteCount = byteCount
        self.checksum = checksum
    }

    init(from reader: inout PackedReader) throws(PackedError) {
        let format = try reader.byte()
        guard format == ProjectionRecord.format else { throw .newer(version: format) }
        guard let version = UInt32(exactly: try reader.varint()) else { throw .damaged("a projection's version") }
        self.version = version
        position = try reader.varint()
        copy = try reader.byte()
        let byteCount = try reader.varint()
        guard copy <= 1, byteCount <= UInt64(ProjectionRecord.maximumBytes) else {
            throw .damaged("a projection's record")
        }
        self.byteCount = Int(byteCount)
        guard let checksum = UInt32(exactly: try reader.varint()) else { throw .damaged("a projection's checksum") }
        self.checksum = checksum
    }

    package func pack(into bytes: inout [UInt8]) {
        bytes.append(ProjectionRecord.format)
        bytes.appendVarint(UInt64(version))
        bytes.appendVarint(position)
        bytes.append(copy)
        bytes.appendVarint(UInt64(byteCount))
        bytes.appendVarint(UInt64(checksum))
    }
}

/// The checked name of a projection.
///
/// Names are equal when their bytes are.
package struct ProjectionName: Hashable, Sendable {
    static let maximumBytes = 128

    package let text: String
    let bytes: [UInt8]

    /// - Throws: ``Refusal/invalid(field:reason:)``.
    package init(_ text: String) throws(Refusal) {
        try Limits.check(identifier: text, "name")
        guard text.utf8.count <= ProjectionName.maximumBytes else {
            throw .invalid(field: "name", reason: "a projection's is at most \(ProjectionName.maximumBytes) bytes long")
        }
        self.text = text
        bytes = Array(text.utf8)
    }

    package static func == (left: ProjectionName, right: ProjectionName) -> Bool { left.bytes == right.bytes }

    package func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}

/// A stored projection, as the store knows it without the fold.
@_spi(Operations) public struct StoredProjection: Hashable, Sendable, Codable {
    /// The name of the projection.
    public var name: String
    /// The ``Projection/version`` when it was stored.
    public var version: UInt32 = 0
    /// The newest event that the stored value holds.
    public var position: Seq = .zero
    /// The size of the value, encoded.
    public var bytes: UInt64 = 0
    /// The damage of the record that holds these fields; nil when there is none.
    public var damage: String?

    /// A projection that has stored nothing yet; set what a test needs.
    public init(name: String) {
        self.name = name
    }
}

extension Tables {
    package var projections: ProjectionTable { ProjectionTable(database: projectionDatabase) }
}

extension ProjectionTable {
    /// Describes each stored projection that is damaged.
    package func findings(in transaction: borrowing ReadTransaction) throws -> [String] {
        var findings: [String] = []
        for projection in try all(in: transaction) {
            guard let reason = try damage(of: projection, in: transaction) else { continue }
            findings.append(
                "the projection \"\(projection.name)\" is damaged (\(reason)); its program folds the log again when it "
                    + "starts the projection")
        }
        return findings
    }

    private func damage(
        of projection: StoredProjection, in transaction: borrowing ReadTransaction
    ) throws -> String? {
        if let damage = projection.damage { return damage }
        do {
            _ = try stored(ProjectionName(projection.name), in: transaction)
            return nil
        } catch let error as PackedError {
            return error.reason
        }
    }
}
