import CTraylogLMDB
import Synchronization

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
            if snapshot.pages.isPending(wanted) {
                if try loadBefore(wanted) { return true }
                continue
            }
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

    /// Shows the commit before one that may not be on disk yet: its pages are kept for readers of that one, too.
    ///
    /// - Returns: false when that one is on disk by now.
    private func loadBefore(_ pending: UInt64) throws(LMDBError) -> Bool {
        if snapshot.shows(pending - 1) { return true }
        if case .gone = try snapshot.load(pending - 1) { return false }
        // The next commit overwrites the header's page of the one before, and begins after this one is on disk.
        atomicMemoryFence(ordering: .acquiring)
        if snapshot.pages.isPending(pending) { return true }
        snapshot.forget()
        return false
    }

    /// Ends the transaction; nothing of it may be used any more.
    func end() {
        unsafe mdb_txn_abort(pointer)
        unsafe owned.release()
    }
}
