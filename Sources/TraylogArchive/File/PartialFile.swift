import TraylogPlatform

/// A file that is written under a temporary name, and renamed when it is complete.
struct PartialFile: ~Copyable {
    let file: ArchiveFile
    let directory: ArchiveDirectory
    /// The final name.
    let name: String
    private var isPublished = false

    var path: String { file.path }

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

    /// Renames the file to its final name, durably.
    mutating func publish() throws(ArchiveError) {
        let target = directory.path(of: name)
        try ArchiveError.attempt(target, Files.rename(file.path, to: target))
        isPublished = true
        try directory.sync()
    }
}
