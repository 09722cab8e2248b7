import TraylogPages

extension Environment {
    /// Takes account of every page of the last commit: each in exactly one place, each sound, its keys where they belong.
    ///
    /// It reads the whole file but the inside of large values, beside a writer; it is a long read transaction.
    ///
    /// - Parameter progress: gets how many pages are done, and how many there are.
    /// - Returns: what is wrong, in words.
    /// - Throws: ``LMDBError`` when the header makes no sense, or the environment is closed.
    package func checkPages(
        progress: (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in }
    ) throws(LMDBError) -> [String] {
        try withSnapshot { (snapshot) throws(LMDBError) in
            let account = try PageAccount(snapshot, .all) { progress($0, snapshot.pageCount) }
            return account.findings.map { snapshot.pages.words(for: $0) }
        }
    }

    /// Tells the system whether much of a table will be read in its order, by this process; without it pages that are not
    /// in memory are read one by one.
    ///
    /// - Throws: ``LMDBError`` when the environment is closed.
    package func expectScan(_ isExpected: Bool) throws(LMDBError) {
        try withSnapshot { $0.pages.expectScan(isExpected) }
    }

    /// - Throws: ``LMDBError/Code/corrupted`` with the first finding.
    func requireSoundPages() throws(LMDBError) {
        try withSnapshot { (snapshot) throws(LMDBError) in
            let account = try PageAccount(snapshot, .all)
            if let finding = account.findings.first { throw snapshot.pages.error(finding) }
        }
    }

    private func withSnapshot<R>(_ body: (Snapshot) throws(LMDBError) -> R) throws(LMDBError) -> R {
        let reading = try beginRead()
        defer { endRead(reading) }
        return try body(reading.handle.snapshot)
    }
}
