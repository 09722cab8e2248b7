import TraylogPlatform

extension LMDBError {
    /// The error for an error number of the operating system.
    ///
    /// - Parameters:
    ///   - path: the store's directory, or the file concerned.
    ///   - file: the data file, asked for free space when an I/O error may mean a full disk.
    package static func system(
        _ error: SystemError, operation: String, path: String?, file: FileDescriptor? = nil
    ) -> LMDBError {
        if let path, path.utf8.contains(0) {
            let name = path.replacing("\0", with: "\\0")
            return LMDBError(
                .unusableTarget, operation: operation, path: name,
                message: "The path \(name) has a NUL character, where the system would end it: give a path without.")
        }
        let (code, message) =
            error == .inputOutput ? meaningOfInputOutputError(file, path: path) : meaning(of: error)
        return LMDBError(code, operation: operation, path: path, message: message)
    }

    /// Runs a call of the system, and gives its error the name of the operation and of the file.
    @discardableResult
    package static func attempt<R: ~Copyable>(
        _ operation: String, _ path: String?, file: FileDescriptor? = nil,
        _ body: @autoclosure () throws(SystemError) -> R
    ) throws(LMDBError) -> R {
        do {
            return try body()
        } catch {
            throw .system(error, operation: operation, path: path, file: file)
        }
    }

    /// A writer was faster than a reader that no writer knows of.
    package static func overtaken(_ operation: String, _ path: String) -> LMDBError {
        LMDBError(
            .overtaken, operation: operation, path: path,
            message:
                "The store was written while it was read without locks, so this answer was given up: ask again. A reader "
                + "that may write open.lock and lock.mdb is waited for; give user \(CurrentProcess.user) read and write "
                + "permission on them, or run as the owner of the store.")
    }

    /// The store was closed.
    package static func closed(_ operation: String, _ path: String) -> LMDBError {
        LMDBError(.closed, operation: operation, path: path, message: "The store was closed: open it again.")
    }

    /// The caller gave up a long call.
    package static func cancelled(_ operation: String, _ path: String?) -> LMDBError {
        LMDBError(
            .system(SystemError.cancelled.number), operation: operation, path: path,
            message: "It was cancelled, and left nothing behind.")
    }

    /// The system refused a thread for a call.
    package init(_ refused: ThreadRefused, operation: String, path: String?) {
        self.init(
            .system(refused.cause.number), operation: operation, path: path, message: "\(refused).")
    }

    private static func meaning(of error: SystemError) -> (Code, String) {
        switch error {
        case .noEntry: (.notFound, "There is no such file or directory: check the path.")
        case .accessDenied, .notPermitted:
            (
                .permissionDenied,
                "Access is denied: run as the owner of the store (this is user \(CurrentProcess.user)), or give this user "
                    + "permission on the directory and all of its files, to read for reading, to read and write for writing."
            )
        case .readOnlyFileSystem:
            (
                .permissionDenied,
                "The file system is read-only: remount it, or open the store for reading (`StoreReader`)."
            )
        case .noSpace, .quotaExceeded:
            (.diskFull, "Disk full (or the quota): free some space and try again; reading still works.")
        case .fileTooLarge: (.diskFull, fileSizeLimit)
        case .outOfMemory:
            (
                .system(error.number),
                "Not enough memory or address space for the map: lower mapSizeBytes or raise `ulimit -v`."
            )
        case .tryAgain:
            (
                .wrongNamespace,
                "A reader slot is locked by another process with the same process id: processes that share a "
                    + "store must share the PID namespace and the C library."
            )
        default:
            if let fault = error.faultOfPath {
                (.unusableTarget, "The path leads nowhere, because \(fault): give another one.")
            } else {
                (.system(error.number), "The system answered \(error.number), \(error).")
            }
        }
    }

    /// LMDB reports a short write as an I/O error, so the space that is left tells the two apart.
    private static func meaningOfInputOutputError(_ file: FileDescriptor?, path: String?) -> (Code, String) {
        let free =
            file.map { FileSystem.availableBytes($0) } ?? path.map { FileSystem.availableBytes(path: $0) }
        if let free = free ?? nil, free < 1 << 20 {
            return (.diskFull, "Disk full: free some space and try again; reading still works.")
        }
        if let file, FileSystem.isAtSizeLimit(file) { return (.diskFull, fileSizeLimit) }
        return (
            .system(SystemError.inputOutput.number),
            "Input/output error: the disk could not be read or written; check the kernel log and the disk, then verify "
                + "the store."
        )
    }

    private static let fileSizeLimit =
        "Disk full: the file-size limit of this process is reached; raise `ulimit -f` and try again."
}
