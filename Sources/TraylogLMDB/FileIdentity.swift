import Glibc

/// What makes two paths the same file: device and inode.
struct FileIdentity: Hashable, Sendable {
    var device: UInt64
    var inode: UInt64

    /// What `stat` tells about a file, as far as this module asks.
    struct Status: Sendable {
        var identity: FileIdentity
        var size: Int64
        var owner: uid_t
        var group: gid_t
        /// Permissions without the kind of file.
        var mode: mode_t
        var isRegular: Bool
        var isDirectory: Bool

        init(_ raw: stat) {
            identity = FileIdentity(device: UInt64(raw.st_dev), inode: UInt64(raw.st_ino))
            size = Int64(raw.st_size)
            owner = raw.st_uid
            group = raw.st_gid
            mode = raw.st_mode & 0o7777
            isRegular = raw.st_mode & S_IFMT == S_IFREG
            isDirectory = raw.st_mode & S_IFMT == S_IFDIR
        }
    }

    /// The status of the open file, or nil with `errno` set.
    static func status(descriptor: Int32) -> Status? {
        var raw = stat()
        guard unsafe fstat(descriptor, &raw) == 0 else { return nil }
        return Status(raw)
    }

    /// The status of the file at `path`, or nil with `errno` set. It opens nothing.
    static func status(path: String, followingLinks: Bool = true) -> Status? {
        var raw = stat()
        guard unsafe (followingLinks ? stat(path, &raw) : lstat(path, &raw)) == 0 else { return nil }
        return Status(raw)
    }
}
