/// What is unusual about a record; the raw value is stored.
package struct RecordFlags: OptionSet, Hashable, Sendable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The payload lies in the table of large payloads; its byte count stands in its place.
    package static let chunked = RecordFlags(rawValue: 1 << 0)
    /// The payload is gone for good; SHA-256(salt ‖ payload) stands in its place.
    package static let erased = RecordFlags(rawValue: 1 << 1)
    /// What this version can read; a record with any other bit is newer.
    static let known: RecordFlags = [.chunked, .erased]
}
