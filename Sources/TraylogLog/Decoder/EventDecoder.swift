import TraylogDomain

/// Reads payloads (Docs/format/event.proto), given the header of their record.
///
/// Every function is total: any bytes give a value or a ``CodecError``. None checks the checksum, see
/// ``RecordCodec``. An event whose user is missing is decoded, too: the header's stream names it.
package enum EventDecoder {
    /// The names by which a command finds an event again: ranges of the payload, nil when absent.
    package struct Identity: Hashable, Sendable {
        package var user: Range<Int>?
        package var topic: Range<Int>?
        package var key: Range<Int>?
        /// 0 without a key.
        package var commandFingerprint: UInt64
    }

    /// User, topic, key and fingerprint, for duplicate checks and for the table of users.
    ///
    /// Allocates nothing. The bytes are not checked to be UTF-8.
    ///
    /// - Throws: ``CodecError``: `truncated` or `damaged`.
    package static func identity(seq: UInt64, payload: RawSpan) throws(CodecError) -> Identity {
        do throws(PayloadFault) {
            let fields = try PayloadFields(payload)
            return Identity(
                user: fields.range(.user), topic: fields.range(.topic), key: fields.range(.key),
                commandFingerprint: fields.raw(.commandFingerprint))
        } catch {
            throw CodecError(error, seq: seq)
        }
    }

    /// The kind of an event whose payload is there.
    @inline(__always)
    static func kind(of header: borrowing RecordHeader) throws(PayloadFault) -> EventKind {
        guard !header.isErased else { throw .erased }
        guard let kind = header.kind else { throw .newerKind(header.kindNumber) }
        return kind
    }
}
