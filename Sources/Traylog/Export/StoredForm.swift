import TraylogDomain
import TraylogLog

/// What the log holds of an event beyond what its readable members say: enough to make the record again, to the byte.
struct StoredForm: Hashable, Sendable {
    var stream: UInt32
    var salt: Salt
    var payload: [UInt8]
    /// The checksum of the record.
    var checksum: UInt32
    /// The last event of the export that the line is from, so that a missing end is noticed.
    var last: Seq
}

extension JSONWriter {
    /// A line of an export: the event as `log` shows it, and what is stored of it (Docs/format.md, "Export").
    mutating func write(_ event: Event, stored: StoredForm) {
        beginObject()
        members(of: event)
        name("stored")
        beginObject()
        member("stream", UInt64(stored.stream))
        name("salt")
        value(base64: stored.salt.bytes.span)
        name("payload")
        value(base64: stored.payload.span)
        member("crc", UInt64(stored.checksum))
        member("last", stored.last)
        endObject()
        endObject()
    }
}
