import TraylogLMDB
import TraylogLog
import TraylogPlatform
import TraylogStates

/// The doubts that the writer must settle before it answers anybody again.
struct InDoubt {
    /// A transaction failed: LMDB may have given the environment up.
    var isSuspect = false
    /// A sync failed: stored pages may not be on disk, and the next sync would not tell.
    var isUnsynced = false
    /// The failures that the environment had counted when the store's memory was last made from it.
    var failures = 0
}

extension WriterLoop {
    /// Notes that a transaction failed, and does at once what can be done about it, so that reads go on.
    mutating func noteInDoubt() {
        inDoubt.isSuspect = true
        // What fails is tried again before the next transaction, which has somebody to tell.
        try? resolveInDoubt()
    }

    /// Makes sure before a transaction that it goes into the store: that the store is in its place, and that memory and file
    /// agree.
    ///
    /// - Throws: when the store was removed or replaced, which the observer is told once; as ``resolveInDoubt()``.
    mutating func prepare() throws {
        do {
            try environment.checkPlace()
            isMisplaced = false
        } catch {
            if !isMisplaced { tell(.location, error) }
            isMisplaced = true
            throw error
        }
        try resolveInDoubt()
    }

    /// Makes memory and file agree after a transaction that failed half-way, and proves that the file can be written.
    ///
    /// Where the file had to be opened anew, or its sync failed, the transaction that failed is either gone or there as a whole, which
    /// its caller was told not to count on; memory is made from the file as at an opening. The page that made it
    /// visible may be in the system's cache only, so that a commit of its own, in the other place for such pages,
    /// comes before any answer that rests on it. Costs nothing where nothing is in doubt.
    ///
    /// - Throws: when the file cannot be opened or written yet.
    mutating func resolveInDoubt() throws {
        guard inDoubt.isSuspect || inDoubt.isUnsynced else { return }
        if inDoubt.isSuspect {
            let failures = try environment.heal()
            if failures != inDoubt.failures {
                inDoubt.isUnsynced = true
                try reload()
                inDoubt.failures = failures
            }
            inDoubt.isSuspect = false
        }
        if inDoubt.isUnsynced {
            try commitNothing()
            inDoubt.isUnsynced = false
        }
    }

    /// Makes the memory of the store from its file.
    ///
    /// The tail is read without the lock, as at an opening, while readers go on with what memory has: the transaction that failed
    /// stored no state that is newer than those in memory.
    private mutating func reload() throws {
        let (memory, environment, tables) = (memory, environment, tables)
        let options = memory.withLock { $0.options }
        let next = Handover(try LiveStore.open(environment, tables: tables, options: options))
        let (before, head) = memory.withLock { memory in
            let before = memory.store.head.seq
            memory.reload(next.value)
            return (before, memory.store.head.seq)
        }
        noteDirty()
        guard head != before else { return }
        listener.foundCommitted(through: head)
    }

    /// Commits without a change; what was committed before is on disk then, too.
    private func commitNothing() throws {
        let record = try environment.read { try StoreRecord.read(tables.log.meta, in: $0) }
        try environment.write { try record?.write(tables.log.meta, to: &$0) }
        // A relaxed commit, and the one before it, are on disk only now.
        try environment.sync()
    }
}
