import TraylogPlatform

/// The examination of a data file before it is mapped.
enum Preflight {
    /// A commit of another process changes the file under our eyes, so a bad finding is looked at again.
    private static let attempts = 10

    /// Checks that the file is whole and of LMDB 0.9, reading its header and, if it is short, its list of free pages.
    static func examine(path: String) throws(LMDBError) {
        let file = try LMDBError.attempt("open", path, FileDescriptor(opening: path, .reading))
        defer { file.close() }
        let status = try LMDBError.attempt("open", path, file.status())
        guard status.isRegular else {
            throw LMDBError(
                .notAStore, operation: "open", path: path,
                message: "data.mdb is not a regular file.", storeAdvice: "Check the directory.")
        }
        guard status.size > 0 else {
            throw LMDBError(
                .truncated, operation: "open", path: path,
                message: "The data file is empty.",
                storeAdvice: "Restore a backup, or delete the store to begin an empty one.")
        }
        for attempt in 1... {
            do {
                return try examine(file, path: path)
            } catch {
                if attempt == attempts || error.code == .newerFormat { throw error }
                OSThread.sleep(milliseconds: 2)
            }
        }
    }

    private static func examine(_ file: FileDescriptor, path: String) throws(LMDBError) {
        let header: DataFileHeader
        do {
            header = try DataFileHeader(file)
        } catch {
            throw failure(error, path: path)
        }
        // It is under way, and nobody looks at what it wrote.
        if header.pending != nil { return }
        // After the header, because a live file only grows.
        guard let size = file.size, let covered = header.coveredBytes else {
            throw failure(.damaged, path: path)
        }
        guard size < covered else { return }
        let pages = try PageMap(file, path: path, byteCount: Int(size), pageSize: header.pageSize, tableNames: [])
        guard isFreeBehindEnd(of: pages, header) else {
            throw LMDBError(
                .truncated, operation: "open", path: path,
                message:
                    "The data file has \(size) bytes where its header needs \(covered): its end is lost, so restore "
                    + "a backup.")
        }
    }

    /// Whether all pages that the file lacks are free: those that a transaction took and gave up again are never written.
    private static func isFreeBehindEnd(of pages: PageMap, _ header: DataFileHeader) -> Bool {
        let missing = pages.readablePages(header.lastPage + 1)...header.lastPage
        guard missing.count <= 1 << 24 else { return false }
        var left = Set(missing)
        let snapshot = Snapshot(pages)
        do throws(LMDBError) {
            guard case .whole = try snapshot.load(header.newest) else { return false }
            try snapshot.forEachFreeRecord { record in
                for index in 0..<record.count { left.remove(record[index]) }
                return true
            }
        } catch {
            return false
        }
        return left.isEmpty
    }

    private static func failure(_ fault: DataFileHeader.Fault, path: String) -> LMDBError {
        let (code, message, storeAdvice): (LMDBError.Code, String, String?) =
            switch fault {
            case .short:
                (.truncated, "The data file ends inside its header.", "Restore a backup.")
            case .foreign:
                (.notAStore, "data.mdb was not written by LMDB.", LMDBError.otherDirectoryOrBackup)
            case .newerFormat:
                (
                    .newerFormat,
                    "The data file was written by LMDB 1.0, and this program uses 0.9: export it with mdb_dump "
                        + "of 1.0 and import that with mdb_load of 0.9.",
                    nil
                )
            case .version(let version):
                (
                    .newerFormat,
                    "The data file has LMDB format \(version), and this program reads format 1: export it with "
                        + "the mdb_dump that fits it and import that with mdb_load of 0.9.",
                    nil
                )
            case .damaged:
                (.corrupted, "The header of the data file is damaged.", "Restore a backup.")
            }
        return LMDBError(code, operation: "open", path: path, message: message, storeAdvice: storeAdvice)
    }
}
