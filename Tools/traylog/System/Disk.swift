import TraylogCLibrary

/// The disk that a store is on.
enum Disk {
    /// The bytes that are free for this user; nil when the system does not say.
    static func freeBytes(at path: String) -> UInt64? {
        var status = statvfs()
        guard unsafe statvfs(path, &status) == 0 else { return nil }
        return UInt64(status.f_bavail) * UInt64(status.f_frsize)
    }
}
