import Glibc

/// A directory with archives, and the unfinished files of runs that write into it.
struct ArchiveDirectory: Hashable, Sendable {
    static let ending = ".archive"
    /// What the name of an unfinished file ends with, after the name that it is to get.
    static let partialEnding = ".partial"

    let path: String

    init(_ path: String) {
        var path = path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        self.path = path
    }

    /// `traylog-FLOOR-RANDOM.archive`, so that names sort by floors.
    static func newName(through: UInt64) -> String {
        let digits = String(through)
        let random = String(UInt32.random(in: 0...UInt32.max), radix: 16)
        return "traylog-" + String(repeating: "0", count: max(0, 12 - digits.count)) + digits + "-"
            + String(repeating: "0", count: 8 - random.count) + random + ending
    }

    func path(of name: String) -> String { "\(path)/\(name)" }

    /// Makes the directory (0700) where it is missing; its parent must be there.
    func create() throws(ArchiveError) {
        if unsafe mkdir(path, 0o700) == 0 {
            // The umask may have taken bits that the owner needs.
            unsafe _ = chmod(path, 0o700)
            return try ArchiveDirectory(path + "/..").sync()
        }
        let number = errno
        if number == ENOENT || number == ENOTDIR {
            throw ArchiveError(.unusableDirectory, path: path, "the directory above it is missing")
        }
        guard number == EEXIST else { throw .system(number, path: path) }
        guard FileStatus(path: path)?.isDirectory == true else {
            throw ArchiveError(.unusableDirectory, path: path, "this is no directory")
        }
    }

    /// Makes the names in it safe against power loss.
    func sync() throws(ArchiveError) {
        let descriptor = unsafe Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system(errno, path: path) }
        defer { Glibc.close(descriptor) }
        guard fsync(descriptor) == 0 else { throw .system(errno, path: path) }
    }

    /// The names of its archives, ascending.
    func archives() throws(ArchiveError) -> [String] {
        try names().filter { $0.hasSuffix(Self.ending) }
    }

    /// Takes away the unfinished files of runs that were killed; those of runs under way are locked, and stay.
    func removeLeftovers() throws(ArchiveError) {
        for name in try names() where name.hasPrefix("traylog-") && name.hasSuffix(Self.ending + Self.partialEnding) {
            let file = path(of: name)
            let descriptor = unsafe Glibc.open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
            guard descriptor >= 0 else { continue }
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { unsafe _ = unlink(file) }
            Glibc.close(descriptor)
        }
    }

    private func names() throws(ArchiveError) -> [String] {
        guard let stream = unsafe opendir(path) else {
            guard errno == ENOTDIR else { throw .system(errno, path: path) }
            throw ArchiveError(.notFound, path: path, "this is no directory")
        }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            names.append(
                unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                    unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
                })
        }
        return names.sorted()
    }
}
