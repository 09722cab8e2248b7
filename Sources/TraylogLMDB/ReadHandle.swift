import CTraylogLMDB
import TraylogPages

/// A read transaction of LMDB, and the commit it holds as its pages tell it.
@safe
@usableFromInline struct ReadHandle: @unchecked Sendable {
    // @unchecked: with MDB_NOTLS a read transaction may move between threads, and the gate gives it to one at a time.
    let pointer: OpaquePointer
    private let owned: Unmanaged<Snapshot>

    /// Takes the transaction over.
    init(_ pointer: OpaquePointer, _ pages: PageMap) {
        unsafe self.pointer = pointer
        unsafe owned = Unmanaged.passRetained(Snapshot(pages))
    }

    /// Not retained: it lives as long as the handle.
    @usableFromInline var snapshot: Snapshot { unsafe owned.takeUnretainedValue() }

    /// Shows the newest commit; the transaction has just begun, or was just renewed.
    ///
    /// - Returns: false when the transaction could not be renewed once more; it must be given up then.
    /// - Throws: ``LMDBError/Code/corrupted`` when the header makes no sense.
    func load() throws(LMDBError) -> Bool {
        let snapshot = snapshot
        for _ in 0..<1_000 {
            let wanted = UInt64(unsafe mdb_txn_id(pointer))
            if snapshot.shows(wanted) { return true }
            let loading = try snapshot.load(wanted)
            if case .whole = loading { return true }
            unsafe mdb_txn_reset(pointer)
            guard unsafe mdb_txn_renew(pointer) == 0 else { return false }
            // If the newest commit is still this one, nothing had begun to overwrite its page when that was read.
            if case .perhapsTorn = loading, UInt64(unsafe mdb_txn_id(pointer)) == wanted { return true }
            snapshot.forget()
        }
        throw snapshot.pages.error(.record, page: 0, .tables)
    }

    /// Ends the transaction for good; nothing of it may be used any more.
    func end() {
        unsafe mdb_txn_abort(pointer)
        unsafe owned.release()
    }
}
