import CTraylogSystem
import TraylogCLibrary

/// Questions to the operating system about a file system.
package enum FileSystem {
    /// Bytes that this user may still write to the file system of a file; nil when the system cannot tell.
    package static func availableBytes(_ file: FileDescriptor) -> Int64? {
        var answer = statvfs()
        guard unsafe fstatvfs(file.number, &answer) == 0 else { return nil }
        return Int64(clamping: UInt64(answer.f_bavail) &* UInt64(answer.f_frsize))
    }

    /// The same for the file system of a path.
    package static func availableBytes(path: String) -> Int64? {
        guard let file = try? FileDescriptor(opening: path, .reading) else { return nil }
        defer { file.close() }
        return availableBytes(file)
    }

    /// Whether the next growth of the file would exceed the process's file-size limit.
    package static func isAtSizeLimit(_ file: FileDescriptor) -> Bool {
        guard sizeLimit != .max, let size = file.size else { return false }
        return Int(size) + (4 << 20) >= sizeLimit
    }

    /// The largest file that the process may make, in bytes; `Int.max` for no limit.
    package static var sizeLimit: Int {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 else { return .max }
        return Int(clamping: limit.rlim_cur)
    }

    /// The name of the network or user-space file system under `path`; nil for a local one.
    ///
    /// LMDB needs coherent shared maps and byte-range locks, which these do not give.
    package static func remoteKind(path: String) -> String? {
        let type = unsafe traylog_file_system_type(path)
        return remoteKinds[UInt32(truncatingIfNeeded: type)]
    }

    private static let remoteKinds: [UInt32: String] = [
        0x6969: "NFS", 0x517B: "SMB", 0xFF53_4D42: "CIFS", 0xFE53_4D42: "SMB2", 0x0102_1997: "9p",
        0x6573_5546: "FUSE", 0x5346_414F: "AFS", 0x6B41_4653: "AFS", 0x7375_7245: "Coda",
        0x00C3_6400: "Ceph", 0x0BD0_0BD0: "Lustre", 0x4750_4653: "GPFS", 0x786F_4256: "vboxsf",
        0x564C: "NCP", 0x0116_1970: "GFS2", 0x7461_636F: "OCFS2",
    ]
}
