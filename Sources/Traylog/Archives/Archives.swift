import TraylogArchive
@_spi(Replication) import TraylogDomain
import TraylogJSON
import TraylogStates

/// The archives of one store, to be read together with its log: those of compactions, and an archive of the log.
///
/// It holds the files of compactions open, and 32 bytes of memory for each 256 KiB of their events. A query after a later
/// compaction opens the files again for itself.
public struct Archives: Sendable {
    /// The description of one archive.
    @_spi(Operations) public struct File: Hashable, Sendable, Decodable {
        private enum CodingKeys: String, CodingKey {
            case name, first, last, events, bytes
            case through = "floor"
        }

        /// The name of the file.
        public var name: String
        /// The floor that the compaction moved the store to; of a file of the log, its last event.
        public var through: Seq
        /// How many events it holds.
        public var events: UInt64
        /// The first event; 0 in an archive without events.
        public var first: Seq
        /// The last event; 0 in an archive without events.
        public var last: Seq
        /// The size of the file.
        public var bytes: UInt64
    }

    /// Where the files are.
    @_spi(Operations) public var directory: String { contents.path }
    /// Those of compactions, ordered by floor, then by name, and then those of the log.
    @_spi(Operations) public var files: [File] {
        contents.summaries.map(File.init)
            + contents.segments.map { name, bytes in
                File(
                    name: name.text, through: Seq(name.last), events: name.events, first: Seq(name.first),
                    last: Seq(name.last), bytes: bytes)
            }
    }

    let contents: ArchiveSet

    /// Whether a directory has files of an archive of the log (``StoreUpkeep/archive(to:)``).
    @_spi(Operations) public static func holdLog(in directory: String) -> Bool { SegmentDirectory.isOne(directory) }

    init(_ directory: String, of store: StoreRecord) throws {
        contents = try ArchiveSet.open(directory, store: store.identity, history: store.history)
    }

    /// The last floor of the archives.
    ///
    /// No archive has an event above it.
    var through: UInt64 { contents.through }
}

extension Archives.File {
    init(_ summary: ArchiveSummary) {
        self.init(
            name: summary.name, through: Seq(summary.header.through), events: summary.events, first: Seq(summary.first),
            last: Seq(summary.last), bytes: summary.bytes)
    }
}

extension BlockingQueries {
    /// Opens the archives of this store in `directory`, where `traylog archive` or `traylog compact --archive` wrote them.
    ///
    /// - Throws: ``TraylogError/failed(_:)``: `notFound` (no such directory, or no archive in it), `foreignFile` (another
    ///   store's archive, or not an archive), `newerFormat`, `damaged`, `permissionDenied`.
    @available(*, noasync, message: "use `await store.upkeep.archives`; this call blocks a thread that tasks share")
    @_spi(Operations) public func archives(in directory: String) throws(TraylogError) -> Archives {
        try queries.answer { store in try Archives(directory, of: store.record) }
    }

    /// Identifies the store in its archives.
    package func identity() throws(TraylogError) -> StoreIdentity {
        try queries.answer { $0.record.identity }
    }
}

extension StoreUpkeep {
    /// Opens the archives of this store in `directory`.
    ///
    /// ```swift
    /// let archives = try await store.upkeep.archives(in: "/var/lib/shop/archives")
    /// let first = try await store.log.events(limit: 10, including: archives)
    /// ```
    public func archives(in directory: String) async throws(TraylogError) -> Archives {
        let (queries, view) = (store.queries, store.view)
        return try await queries.pool.run { () throws(TraylogError) in try view.archives(in: directory) }
    }
}
