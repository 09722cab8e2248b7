import CTraylogLMDB
import TraylogPlatform

/// A failure of the storage layer: what happened, where, and what to do next.
@usableFromInline package struct LMDBError: Error, Hashable, Sendable {
    /// The kind of failure, for a caller that reacts to it.
    package var code: Code
    /// The call that failed, such as `put` or `open`.
    package var operation: String
    /// The file or directory concerned, where one is known.
    package var path: String?
    /// One or two sentences for a person: the failure, its place, and the next step.
    package var message: String
    /// The next step, where it depends on what the file is for: this is the next step for a store.
    package let storeAdvice: String?
    /// The table that a damaged page belongs to, where one is known.
    package var table: String?
    /// The process that is in the way, for ``Code/writerLocked``.
    package var holderPID: Int32?

    package init(
        _ code: Code, operation: String, path: String? = nil, message: String, storeAdvice: String? = nil,
        table: String? = nil, holderPID: Int32? = nil
    ) {
        self.code = code
        self.operation = operation
        self.path = path
        (self.message, self.storeAdvice, self.table) = (message, storeAdvice, table)
        self.holderPID = holderPID
    }
}

extension LMDBError {
    /// What happened, with what to do about it in a store.
    package var text: String { storeAdvice.map { "\(message) \($0)" } ?? message }
}

extension LMDBError: CustomStringConvertible {
    @usableFromInline package var description: String {
        path.map { "\(text) [\(operation), \($0)]" } ?? "\(text) [\(operation)]"
    }
}

extension LMDBError {
    /// The kinds of failure.
    package enum Code: Hashable, Sendable {
        /// No directory, or no data file in it.
        case notFound
        /// A file that LMDB did not write, or not a regular file.
        case notAStore
        /// A file of LMDB 1.0, which 0.9 cannot read.
        case newerFormat
        /// The data file is shorter than its own header says.
        case truncated
        /// Pages on disk are not what was written.
        case corrupted
        /// Processes with different LMDB builds share the directory.
        case versionMismatch
        /// The file lacks a named database that the caller needs.
        case missingDatabase
        /// Another process holds the writer lease; see ``LMDBError/holderPID``.
        case writerLocked
        /// Another process keeps opening or closing the store and does not finish.
        case openLocked
        /// This process has the store open already.
        case alreadyOpen
        case permissionDenied
        /// A write on an environment that was opened for reading.
        case readOnly
        case diskFull
        /// The map is full: raise `mapSizeBytes` of the environment.
        case mapFull
        /// The file outgrew this process's map and a transaction of the same thread prevents the remapping.
        case mapResized
        /// A writer that does not know of this reader wrote over what was read: ask again.
        case overtaken
        /// All reader slots are taken by live transactions.
        case readersFull
        /// One transaction changed more pages than LMDB can track.
        case transactionFull
        /// liblmdb is not of the 0.9 series.
        case unsupportedLibrary
        /// A network file system, where LMDB's locks and maps are unsafe.
        case unsupportedFileSystem
        /// A key outside 1...511 bytes.
        case badValueSize
        case keyExists
        /// An append whose key is not greater than every stored key.
        case outOfOrder
        /// A write of the transaction failed earlier, so it cannot commit.
        case poisoned
        /// A commit failed half-way: close, verify, open again.
        case panic
        /// `write` inside `write` on one thread.
        case nestedWrite
        /// The environment was opened before a `fork`.
        case wrongProcess
        /// Processes in different PID namespaces, or with different C libraries, share the directory.
        case wrongNamespace
        case closed
        /// A copy's directory that is not empty, in use, inside of the store, or cannot be made.
        case unusableTarget
        /// Any other error number of the operating system.
        case system(Int32)
        /// Any other error of LMDB; a fault in this module.
        case other(Int32)
    }

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
        return LMDBError(
            code, operation: operation, path: path, message: message,
            storeAdvice: error == .outOfMemory ? "Lower mapSizeBytes or raise `ulimit -v`." : nil)
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
            (.system(error.number), "Not enough memory or address space for the map.")
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

    /// The error for a return code of liblmdb, which may be an error number of the system.
    ///
    /// - Parameters:
    ///   - path: the store's directory, or the file concerned.
    ///   - file: the data file, asked for free space when an I/O error may mean a full disk.
    init(result: Int32, operation: String, path: String?, file: FileDescriptor? = nil) {
        if result > 0 {
            self = .system(SystemError(number: result), operation: operation, path: path, file: file)
        } else {
            let (code, message) = Self.meaning(ofLibraryResult: result)
            self.init(code, operation: operation, path: path, message: message, storeAdvice: Self.advice(on: code))
        }
    }

    private static func advice(on code: Code) -> String? {
        switch code {
        case .corrupted: "Stop writing, verify the store, and restore a backup."
        case .notAStore: otherDirectoryOrBackup
        default: nil
        }
    }

    static let otherDirectoryOrBackup = "Check the directory, or restore a backup."

    private static func meaning(ofLibraryResult result: Int32) -> (Code, String) {
        switch result {
        case MDB_KEYEXIST: (.keyExists, "The key is stored already.")
        case MDB_NOTFOUND: (.missingDatabase, "The store lacks a database or record that it must have.")
        case MDB_PAGE_NOTFOUND, MDB_CORRUPTED:
            (.corrupted, "The data file is damaged.")
        case MDB_PANIC:
            (
                .panic,
                "An earlier commit failed half-way, and the store could not be opened again by itself: close it, "
                    + "verify it, open it again."
            )
        case MDB_VERSION_MISMATCH:
            (
                .versionMismatch,
                "Another build of LMDB made this file or its lock: use one liblmdb 0.9 for all processes, and "
                    + "stop them all before changing it."
            )
        case MDB_INVALID:
            (.notAStore, "The file is not an LMDB 0.9 data file.")
        case MDB_MAP_FULL:
            (
                .mapFull,
                "The store has reached its map size: raise mapSizeBytes in every process and open the store "
                    + "again, or compact it."
            )
        case MDB_DBS_FULL: (.other(result), "More databases than the environment was opened with.")
        case MDB_READERS_FULL:
            (
                .readersFull,
                "All \(Environment.maximumReaders) reader slots are in use: close idle readers; dead ones have "
                    + "been removed already."
            )
        case MDB_TXN_FULL:
            (.transactionFull, "One transaction changed too many pages: write in smaller batches.")
        case MDB_MAP_RESIZED:
            (
                .mapResized,
                "Another process grew the store beyond this map, and this thread has another transaction open: "
                    + "end it and try again."
            )
        case MDB_BAD_VALSIZE:
            (.badValueSize, "A key has 1 to 511 bytes and a value less than 4 GiB.")
        default:
            (.other(result), unsafe "LMDB answered \(result), \(String(cString: mdb_strerror(result))).")
        }
    }
}
