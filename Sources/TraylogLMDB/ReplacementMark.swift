import CTraylogLMDB
import TraylogPages

/// The mark of a data file that another one is about to replace: an empty table with this name.
///
/// The last commit sets it, so that readers in other processes, which see each commit, look at the file's name from
/// then on. If the replacement does not come, the next one that opens the file for writing takes the mark away.
enum ReplacementMark {
    private static let name = "replaced"

    /// Sets the mark, in a write transaction.
    @unsafe static func set(_ transaction: OpaquePointer) -> Int32 {
        var number: MDB_dbi = 0
        return unsafe mdb_dbi_open(transaction, name, UInt32(MDB_CREATE), &number)
    }

    /// Takes the mark away, if it is set, in a write transaction.
    @unsafe static func remove(_ transaction: OpaquePointer) -> Int32 {
        var number: MDB_dbi = 0
        let result = unsafe mdb_dbi_open(transaction, name, 0, &number)
        if result == MDB_NOTFOUND { return 0 }
        return result == 0 ? unsafe mdb_drop(transaction, number, 1) : result
    }

    /// Whether a commit has the mark.
    static func isSet(_ snapshot: Snapshot) throws(LMDBError) -> Bool {
        try snapshot.hasTable(name)
    }
}

extension EnvironmentFile {
    /// Whether the commit that a read transaction shows says that this file is being replaced.
    ///
    /// It is looked up once for each commit.
    func isMarked(_ handle: ReadHandle) -> Bool {
        let commit = UInt64(unsafe mdb_txn_id(handle.pointer)) << 1
        let known = markedCommit.load(ordering: .relaxed)
        if known & ~1 == commit { return known & 1 == 1 }
        // Where the table of tables is damaged, the reads that follow say so.
        let isMarked = (try? ReplacementMark.isSet(handle.snapshot)) ?? false
        markedCommit.store(commit | (isMarked ? 1 : 0), ordering: .relaxed)
        return isMarked
    }

    /// Commits the mark, or takes it away; the caller has the writer's turn.
    ///
    /// A power cut may take the mark with it, as it takes the readers that it is for; so one sync is enough.
    func mark(_ isSet: Bool) -> Int32 {
        guard !isLost else { return MDB_PANIC }
        var flags: UInt32 = 0
        unsafe mdb_env_get_flags(handle, &flags)
        let relaxed = Environment.Durability.relaxed.flags
        unsafe mdb_env_set_flags(handle, relaxed, 1)
        defer { if flags & relaxed == 0 { unsafe mdb_env_set_flags(handle, relaxed, 0) } }
        var handle: OpaquePointer?
        let begun = unsafe mdb_txn_begin(self.handle, nil, 0, &handle)
        guard begun == 0, let handle = unsafe handle else { return begun }
        do {
            try writeCheck.begin(after: unsafe UInt64(mdb_txn_id(handle)) - 1)
        } catch {
            unsafe mdb_txn_abort(handle)
            return MDB_CORRUPTED
        }
        let result = unsafe isSet ? ReplacementMark.set(handle) : ReplacementMark.remove(handle)
        guard result == 0 else {
            unsafe mdb_txn_abort(handle)
            return result
        }
        return unsafe mdb_txn_commit(handle)
    }
}
