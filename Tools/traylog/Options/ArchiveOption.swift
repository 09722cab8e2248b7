import ArgumentParser
@_spi(Operations) import Traylog

/// Whether to read what compaction has taken out of the log, too.
struct ArchiveOption: ParsableArguments {
    @Option(
        name: .customLong("archive"),
        help: ArgumentHelp("Include the archives that 'compact --archive' wrote to this directory.", valueName: "dir"))
    var directory: String?

    /// - Throws: ``TraylogError``: `notFound` for a directory without archives, `foreignFile` for those of another store.
    func open(for reader: some BlockingQueries) throws(TraylogError) -> Archives? {
        guard let directory else { return nil }
        return try reader.archives(in: directory)
    }
}
