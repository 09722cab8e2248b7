import TraylogDomain

/// Writes a record: header and payload as the value of one row of the log.
package enum RecordCodec {
    /// A record is inline up to this size, because LMDB gives larger values pages of their own.
    package static let inlineBytes = 2_000
    /// The size of the largest inline payload.
    package static let inlinePayloadBytes = inlineBytes - RecordHeader.byteCount
    /// The size of SHA-256(salt ‖ payload), which takes the place of an erased payload.
    package static let digestBytes = 32

    /// The place of the payload of an appended record.
    package enum Placement: Hashable, Sendable {
        /// The payload is in the record.
        case inline
        /// The payload goes to the table of large payloads. The caller stores this many chunks; see
        /// ``chunkRange(_:of:)``.
        case chunks(Int)
    }

    /// Appends the record of an event to `buffer`, checksum included.
    ///
    /// - Parameters:
    ///   - stream: absent for the store itself.
    ///   - revision: 0 for the store itself.
    ///   - occurredAt: `Int64.min` milliseconds would read back as nil.
    ///   - payload: from ``PayloadEncoder``; at most ``largestPayloadBytes``.
    /// - Returns: whether the payload is in the record, or must be stored in chunks in the same transaction.
    package static func append(
        seq: UInt64, kind: EventKind, stream: StreamID, revision: UInt32, recordedAt: Timestamp,
        occurredAt: Timestamp?, salt: Salt, payload: RawSpan, to buffer: inout [UInt8]
    ) -> Placement {
        precondition(payload.byteCount <= largestPayloadBytes, "a command that large must be refused")
        let isInline = payload.byteCount <= inlinePayloadBytes
        let flags: RecordFlags = isInline ? [] : .chunked
        let header = RecordHeader(
            crc: 0, kindNumber: kind.code, flags: flags, stream: stream, revision: revision,
            recordedAt: recordedAt, occurredAt: occurredAt, salt: salt)
        let start = buffer.count
        buffer.append(addingCapacity: inlineBytes) { output in
            output.append(header)
            if isInline {
                output.append(copying: payload)
            } else {
                output.append(littleEndian: UInt32(payload.byteCount))
            }
        }
        let crc = checksum(seq: seq, record: RawSpan(_elements: buffer.span).extracting(start...))
        store(isInline ? crc : crc32c(payload, from: crc), in: &buffer, at: start)
        return isInline ? .inline : .chunks(chunkCount(of: payload.byteCount))
    }

    /// Appends the record of an event after its payload was erased.
    ///
    /// The salt is erased, too, because it would allow to find a short payload by guessing.
    ///
    /// - Parameters:
    ///   - header: the header of the record before. Its salt, checksum and flags are replaced.
    ///   - digest: SHA-256(salt ‖ payload), 32 bytes, which keeps the leaf of the Merkle tree unchanged.
    package static func appendErased(
        seq: UInt64, header: RecordHeader, digest: RawSpan, to buffer: inout [UInt8]
    ) {
        precondition(digest.byteCount == digestBytes, "a SHA-256 has 32 bytes")
        var header = header
        header.flags = .erased
        header.salt = Salt(0, 0)
        let start = buffer.count
        buffer.append(addingCapacity: RecordHeader.byteCount + digestBytes) { output in
            output.append(header)
            output.append(copying: digest)
        }
        let crc = checksum(seq: seq, record: RawSpan(_elements: buffer.span).extracting(start...))
        store(crc, in: &buffer, at: start)
    }

    /// The checksum of the record of a header and a payload.
    package static func checksum(seq: UInt64, header: RecordHeader, payload: RawSpan) -> UInt32 {
        let isInline = payload.byteCount <= inlinePayloadBytes
        var header = header
        header.flags = isInline ? [] : .chunked
        var bytes: [UInt8] = []
        bytes.append(addingCapacity: inlineBytes) { output in
            output.append(header)
            if !isInline { output.append(littleEndian: UInt32(payload.byteCount)) }
        }
        return crc32c(payload, from: checksum(seq: seq, record: RawSpan(_elements: bytes.span)))
    }

    /// The checksum that a record of version 1, which had no revision, had in its place.
    ///
    /// - Parameter header: the present record's header; its revision is ignored.
    package static func formerChecksum(seq: UInt64, header: RecordHeader, payload: RawSpan) -> UInt32 {
        let isInline = payload.byteCount <= formerInlinePayloadBytes
        var bytes: [UInt8] = []
        bytes.append(addingCapacity: inlineBytes) { output in
            output.append(littleEndian: UInt8(1))
            output.append(littleEndian: header.kindNumber)
            output.append(littleEndian: (isInline ? [] : RecordFlags.chunked).rawValue)
            output.append(littleEndian: header.stream.rawValue)
            output.append(timesAndSaltOf: header)
            if !isInline { output.append(littleEndian: UInt32(payload.byteCount)) }
        }
        return crc32c(payload, from: crc32c(RawSpan(_elements: bytes.span), from: crc32c(bigEndian: seq)))
    }

    private static let formerInlinePayloadBytes = 1_956

    /// The checksum of a record; the chunks of a chunked payload are to be added.
    static func checksum(seq: UInt64, record: RawSpan) -> UInt32 {
        crc32c(record.extracting(4...), from: crc32c(bigEndian: seq))
    }

    private static func store(_ crc: UInt32, in buffer: inout [UInt8], at start: Int) {
        for index in 0..<4 {
            buffer[start + index] = UInt8(truncatingIfNeeded: crc >> UInt32(8 * index))
        }
    }
}

extension OutputSpan<UInt8> {
    fileprivate mutating func append(_ header: borrowing RecordHeader) {
        append(littleEndian: header.crc)
        append(littleEndian: RecordHeader.version)
        append(littleEndian: header.kindNumber)
        append(littleEndian: header.flags.rawValue)
        append(littleEndian: header.stream.rawValue)
        append(littleEndian: header.revision)
        append(timesAndSaltOf: header)
    }

    fileprivate mutating func append(timesAndSaltOf header: borrowing RecordHeader) {
        append(littleEndian: header.recordedAt.milliseconds)
        append(littleEndian: header.occurredAt?.milliseconds ?? RecordHeader.noTime)
        append(littleEndian: header.salt.first)
        append(littleEndian: header.salt.second)
    }
}

/// Chunks of large payloads: rows of their own, each filling one page of LMDB.
extension RecordCodec {
    package static let chunkBytes = 4_080
    package static let chunkKeyBytes = 10
    /// Limited by the chunk index, a u16.
    package static let largestPayloadBytes = chunkBytes << 16

    package static func chunkCount(of payloadBytes: Int) -> Int {
        (payloadBytes + chunkBytes - 1) / chunkBytes
    }

    /// The range of chunk `index` in a payload.
    ///
    /// All chunks but the last are full.
    package static func chunkRange(_ index: Int, of payloadBytes: Int) -> Range<Int> {
        let start = index * chunkBytes
        return start..<min(start + chunkBytes, payloadBytes)
    }

    /// Appends the key of a chunk: the seq in 8 bytes and the index in 2, both big-endian, so that the chunks of an event
    /// are neighbours and in order.
    package static func appendChunkKey(seq: UInt64, index: Int, to buffer: inout [UInt8]) {
        precondition(index >= 0 && index <= UInt16.max, "chunk indexes are u16")
        buffer.append(addingCapacity: chunkKeyBytes) { output in
            output.append(littleEndian: seq.byteSwapped)
            output.append(littleEndian: UInt16(index).byteSwapped)
        }
    }
}
