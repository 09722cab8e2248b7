import TraylogDomain

/// What is stored of a projection beside the encoded value, and what is written last (Docs/format.md, "Projections").
struct ProjectionRecord: Hashable, Sendable {
    static let format: UInt8 = 1
    /// Values up to here stand in the record itself.
    static let inlineBytes = 1_800
    static let maximumBytes = 64 << 20

    var version: UInt32
    var position: UInt64
    /// Which of the two copies of chunks holds the value.
    var copy: UInt8
    var byteCount: Int
    /// CRC-32C of the encoded value.
    var checksum: UInt32

    var isInline: Bool { byteCount <= ProjectionRecord.inlineBytes }

    init(version: UInt32, position: UInt64, copy: UInt8, byteCount: Int, checksum: UInt32) {
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

    func pack(into bytes: inout [UInt8]) {
        bytes.append(ProjectionRecord.format)
        bytes.appendVarint(UInt64(version))
        bytes.appendVarint(position)
        bytes.append(copy)
        bytes.appendVarint(UInt64(byteCount))
        bytes.appendVarint(UInt64(checksum))
    }
}
