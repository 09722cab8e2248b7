/// The archives of a directory, as one run of events.
package struct ArchiveSet: Sendable {
    /// The directory.
    package let path: String
    /// Ordered by floor, then by name.
    let readers: [ArchiveReader]

    /// Opens every file of `directory` with a name that ends with `.archive`.
    ///
    /// Unfinished files have other names.
    ///
    /// - Parameters:
    ///   - store: the store that the archives must belong to; ``StoreIdentity/none`` accepts any.
    ///   - history: the store's history at an event. An archive of another history has events that the store lost.
    /// - Throws: ``ArchiveError``: `noArchives`, `otherStore`, and as ``ArchiveReader/open(_:)`` with the file.
    package static func open(
        _ directory: String, store: StoreIdentity, history: (_ seq: UInt64) -> UInt64 = { _ in 0 }
    ) throws(ArchiveError) -> ArchiveSet {
        let directory = ArchiveDirectory(directory)
        var readers: [ArchiveReader] = []
        for name in try directory.archives() { readers.append(try ArchiveReader.open(directory.path(of: name))) }
        guard !readers.isEmpty else {
            throw ArchiveError(.noArchives, path: directory.path, "the directory has no archives")
        }
        let set = ArchiveSet(path: directory.path, readers: readers)
        for reader in readers { try reader.check(store, history) }
        return set
    }

    private init(path: String, readers: [ArchiveReader]) {
        self.path = path
        self.readers = readers.sorted {
            ($0.summary.header.through, $0.summary.name) < ($1.summary.header.through, $1.summary.name)
        }
    }

    /// The paths of a directory's archives, ascending by name.
    ///
    /// The files are not opened, so each may be damaged.
    ///
    /// - Throws: ``ArchiveError`` `notFound`, `noArchives`, `permissionDenied`.
    package static func paths(in directory: String) throws(ArchiveError) -> [String] {
        let directory = ArchiveDirectory(directory)
        let names = try directory.archives()
        guard !names.isEmpty else {
            throw ArchiveError(.noArchives, path: directory.path, "the directory has no archives")
        }
        return names.map { directory.path(of: $0) }
    }

    package var summaries: [ArchiveSummary] { readers.map(\.summary) }

    /// Events from `seq` on, each once.
    ///
    /// Of an event in several archives, the first archive's counts.
    package func cursor(from seq: UInt64 = 0) throws(ArchiveError) -> ArchiveSetCursor {
        try ArchiveSetCursor(readers, from: seq)
    }
}

extension ArchiveReader {
    /// - Throws: ``ArchiveError`` `otherStore`.
    package func check(_ store: StoreIdentity, _ history: (_ seq: UInt64) -> UInt64) throws(ArchiveError) {
        let header = summary.header
        guard header.store != .none, store != .none else { return }
        guard header.store == store else {
            throw ArchiveError(.otherStore, path: file.path, "it has events of another store")
        }
        guard header.history == history(header.through) else {
            throw ArchiveError(
                .otherStore, path: file.path,
                "it has events that this store lost when it was restored from a copy; keep the archive elsewhere")
        }
    }
}
