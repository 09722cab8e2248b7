import CTraylogLMDB
import Glibc

extension LMDBError {
    /// The error for a return code of liblmdb, or for an `errno`.
    ///
    /// - Parameters:
    ///   - path: the store's directory, or the file concerned.
    ///   - descriptor: the data file, asked for free space when an I/O error may mean a full disk.
    @usableFromInline
    init(result: Int32, operation: String, path: String?, descriptor: Int32? = nil) {
        if result > 0 {
            self = .system(result, operation: operation, path: path, descriptor: descriptor)
        } else {
            let (code, message) = Self.meaning(ofLibraryResult: result)
            self.init(code, operation: operation, path: path, message: message)
        }
    }

    /// The error for an `errno`.
    static func system(
        _ number: Int32, operation: String, path: String?, descriptor: Int32? = nil
    ) -> LMDBError {
        let (code, message) =
            number == EIO
            ? meaningOfInputOutputError(descriptor, path: path) : meaning(ofSystemError: number)
        return LMDBError(code, operation: operation, path: path, message: message)
    }

    private static func meaning(ofLibraryResult result: Int32) -> (Code, String) {
        switch result {
        case MDB_KEYEXIST: (.keyExists, "The key is stored already.")
        case MDB_NOTFOUND: (.missingDatabase, "The store lacks a database or record that it must have.")
        case MDB_PAGE_NOTFOUND, MDB_CORRUPTED:
            (
                .corrupted,
                "The data file is damaged: stop writing, verify the store, and restore a backup."
            )
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
            (.notAStore, "The file is not an LMDB 0.9 data file: check the directory, or restore a backup.")
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

    private static func meaning(ofSystemError number: Int32) -> (Code, String) {
        switch number {
        case ENOENT: (.notFound, "There is no such file or directory: check the path.")
        case EACCES, EPERM:
            (
                .permissionDenied,
                "Access is denied. Readers too must be able to write the lock files: run as the owner of the "
                    + "store (this is user \(geteuid())), or give this user read and write permission on the directory "
                    + "and its files."
            )
        case EROFS: (.permissionDenied, "The file system is read-only: remount it, or open the store for reading.")
        case ENOSPC, EDQUOT:
            (.diskFull, "Disk full (or the quota): free some space and try again; reading still works.")
        case EFBIG:
            (.diskFull, "Disk full: the file-size limit of this process is reached; raise `ulimit -f` and try again.")
        case ENOMEM:
            (
                .system(ENOMEM),
                "Not enough memory or address space for the map: lower mapSizeBytes or raise `ulimit -v`."
            )
        case EAGAIN:
            (
                .wrongNamespace,
                "A reader slot is locked by another process with the same process id: processes that share a "
                    + "store must share the PID namespace and the C library."
            )
        default: (.system(number), "The system answered \(number), \(describe(number)).")
        }
    }

    /// LMDB reports a short write as an I/O error, so the space that is left tells the two apart.
    private static func meaningOfInputOutputError(_ descriptor: Int32?, path: String?) -> (Code, String) {
        let free =
            descriptor.map { FileSystem.availableBytes(descriptor: $0) }
            ?? path.map { FileSystem.availableBytes(path: $0) }
        if let free = free ?? nil, free < 1 << 20 {
            return (.diskFull, "Disk full: free some space and try again; reading still works.")
        }
        if let descriptor, FileSystem.isAtSizeLimit(descriptor: descriptor) {
            return (
                .diskFull, "Disk full: the file-size limit of this process is reached; raise `ulimit -f` and try again."
            )
        }
        return (
            .system(EIO),
            "Input/output error: the disk could not be read or written; check the kernel log and the disk, then verify "
                + "the store."
        )
    }

    static func describe(_ number: Int32) -> String {
        unsafe String(cString: strerror(number))
    }
}
