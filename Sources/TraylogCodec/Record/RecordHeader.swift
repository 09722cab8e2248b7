import TraylogDomain

/// The fixed part of a record.
///
/// It stays readable when the payload is erased, so it never holds personal data.
///
/// Its bytes (Docs/internals/format.md):
/// `crc u32 | version u8 | kind u8 | flags u16 | stream u32 | revision u32 | recordedAt i64 | occurredAt i64 | salt 16`.
package struct RecordHeader: Hashable, Sendable {
    package static let byteCount = 48
    package static let version: UInt8 = 2
    /// Encodes an absent `occurredAt`.
    static let noTime = Int64.min

    package var crc: UInt32
    package var kindNumber: UInt8
    package var flags: RecordFlags
    /// Absent: the event is one of the store itself.
    package var stream: StreamID
    /// The ordinal of the event among those of its stream, from 1 on; 0 for an event of the store itself.
    package var revision: UInt32
    package var recordedAt: Timestamp
    package var occurredAt: Timestamp?
    package var salt: Salt

    /// Nil for a kind that only newer versions know.
    package var kind: EventKind? { EventKind(code: kindNumber) }
    package var isChunked: Bool { flags.contains(.chunked) }
    package var isErased: Bool { flags.contains(.erased) }
}

extension RecordHeader {
    /// Makes a header without flags and checksum, to decode a payload with.
    package init(
        kind: EventKind, stream: StreamID, revision: UInt32, recordedAt: Timestamp, occurredAt: Timestamp?, salt: Salt
    ) {
        self.init(
            crc: 0, kindNumber: kind.code, flags: [], stream: stream, revision: revision, recordedAt: recordedAt,
            occurredAt: occurredAt, salt: salt)
    }

    /// Checks that the stream can exist at `seq`, before memory is spent for each stream.
    ///
    /// - Throws: ``CodecError`` `damaged` when there are fewer events than streams, because each stream began with one.
    package func checkStream(at seq: UInt64) throws(CodecError) {
        guard UInt64(stream.rawValue) <= seq else {
            throw CodecError(.damaged, seq: seq, "it belongs to stream \(stream), which nothing began")
        }
    }

    /// Reads the header of `record`, which may be longer.
    ///
    /// Does not check the checksum; see ``RecordCodec``.
    ///
    /// - Throws: ``CodecError``: `truncated` below 48 bytes, `newer` for a format version or flags that this
    ///   version does not know, `damaged` for an earlier version, for flags that exclude each other, beyond
    ///   ``StreamID/highest``, for a revision without a stream or a stream without one, and for times outside of the years
    ///   0000 to 9999.
    package static func read(_ record: RawSpan, seq: UInt64? = nil) throws(CodecError) -> RecordHeader {
        guard record.byteCount >= byteCount else {
            throw CodecError(
                .truncated, seq: seq, "its record has \(record.byteCount) bytes, less than a header")
        }
        let version = record.byte(at: 4)
        guard version == Self.version else {
            throw CodecError(version < Self.version ? .damaged : .newer, seq: seq, "its format version is \(version)")
        }
        let flags = RecordFlags(rawValue: record.littleEndian(at: 6))
        guard flags.isSubset(of: .known) else {
            throw CodecError(.newer, seq: seq, "its flags are \(flags.rawValue)")
        }
        guard !flags.isSuperset(of: [.chunked, .erased]) else {
            throw CodecError(.damaged, seq: seq, "its payload is both stored and erased")
        }
        let stream = StreamID(rawValue: record.littleEndian(at: 8))
        guard stream < .highest else {
            throw CodecError(.damaged, seq: seq, "no store has so many streams")
        }
        let revision: UInt32 = record.littleEndian(at: 12)
        guard (revision == 0) == (stream == .absent) else {
            throw CodecError(.damaged, seq: seq, "it has revision \(revision) in stream \(stream)")
        }
        let occurredAt: Int64 = record.littleEndian(at: 24)
        return RecordHeader(
            crc: record.littleEndian(at: 0), kindNumber: record.byte(at: 5), flags: flags,
            stream: stream, revision: revision,
            recordedAt: try time(record.littleEndian(at: 16), "recordedAt", seq),
            occurredAt: occurredAt == noTime ? nil : try time(occurredAt, "occurredAt", seq),
            salt: Salt(record.littleEndian(at: 32), record.littleEndian(at: 40)))
    }

    @inline(__always)
    private static func time(_ milliseconds: Int64, _ name: String, _ seq: UInt64?) throws(CodecError) -> Timestamp {
        let time = Timestamp(milliseconds: milliseconds)
        guard Timestamp.rfc3339Range.contains(time) else {
            throw CodecError(.damaged, seq: seq, "its `\(name)` lies outside of the years 0000 to 9999")
        }
        return time
    }
}

/// The flags of a record.
///
/// The raw value is stored.
package struct RecordFlags: OptionSet, Hashable, Sendable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The payload is in the table of large payloads; the record has its byte count instead.
    package static let chunked = RecordFlags(rawValue: 1 << 0)
    /// The payload is erased; the record has SHA-256(salt ‖ payload) instead.
    package static let erased = RecordFlags(rawValue: 1 << 1)

    /// The flags that this version can read.
    ///
    /// A record with any other is newer.
    static let known: RecordFlags = [.chunked, .erased]
}

/// The 16 random bytes of a record, hashed before the payload, so that an erased payload cannot be found from its hash by
/// guessing.
package struct Salt: Hashable, Sendable {
    /// Bytes 0…7 and 8…15, each little-endian.
    package let first: UInt64
    package let second: UInt64

    package init(_ first: UInt64, _ second: UInt64) {
        self.first = first
        self.second = second
    }

    /// Reads the 16 bytes of a record; nil for any other number of bytes.
    package init?(bytes: RawSpan) {
        guard bytes.byteCount == 16 else { return nil }
        self.init(bytes.littleEndian(at: 0), bytes.littleEndian(at: 8))
    }

    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(addingCapacity: 16) { output in
            output.append(littleEndian: first)
            output.append(littleEndian: second)
        }
        return bytes
    }
}
