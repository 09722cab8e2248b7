@_spi(Operations) import TraylogDomain
import TraylogPlatform

/// A directory of archives, finished and unfinished.
struct ArchiveDirectory: Hashable, Sendable {
    static let ending = ".archive"
    /// The name of an unfinished file is its final name with this ending.
    static let partialEnding = ".partial"

    let path: String

    init(_ path: String) {
        var path = path
        while path.utf8.count > 1, path.hasSuffix("/") { path.removeLast() }
        self.path = path
    }

    /// `traylog-FLOOR-RANDOM.archive`, so that names sort by floor.
    static func newName(through: UInt64) -> String {
        let digits = String(through)
        return "traylog-" + String(repeating: "0", count: max(0, 12 - digits.count)) + digits + "-"
            + UInt32.random(in: 0...UInt32.max).hex + ending
    }

    func path(of name: String) -> String { "\(path)/\(name)" }

    /// Creates the directory (0700) if it is missing.
    ///
    /// Its parent must exist.
    func create() throws(ArchiveError) {
        let isNew: Bool
        do {
            isNew = try Files.createDirectory(path)
        } catch {
            switch error {
            case .noEntry: throw ArchiveError(.unusableDirectory, path: path, "the directory above it is missing")
            case .notDirectory: throw ArchiveError(.unusableDirectory, path: path, "a part of the path is a file")
            default: throw .system(error, path: path)
            }
        }
        if isNew { return try ArchiveDirectory(path + "/..").sync() }
        guard (try? FileStatus(path: path))?.isDirectory == true else {
            throw ArchiveError(.unusableDirectory, path: path, "this is no directory")
        }
    }

    /// Makes the directory's entries durable.
    func sync() throws(ArchiveError) {
        try ArchiveError.attempt(path, Files.sync(path))
    }

    /// The names of its archives, ascending.
    func archives() throws(ArchiveError) -> [String] {
        try names().filter { $0.hasSuffix(Self.ending) }
    }

    /// Deletes the unfinished files of processes that were killed.
    ///
    /// Those of running processes are locked, and stay.
    func removeLeftovers() throws(ArchiveError) {
        for name in try names() where name.hasSuffix(Self.ending + Self.partialEnding) {
            guard name.hasPrefix("traylog-") || name.hasPrefix(SegmentName.beginning) else { continue }
            let file = path(of: name)
            guard let open = try? FileDescriptor(opening: file, [.reading, .refusingLinks, .notWaiting]) else {
                continue
            }
            defer { open.close() }
            // A writer that is at work has it locked.
            guard (try? open.lock()) != nil else { continue }
            do throws(SystemError) { try Files.remove(file) } catch {
                guard error == .noEntry else { throw .system(error, path: file) }
            }
        }
    }

    func names() throws(ArchiveError) -> [String] {
        do {
            return try Files.names(in: path)
        } catch {
            guard error == .notDirectory else { throw .system(error, path: path) }
            throw ArchiveError(.notFound, path: path, "this is no directory")
        }
    }
}
