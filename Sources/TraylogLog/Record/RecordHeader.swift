import TraylogDomain

/// The fixed part of a record: what stays readable when the payload is erased.
///
/// No personal string is ever part of it. The bytes are in Docs/format.md:
/// `crc u32 | version u8 | kind u8 | flags u16 | stream u32 | recordedAt i64 | occurredAt i64 | salt 16`.
package struct RecordHeader: Hashable, Sendable {
    package static let byteCount = 44
    package static let version: UInt8 = 1
    /// What a file may say at most: far from where counting on would overflow.
    package static let highestStream = UInt32(1) << 31 - 1
    /// Stands for an absent `occurredAt`.
    static let noTime = Int64.min

    package var crc: UInt32
    package var kindNumber: UInt8
    package var flags: RecordFlags
    /// The surrogate of the user or the topic; 0 is the store itself.
    package var stream: UInt32
    package var recordedAt: Timestamp
    package var occurredAt: Timestamp?
    package var salt: Salt

    /// Nil when a newer version wrote the event.
    package var kind: EventKind? { EventKind(rawValue: kindNumber) }
    package var isChunked: Bool { flags.contains(.chunked) }
    package var isErased: Bool { flags.contains(.erased) }

    /// That of an event whose payload is at hand, wherever its record will keep it; without a checksum.
    package init(
        kind: EventKind, stream: UInt32, recordedAt: Timestamp, occurredAt: Timestamp?, salt: Salt
    ) {
        self.init(
            crc: 0, kindNumber: kind.rawValue, flags: [], stream: stream, recordedAt: recordedAt,
            occurredAt: occurredAt, salt: salt)
    }

    init(
        crc: UInt32, kindNumber: UInt8, flags: RecordFlags, stream: UInt32, recordedAt: Timestamp,
        occurredAt: Timestamp?, salt: Salt
    ) {
        self.crc = crc
        self.kindNumber = kindNumber
        self.flags = flags
        self.stream = stream
        self.recordedAt = recordedAt
        self.occurredAt = occurredAt
        self.salt = salt
    }

    /// Whoever keeps something for each stream asks first, so that damage cannot ask for endless memory.
    ///
    /// - Throws: ``CodecError`` `damaged` when there could not be so many streams by then: each began with an event.
    package func checkStream(at seq: UInt64) throws(CodecError) {
        guard UInt64(stream) <= seq else {
            throw CodecError(.damaged, seq: seq, "it belongs to stream \(stream), which nothing began")
        }
    }

    /// The header of `record`, which may be longer. Does not check the checksum: see ``RecordCodec``.
    ///
    /// - Throws: ``CodecError``: `truncated` below 44 bytes, `newer` for a format version or flags that this
    ///   version does not know, `damaged` for version 0, for flags that exclude each other, and beyond
    ///   ``highestStream``.
    package static func read(_ record: RawSpan, seq: UInt64? = nil) throws(CodecError) -> RecordHeader {
        guard record.byteCount >= byteCount else {
            throw CodecError(
                .truncated, seq: seq, "its record has \(record.byteCount) bytes, less than a header")
        }
        let version = record.byte(at: 4)
        guard version == Self.version else {
            throw CodecError(version == 0 ? .damaged : .newer, seq: seq, "its format version is \(version)")
        }
        let flags = RecordFlags(rawValue: record.littleEndian(at: 6))
        guard flags.isSubset(of: .known) else {
            throw CodecError(.newer, seq: seq, "its flags are \(flags.rawValue)")
        }
        guard !flags.isSuperset(of: [.chunked, .erased]) else {
            throw CodecError(.damaged, seq: seq, "its payload is both stored and erased")
        }
        guard record.littleEndian(at: 8, as: UInt32.self) <= highestStream else {
            throw CodecError(.damaged, seq: seq, "no store has so many streams")
        }
        let occurredAt: Int64 = record.littleEndian(at: 20)
        return RecordHeader(
            crc: record.littleEndian(at: 0), kindNumber: record.byte(at: 5), flags: flags,
            stream: record.littleEndian(at: 8),
            recordedAt: Timestamp(milliseconds: record.littleEndian(at: 12)),
            occurredAt: occurredAt == noTime ? nil : Timestamp(milliseconds: occurredAt),
            salt: Salt(record.littleEndian(at: 28), record.littleEndian(at: 36)))
    }
}
