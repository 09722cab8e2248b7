import TraylogDomain

/// Puts header and payload together as the value of one row of the log.
package enum RecordCodec {
    /// A record is inline up to this size: larger values get pages of their own in LMDB.
    package static let inlineBytes = 2_000
    /// The payload of the longest inline record.
    package static let inlinePayloadBytes = inlineBytes - RecordHeader.byteCount
    /// SHA-256(salt ‖ payload), which stands in the place of an erased payload.
    package static let digestBytes = 32

    /// Where the payload of an appended record goes.
    package enum Placement: Hashable, Sendable {
        /// In the record.
        case inline
        /// In the table of large payloads: the caller stores this many chunks, see ``chunkRange(_:of:)``.
        case chunks(Int)
    }

    /// Appends the record of an event to `buffer`, checksum included.
    ///
    /// - Parameters:
    ///   - stream: the surrogate of the user or the topic; 0 for the store itself.
    ///   - occurredAt: `Int64.min` milliseconds would read back as nil.
    ///   - payload: from ``PayloadEncoder``; at most ``largestPayloadBytes``.
    /// - Returns: whether the payload is in the record, or must be stored in chunks in the same transaction.
    package static func append(
        seq: UInt64, kind: EventKind, stream: UInt32, recordedAt: Timestamp, occurredAt: Timestamp?,
        salt: Salt, payload: RawSpan, to buffer: inout [UInt8]
    ) -> Placement {
        precondition(payload.byteCount <= largestPayloadBytes, "a command that large must be refused")
        let isInline = payload.byteCount <= inlinePayloadBytes
        let flags: RecordFlags = isInline ? [] : .chunked
        let header = RecordHeader(
            crc: 0, kindNumber: kind.rawValue, flags: flags, stream: stream,
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

    /// Appends the record that is left of an event when its payload is erased.
    ///
    /// The salt goes, too: who still had it could find a short payload by guessing.
    ///
    /// - Parameters:
    ///   - header: of the record as it was; its salt, checksum and flags are replaced.
    ///   - digest: SHA-256(salt ‖ payload), 32 bytes, so that the leaf of the Merkle tree stays the same.
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

    /// The checksum of a record whose payload, if it is in chunks, is still to be added.
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
        append(littleEndian: header.stream)
        append(littleEndian: header.recordedAt.milliseconds)
        append(littleEndian: header.occurredAt?.milliseconds ?? RecordHeader.noTime)
        append(littleEndian: header.salt.first)
        append(littleEndian: header.salt.second)
    }
}
