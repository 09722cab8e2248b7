import Glibc

/// What `stat` tells about a file, as far as archives ask.
struct FileStatus {
    let isRegular: Bool
    let isDirectory: Bool
    let size: UInt64
    private let device: UInt64
    private let inode: UInt64

    /// Nil with `errno` set.
    init?(descriptor: Int32) {
        var raw = stat()
        guard unsafe fstat(descriptor, &raw) == 0 else { return nil }
        self.init(raw)
    }

    /// Nil with `errno` set.
    init?(path: String) {
        var raw = stat()
        guard unsafe stat(path, &raw) == 0 else { return nil }
        self.init(raw)
    }

    private init(_ raw: stat) {
        isRegular = raw.st_mode & S_IFMT == S_IFREG
        isDirectory = raw.st_mode & S_IFMT == S_IFDIR
        size = UInt64(clamping: raw.st_size)
        device = UInt64(raw.st_dev)
        inode = UInt64(raw.st_ino)
    }

    func isSameFile(as other: FileStatus?) -> Bool {
        other.map { $0.device == device && $0.inode == inode } ?? false
    }
}
