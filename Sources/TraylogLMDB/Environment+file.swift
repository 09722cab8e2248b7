import CTraylogLMDB
import Glibc

extension Environment {
    /// Makes the file as long as its header says, after a commit.
    ///
    /// LMDB leaves out pages that one transaction took and gave up again, so that a healthy file can be shorter than
    /// its last page. Readers take a short file for a truncated one, so it is made longer, without using space.
    func coverLastPage() {
        let needed = Int64(mapState().lastPage + 1) * Int64(pageSizeBytes)
        guard let size = FileIdentity.status(descriptor: dataDescriptor)?.size, size < needed else { return }
        // A failure does no harm: the next opening looks closer at a short file.
        _ = ftruncate(dataDescriptor, off_t(needed))
    }

    /// Makes the last commit of a ``Durability/relaxed`` environment safe against power loss.
    ///
    /// - Throws: ``LMDBError/Code/diskFull`` or ``LMDBError/Code/system(_:)``; nothing more can be trusted to be on
    ///   disk then, so close the store and verify it.
    package func sync() throws(LMDBError) {
        try use("sync") { () throws(LMDBError) in
            let result = unsafe mdb_env_sync(handle, 1)
            if result != 0 { throw failure(result, "sync") }
        }
    }

    /// Runs `body` with the environment kept from closing and from being remapped.
    func use<R>(_ operation: String, _ body: () throws(LMDBError) -> R) throws(LMDBError) -> R {
        try checkProcess(operation)
        guard let entered = gate.enter() else { throw closedError(operation) }
        defer { _ = gate.leave(entered.index, keeping: entered.handle) }
        if isLost { throw failure(MDB_PANIC, operation) }
        return try body()
    }
}
