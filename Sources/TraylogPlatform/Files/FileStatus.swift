import TraylogCLibrary

/// The kind, size and rights of a file, as `stat` tells them.
package struct FileStatus: Sendable {
    package let identity: FileIdentity
    package let size: Int64
    /// Space that it takes on the disk.
    package let allocatedBytes: Int64
    package let owner: UInt32
    package let group: UInt32
    /// Permissions without the kind of file.
    package let mode: UInt32
    package let isRegular: Bool
    package let isDirectory: Bool

    init(_ raw: stat) {
        identity = FileIdentity(device: UInt64(raw.st_dev), inode: UInt64(raw.st_ino))
        size = Int64(raw.st_size)
        // The system counts in blocks of this size, whatever the file system's own is.
        allocatedBytes = Int64(raw.st_blocks) * 512
        owner = raw.st_uid
        group = raw.st_gid
        mode = raw.st_mode & 0o7777
        isRegular = raw.st_mode & S_IFMT == S_IFREG
        isDirectory = raw.st_mode & S_IFMT == S_IFDIR
    }

    /// Looks at the file at `path`, which it does not open.
    package init(path: String, followingLinks: Bool = true) throws(SystemError) {
        try SystemError.check(path: path)
        var raw = stat()
        unsafe try SystemError.check(followingLinks ? stat(path, &raw) : lstat(path, &raw))
        self.init(raw)
    }
}

/// The device and inode that make two paths the same file.
package struct FileIdentity: Hashable, Sendable {
    package let device: UInt64
    package let inode: UInt64
}
