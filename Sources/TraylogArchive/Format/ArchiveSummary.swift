/// What an archive says of itself.
package struct ArchiveSummary: Hashable, Sendable {
    /// The file's name, without the directory.
    package let name: String
    package let header: ArchiveHeader
    package let events: UInt64
    /// The seqs of the first and the last event; 0 without events.
    package let first: UInt64
    package let last: UInt64
    /// Of the file.
    package let bytes: UInt64
    /// What the events take before they are compressed.
    package let rawBytes: UInt64
}
