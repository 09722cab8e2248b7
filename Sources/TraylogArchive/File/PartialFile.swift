import TraylogPlatform

/// A file that is being written under another name, and gets its own when it is whole.
struct PartialFile: ~Copyable {
    let file: ArchiveFile
    let directory: ArchiveDirectory
    /// What it is to be called.
    let name: String
    private var isPublished = false

    var path: String { file.path }

    /// - Parameter name: nil chooses new ones with `newName` until one is free.
    init(in directory: ArchiveDirectory, name: String?, newName: () -> String) throws(ArchiveError) {
        self.directory = directory
        // Another try only where names collide, or somebody takes the file for a leftover.
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

    /// Gives the file its name in one step, and makes that safe against power loss.
    mutating func publish() throws(ArchiveError) {
        let target = directory.path(of: name)
        try ArchiveError.attempt(target, Files.rename(file.path, to: target))
        isPublished = true
        try directory.sync()
    }
}
