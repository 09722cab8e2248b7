import Glibc

extension ArchiveError {
    /// What an error number of the operating system means for a file or directory of archives.
    static func system(_ number: Int32, path: String) -> ArchiveError {
        switch number {
        case ENOENT, ENOTDIR: ArchiveError(.notFound, path: path, "there is no such file or directory")
        case EACCES, EPERM, EROFS: ArchiveError(.permissionDenied, path: path, "access is denied (\(text(number)))")
        case ENOSPC, EDQUOT: ArchiveError(.diskFull, path: path, "the disk or the quota is full")
        case EFBIG: ArchiveError(.diskFull, path: path, "the file-size limit of this process is reached (`ulimit -f`)")
        case EMFILE, ENFILE:
            ArchiveError(.inputOutput, path: path, "too many files are open (`ulimit -n`): each archive is one")
        default: ArchiveError(.inputOutput, path: path, "the system answered \(number), \(text(number))")
        }
    }

    private static func text(_ number: Int32) -> String { unsafe String(cString: strerror(number)) }
}
