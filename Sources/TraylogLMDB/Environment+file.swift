import CTraylogLMDB

extension Environment {
    /// Read transactions that ever began on the file; for tests, which count them.
    package var begunReads: Int { file?.gate.reads ?? 0 }

    /// Makes the last commit of a ``Durability/relaxed`` environment safe against power loss.
    ///
    /// - Throws: ``LMDBError/Code/diskFull`` or ``LMDBError/Code/system(_:)``; nothing more can be trusted to be on
    ///   disk then, so close the store and verify it.
    package func sync() throws(LMDBError) {
        try use("sync") { (file) throws(LMDBError) in
            try file.finishReplacement()
            let result = unsafe mdb_env_sync(file.handle, 1)
            if result != 0 { throw failure(result, "sync") }
        }
    }

    /// Runs `body` with the newest file, kept from closing and from being remapped.
    func use<R>(_ operation: String, _ body: (EnvironmentFile) throws(LMDBError) -> R) throws(LMDBError) -> R {
        try checkProcess(operation)
        // It sees whether there is a newer file. Without a free reader slot it must do with the file that it has.
        if access == .readOnly, let reading = try? beginRead() { endRead(reading) }
        while true {
            let file = try openFile(operation)
            guard let entered = file.gate.enter() else {
                try checkIsOpen(file, operation)
                continue
            }
            defer { _ = file.gate.leave(entered.index, keeping: entered.handle) }
            if file.isLost { throw failure(MDB_PANIC, operation) }
            return try body(file)
        }
    }
}
