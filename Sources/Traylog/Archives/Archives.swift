import TraylogArchive
import TraylogDomain
import TraylogLog

/// The archives of one store, open to be read together with its log.
///
/// Holds each file open, and 32 bytes of memory for each 256 KiB of events in it. A query that finds that a later
/// compaction took events opens the files anew for itself.
public struct Archives: Sendable {
    /// What one of the files says of itself.
    public struct File: Hashable, Sendable {
        public var name: String
        /// The floor that the run moved the store to.
        public var through: Seq
        public var events: UInt64
        /// 0 without events.
        public var first: Seq
        public var last: Seq
        /// Of the file.
        public var bytes: UInt64
    }

    public var directory: String { contents.path }
    /// By floor, then by name.
    public var files: [File] { contents.summaries.map(File.init) }

    let contents: ArchiveSet

    /// No event above it is in an archive.
    var through: UInt64 { contents.summaries.last?.header.through ?? 0 }
}

extension Archives.File {
    init(_ summary: ArchiveSummary) {
        self.init(
            name: summary.name, through: Seq(summary.header.through), events: summary.events, first: Seq(summary.first),
            last: Seq(summary.last), bytes: summary.bytes)
    }
}

extension StoreRecord {
    /// What archives of the store say whose they are; it tells nothing about the secret key. A restored store has
    /// another one than the store that was exported.
    var identity: StoreIdentity {
        StoreIdentity(
            hasher.identity(of: "traylog.archive", as: .topic), hasher.identity(of: "traylog.archive", as: .key))
    }
}
