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
    /// - Parameter store: the store that the archives must belong to; ``StoreIdentity/none`` accepts any.
    /// - Throws: ``ArchiveError``: `noArchives`, `otherStore`, and as ``ArchiveReader/open(_:)`` with the file.
    package static func open(_ directory: String, store: StoreIdentity) throws(ArchiveError) -> ArchiveSet {
        let directory = ArchiveDirectory(directory)
        var readers: [ArchiveReader] = []
        for name in try directory.archives() { readers.append(try ArchiveReader.open(directory.path(of: name))) }
        guard !readers.isEmpty else {
            throw ArchiveError(.noArchives, path: directory.path, "the directory has no archives")
        }
        let set = ArchiveSet(path: directory.path, readers: readers)
        try set.check(store)
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

    private func check(_ store: StoreIdentity) throws(ArchiveError) {
        for reader in readers { try reader.check(store) }
    }
}

extension ArchiveReader {
    /// - Throws: ``ArchiveError`` `otherStore`.
    package func check(_ store: StoreIdentity) throws(ArchiveError) {
        let mine = summary.header.store
        guard mine == store || mine == .none || store == .none else {
            throw ArchiveError(.otherStore, path: file.path, "it has events of another store")
        }
    }
}
