@_spi(Replication) import TraylogDomain
import TraylogPlatform

/// The archives of a directory, those of compactions and the segments of the log, as one run of events.
package struct ArchiveSet: Sendable {
    /// The directory.
    package let path: String
    /// Of compactions, ordered by floor, then by name.
    let readers: [ArchiveReader]
    /// Segments of the store's history.
    ///
    /// They are opened when their events are read: there may be thousands.
    let links: [SegmentChain.Link]
    private let store: StoreIdentity

    /// Opens the archives of compactions in `directory`, and finds its segments.
    ///
    /// Unfinished files have other names.
    ///
    /// - Parameters:
    ///   - store: the store that the archives must belong to; ``StoreIdentity/none`` accepts any.
    ///   - history: the store's history. The archive of a compaction in another one has events that the store lost; so have
    ///     segments, which are left out.
    /// - Throws: ``ArchiveError``: `noArchives`, `otherStore`, and as ``ArchiveReader/open(_:)`` with the file.
    package static func open(
        _ directory: String, store: StoreIdentity, history: StoreHistory = StoreHistory()
    ) throws(ArchiveError) -> ArchiveSet {
        let directory = ArchiveDirectory(directory)
        let names = try directory.archives()
        guard !names.isEmpty else {
            throw ArchiveError(.noArchives, path: directory.path, "the directory has no archives")
        }
        var (readers, segments): ([ArchiveReader], [SegmentName]) = ([], [])
        for name in names {
            if let segment = SegmentName(name) {
                segments.append(segment)
            } else {
                readers.append(try ArchiveReader.open(directory.path(of: name)))
            }
        }
        let set = ArchiveSet(
            path: directory.path, readers: readers, links: SegmentChain(segments, of: history).links, store: store)
        for reader in readers { try reader.check(store, history) }
        return set
    }

    private init(path: String, readers: [ArchiveReader], links: [SegmentChain.Link], store: StoreIdentity) {
        self.path = path
        self.readers = readers.sorted {
            ($0.summary.header.through, $0.summary.name) < ($1.summary.header.through, $1.summary.name)
        }
        (self.links, self.store) = (links, store)
    }

    /// The paths of the archives of compactions in a directory, ascending by name.
    ///
    /// The files are not opened, so each may be damaged.
    ///
    /// - Throws: ``ArchiveError`` `notFound`, `noArchives` where there is not even a segment, `permissionDenied`.
    package static func paths(in directory: String) throws(ArchiveError) -> [String] {
        let directory = ArchiveDirectory(directory)
        let names = try directory.archives()
        guard !names.isEmpty else {
            throw ArchiveError(.noArchives, path: directory.path, "the directory has no archives")
        }
        return names.filter { SegmentName($0) == nil }.map { directory.path(of: $0) }
    }

    /// Of the archives of compactions.
    package var summaries: [ArchiveSummary] { readers.map(\.summary) }

    /// The segments, with the size of each file.
    package var segments: [(name: SegmentName, bytes: UInt64)] {
        links.map { link in
            let size = (try? FileStatus(path: "\(path)/\(link.name.text)"))?.size
            return (link.name, UInt64(clamping: size ?? 0))
        }
    }

    /// No archive has an event above it.
    package var through: UInt64 { max(readers.last?.summary.header.through ?? 0, links.last?.last ?? 0) }

    /// Events from `seq` on, each once.
    ///
    /// Of an event in several archives, the first archive's counts.
    package func cursor(from seq: UInt64 = 0) throws(ArchiveError) -> ArchiveSetCursor {
        var sources = readers.filter { $0.summary.events > 0 }.map { reader in
            ArchiveSetCursor.Source(first: reader.summary.first, last: reader.summary.last) { () throws(ArchiveError) in
                reader
            }
        }
        let (store, directory) = (store, ArchiveDirectory(path))
        sources += links.map { link in
            ArchiveSetCursor.Source(first: link.first, last: link.last) { () throws(ArchiveError) in
                let reader = try ArchiveReader.open(directory.path(of: link.name.text))
                guard store == .none || reader.summary.header.store == store else { throw reader.isOfAnotherStore }
                return reader
            }
        }
        return try ArchiveSetCursor(sources, from: seq)
    }
}

extension ArchiveReader {
    /// - Throws: ``ArchiveError`` `otherStore`.
    package func check(_ store: StoreIdentity, _ history: StoreHistory) throws(ArchiveError) {
        let header = summary.header
        guard header.store != .none, store != .none else { return }
        guard header.store == store else { throw isOfAnotherStore }
        guard header.history == history.id(at: Seq(header.through)) else {
            throw ArchiveError(
                .otherStore, path: file.path,
                "it has events that this store lost when it was restored from a copy; keep the archive elsewhere")
        }
    }

    var isOfAnotherStore: ArchiveError {
        ArchiveError(.otherStore, path: file.path, "it has events of another store")
    }
}
