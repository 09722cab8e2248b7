import CTraylogLMDB
import TraylogPlatform

extension Environment {
    /// The size and state of the whole store.
    package struct Information: Hashable, Sendable {
        package var mapSizeBytes: Int
        /// The data file's length, without what is kept ready behind its last page while it is written.
        package var fileBytes: Int
        package var pageSizeBytes: Int
        /// The number of the last page in use; pages before it may be free.
        package var lastPage: Int
        /// Pages that later commits will use again.
        package var freePages: Int
        /// The last commit's number.
        package var lastTransactionID: UInt64
        package var maximumReaderSlots: Int
        /// The bytes that the file system can still take; nil when it cannot tell.
        package var availableDiskBytes: Int64?
    }

    /// The state of the store.
    ///
    /// - Complexity: O(free pages / 500), to count them.
    package func information() throws(LMDBError) -> Information {
        let freePages = try countFreePages()
        return try use("ask") { file in
            let state = file.mapState()
            return Information(
                mapSizeBytes: state.sizeBytes,
                fileBytes: (state.lastPage + 1) * file.pageSizeBytes,
                pageSizeBytes: file.pageSizeBytes,
                lastPage: state.lastPage,
                freePages: freePages,
                lastTransactionID: state.lastTransaction,
                maximumReaderSlots: state.maximumReaders,
                availableDiskBytes: FileSystem.availableBytes(file.dataFile))
        }
    }

    private func countFreePages() throws(LMDBError) -> Int {
        do {
            return try read { try $0.freePages() }
        } catch let error as LMDBError {
            throw error
        } catch {
            preconditionFailure("Counting throws no other error.")
        }
    }

    /// Takes account of every page of the last commit: each in exactly one place, each sound, its keys where they belong.
    ///
    /// It reads the whole file but the inside of large values, beside a writer; it is a long read transaction.
    ///
    /// - Parameter progress: gets how many pages are done, and how many there are.
    /// - Returns: the faults, in words.
    /// - Throws: ``LMDBError`` when the header makes no sense, the environment is closed, or the check is cancelled, which it
    ///   notices after each table.
    package func checkPages(
        progress: (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in }
    ) throws(LMDBError) -> [String] {
        try withAccount("verify", progress) { (snapshot, account) in
            account.findings.map { snapshot.pages.words(for: $0) }
        }
    }

    /// Takes account of every page of the last commit; of another one when the data file has to be opened anew meanwhile, which waits
    /// for nobody who only checks.
    private func withAccount<R>(
        _ operation: String, _ progress: (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in },
        _ body: (Snapshot, PageAccount) throws(LMDBError) -> R
    ) throws(LMDBError) -> R {
        while true {
            let interruption = Cancellation()
            do throws(LMDBError) {
                let reading = try beginRead()
                defer { endRead(reading) }
                return try reading.file.gate.interruptibly({ interruption.cancel() }) { () throws(LMDBError) in
                    try whole(reading) { (snapshot) throws(LMDBError) in
                        let account = try PageAccount(snapshot, .all) { (done) throws(LMDBError) in
                            progress(done, snapshot.pageCount)
                            try Self.checkCancellation(operation, directory)
                            if interruption.isCancelled { throw .cancelled(operation, directory) }
                        }
                        return try body(snapshot, account)
                    }
                }
            } catch {
                guard interruption.isCancelled, Cancellation.current?.isCancelled != true else { throw error }
            }
        }
    }

    /// Makes sure that no account of all pages found damage, which would keep every write from beginning.
    ///
    /// - Throws: ``LMDBError`` with the first finding, and when the environment is closed.
    package func requireNoDamage() throws(LMDBError) {
        if let damage = try openFile("check").writeCheck.damage { throw damage }
    }

    /// How many pages of trees this process has read since it opened the present file, for tests.
    package func countExaminedPages() throws(LMDBError) -> Int {
        try withSnapshot { $0.pages.examinedPages }
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
        try withAccount("copy") { (snapshot, account) throws(LMDBError) in
            if let finding = account.findings.first { throw snapshot.pages.error(finding) }
        }
    }

    /// - Throws: ``LMDBError/cancelled(_:_:)`` when the caller gave the work of this thread up.
    static func checkCancellation(_ operation: String, _ path: String) throws(LMDBError) {
        if Cancellation.current?.isCancelled == true { throw .cancelled(operation, path) }
    }

    private func withSnapshot<R>(_ body: (Snapshot) throws(LMDBError) -> R) throws(LMDBError) -> R {
        let reading = try beginRead()
        defer { endRead(reading) }
        return try whole(reading, body)
    }

    private func whole<R>(
        _ reading: Reading, _ body: (Snapshot) throws(LMDBError) -> R
    ) throws(LMDBError) -> R {
        do throws(LMDBError) {
            let answer = try body(reading.handle.snapshot)
            try checkIsWhole(reading)
            return answer
        } catch {
            try checkIsWhole(reading)
            throw error
        }
    }
}

/// A place in the store's table of readers.
package struct ReaderSlot: Hashable, Sendable {
    package var processID: Int32
    /// The snapshot it reads; nil for a slot kept for the next read.
    package var transactionID: UInt64?
    /// Commits since that snapshot; a number that keeps rising means that the file keeps growing.
    package var lag: UInt64

    /// Reads LMDB's listing: a title, then process, thread (hexadecimal) and transaction or `-` in each line.
    static func slots(fromListing text: String, lastTransaction: UInt64) -> [ReaderSlot] {
        text.split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ")
            guard fields.count == 3, let process = Int32(fields[0]) else { return nil }
            let transaction = UInt64(fields[2])
            let lag = transaction.map { lastTransaction > $0 ? lastTransaction - $0 : 0 } ?? 0
            return ReaderSlot(processID: process, transactionID: transaction, lag: lag)
        }
    }
}

extension Environment {
    /// The reader slots in use, in every process; empty when the environment is closed.
    package func readers() -> [ReaderSlot] {
        (try? use("list readers") { $0.readerSlots() }) ?? []
    }

    /// The process that has the store open for writing; nil when there is none.
    package func writer() -> WritingProcess? { WriterLease.current(directory: directory) }

    /// Frees the slots of processes that died inside a read transaction, whose snapshots keep the file growing.
    ///
    /// It happens by itself at opening, every 30 seconds of writing, and when slots or map run out.
    ///
    /// - Returns: the number of slots that were freed.
    @discardableResult
    package func reapDeadReaders() -> Int {
        (try? use("reap readers") { $0.reap() }) ?? 0
    }
}

extension EnvironmentFile {
    fileprivate func readerSlots() -> [ReaderSlot] {
        final class Lines {
            var text = ""
        }
        let lines = Lines()
        withExtendedLifetime(lines) {
            unsafe _ = mdb_reader_list(
                handle,
                { line, context in
                    guard let line = unsafe line, let context = unsafe context else { return 0 }
                    unsafe Unmanaged<Lines>.fromOpaque(context).takeUnretainedValue().text += String(cString: line)
                    return 0
                }, Unmanaged.passUnretained(lines).toOpaque())
        }
        return ReaderSlot.slots(fromListing: lines.text, lastTransaction: mapState().lastTransaction)
    }
}
