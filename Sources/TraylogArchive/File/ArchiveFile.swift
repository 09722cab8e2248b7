import TraylogPlatform

/// An open file, closed with the last reference.
///
/// Reads are at an offset, writes at the end.
final class ArchiveFile: Sendable {
    let path: String
    private let file: FileDescriptor

    /// Opens a file that must be a regular one, for reading.
    init(reading path: String) throws(ArchiveError) {
        // Without waiting: it may be a pipe.
        file = try ArchiveError.attempt(path, FileDescriptor(opening: path, [.reading, .notWaiting]))
        self.path = path
        guard try ArchiveError.attempt(path, file.status()).isRegular else {
            throw ArchiveError(.notAnArchive, path: path, "this is no file")
        }
    }

    /// Creates a file of mode 0600, locked as long as it is open here.
    ///
    /// - Returns: nil when the file exists, or when another process took it for a leftover before it was locked.
    init?(creating path: String) throws(ArchiveError) {
        do {
            file = try FileDescriptor(opening: path, [.readingAndWriting, .creating, .exclusive, .refusingLinks])
        } catch {
            guard error == .exists else { throw .system(error, path: path) }
            return nil
        }
        self.path = path
        do {
            // The umask may have taken bits that the owner needs.
            try file.setMode(0o600)
        } catch {
            try? Files.remove(path)
            throw .system(error, path: path)
        }
        do {
            try file.lock()
        } catch {
            // Some network file systems have no locks; nobody can hold one there either.
            if error == .tryAgain { return nil }
        }
        let mine = try? file.status().identity
        guard mine != nil, mine == (try? FileStatus(path: path))?.identity else { return nil }
    }

    deinit {
        file.close()
    }

    func size() throws(ArchiveError) -> UInt64 {
        UInt64(clamping: try ArchiveError.attempt(path, file.status()).size)
    }

    /// Replaces `bytes` by exactly `count` bytes at `offset`.
    ///
    /// - Throws: ``ArchiveError`` `truncated` when the file ends before.
    func read(_ count: Int, at offset: UInt64, into bytes: inout [UInt8]) throws(ArchiveError) {
        bytes.resize(to: count)
        var elements = bytes.mutableSpan
        // Sound: any bytes make an array of bytes.
        var span = unsafe elements.mutableBytes
        let got: Int
        do {
            got = try file.read(into: &span, at: Int64(clamping: offset))
        } catch {
            throw .system(error, path: path)
        }
        guard got == count else { throw ArchiveError(.truncated, path: path, "the file has become shorter") }
    }

    /// Writes all of `bytes`.
    func write(_ bytes: RawSpan) throws(ArchiveError) {
        try ArchiveError.attempt(path, file.append(bytes))
    }

    /// Makes the written bytes durable.
    func sync() throws(ArchiveError) {
        try ArchiveError.attempt(path, file.sync())
    }
}

extension [UInt8] {
    /// Changes the size, and keeps the memory if it is large enough.
    ///
    /// New bytes are 0.
    mutating func resize(to count: Int) {
        if self.count > count {
            removeLast(self.count - count)
        } else if self.count < count {
            self += [UInt8](repeating: 0, count: count - self.count)
        }
    }
}

/// A file that is written under a temporary name, and renamed when it is complete.
struct PartialFile: ~Copyable {
    let file: ArchiveFile
    let directory: ArchiveDirectory
    /// The final name.
    let name: String
    private var isPublished = false

    /// - Parameter name: the final name; nil tries names from `newName` until one is free.
    init(in directory: ArchiveDirectory, name: String?, newName: () -> String) throws(ArchiveError) {
        self.directory = directory
        // Tries again when names collide, or when another process takes the file for a leftover.
        for _ in 0..<100 {
            let candidate = name ?? newName()
            if name == nil, Files.exists(directory.path(of: candidate)) { continue }
            let path = directory.path(of: candidate + ArchiveDirectory.partialEnding)
            guard let file = try ArchiveFile(creating: path) else { continue }
            self.file = file
            self.name = candidate
            return
        }
        throw ArchiveError(
            .unusableDirectory, path: directory.path(of: name ?? ""), "another run writes an archive of this name")
    }

    deinit {
        if !isPublished { try? Files.remove(file.path) }
    }

    /// Gives the file its final name, durably.
    ///
    /// - Parameter replacing: whether it takes the place of a file that has the name; otherwise the name must be free.
    mutating func publish(replacing: Bool) throws(ArchiveError) {
        let target = directory.path(of: name)
        do {
            try Files.rename(file.path, to: target, replacing: replacing)
        } catch {
            throw error == .exists ? Self.taken(target) : .system(error, path: target)
        }
        isPublished = true
        try directory.sync()
    }

    private static func taken(_ target: String) -> ArchiveError {
        ArchiveError(
            .unusableDirectory, path: target, "there is a file of this name already, which is never overwritten")
    }
}
