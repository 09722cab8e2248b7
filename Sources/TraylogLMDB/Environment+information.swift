import CTraylogLMDB
import TraylogPages
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
        /// Reader slots that have been in use at a time since the store was opened.
        package var usedReaderSlots: Int
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
                usedReaderSlots: state.usedReaders,
                maximumReaderSlots: state.maximumReaders,
                availableDiskBytes: FileSystem.availableBytes(file.dataFile))
        }
    }

    /// The last commit's number, for a poll.
    ///
    /// It may show a commit up to a second before that can be read; the number to trust is ``ReadTransaction/id``.
    package func lastTransactionHint() throws(LMDBError) -> UInt64 {
        try use("ask") { $0.mapState().lastTransaction }
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
}
