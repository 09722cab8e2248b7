import CTraylogLMDB
import TraylogPlatform

extension LMDBError {
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
            self.init(code, operation: operation, path: path, message: message)
        }
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
}
