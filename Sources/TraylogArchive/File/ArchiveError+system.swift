import TraylogPlatform

extension ArchiveError {
    /// The error for an error of the operating system.
    static func system(_ error: SystemError, path: String) -> ArchiveError {
        switch error {
        case .noEntry, .notDirectory: ArchiveError(.notFound, path: path, "there is no such file or directory")
        case .accessDenied, .notPermitted, .readOnlyFileSystem:
            ArchiveError(.permissionDenied, path: path, "access is denied (\(error))")
        case .noSpace, .quotaExceeded: ArchiveError(.diskFull, path: path, "the disk or the quota is full")
        case .fileTooLarge:
            ArchiveError(.diskFull, path: path, "the file-size limit of this process is reached (`ulimit -f`)")
        case .tooManyOpenFiles, .tooManyOpenFilesInSystem:
            ArchiveError(.inputOutput, path: path, "too many files are open (`ulimit -n`): each archive is one")
        default: ArchiveError(.inputOutput, path: path, "the system answered \(error.number), \(error)")
        }
    }

    /// Runs a call of the system, and gives its error the file's name.
    @discardableResult
    static func attempt<R: ~Copyable>(
        _ path: String, _ body: @autoclosure () throws(SystemError) -> R
    ) throws(ArchiveError) -> R {
        do {
            return try body()
        } catch {
            throw .system(error, path: path)
        }
    }
}
