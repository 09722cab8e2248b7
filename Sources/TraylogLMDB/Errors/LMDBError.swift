/// A failure of the storage layer: what happened, where, and what to do next.
@usableFromInline package struct LMDBError: Error, Hashable, Sendable {
    /// The kind of failure, for a caller that reacts to it.
    package var code: Code
    /// The call that failed, such as `put` or `open`.
    package var operation: String
    /// The file or directory concerned, where one is known.
    package var path: String?
    /// One or two sentences for a person: the failure, its place, and the next step.
    package var message: String
    /// The next step, where it depends on what the file is for: this is the next step for a store.
    package var storeAdvice: String?
    /// The table that a damaged page belongs to, where one is known.
    package var table: String?
    /// The process that is in the way, for ``Code/writerLocked``.
    package var holderPID: Int32?

    package init(
        _ code: Code, operation: String, path: String? = nil, message: String, storeAdvice: String? = nil,
        table: String? = nil, holderPID: Int32? = nil
    ) {
        self.code = code
        self.operation = operation
        self.path = path
        (self.message, self.storeAdvice, self.table) = (message, storeAdvice, table)
        self.holderPID = holderPID
    }
}

extension LMDBError {
    /// What happened, with what to do about it in a store.
    package var text: String { storeAdvice.map { "\(message) \($0)" } ?? message }
}

extension LMDBError: CustomStringConvertible {
    @usableFromInline package var description: String {
        path.map { "\(text) [\(operation), \($0)]" } ?? "\(text) [\(operation)]"
    }
}

extension LMDBError {
    /// The kinds of failure.
    package enum Code: Hashable, Sendable {
        /// No directory, or no data file in it.
        case notFound
        /// A file that LMDB did not write, or not a regular file.
        case notAStore
        /// A file of LMDB 1.0, which 0.9 cannot read.
        case newerFormat
        /// The data file is shorter than its own header says.
        case truncated
        /// Pages on disk are not what was written.
        case corrupted
        /// Processes with different LMDB builds share the directory.
        case versionMismatch
        /// The file lacks a named database that the caller needs.
        case missingDatabase
        /// Another process holds the writer lease; see ``LMDBError/holderPID``.
        case writerLocked
        /// Another process keeps opening or closing the store and does not finish.
        case openLocked
        /// This process has the store open already.
        case alreadyOpen
        case permissionDenied
        /// A write on an environment that was opened for reading.
        case readOnly
        case diskFull
        /// The map is full: raise `mapSizeBytes` of the environment.
        case mapFull
        /// The file outgrew this process's map and a transaction of the same thread prevents the remapping.
        case mapResized
        /// A writer that does not know of this reader wrote over what was read: ask again.
        case overtaken
        /// All reader slots are taken by live transactions.
        case readersFull
        /// One transaction changed more pages than LMDB can track.
        case transactionFull
        /// liblmdb is not of the 0.9 series.
        case unsupportedLibrary
        /// A network file system, where LMDB's locks and maps are unsafe.
        case unsupportedFileSystem
        /// A key outside 1...511 bytes.
        case badValueSize
        case keyExists
        /// An append whose key is not greater than every stored key.
        case outOfOrder
        /// A write of the transaction failed earlier, so it cannot commit.
        case poisoned
        /// A commit failed half-way: close, verify, open again.
        case panic
        /// `write` inside `write` on one thread.
        case nestedWrite
        /// The environment was opened before a `fork`.
        case wrongProcess
        /// Processes in different PID namespaces, or with different C libraries, share the directory.
        case wrongNamespace
        case closed
        /// A copy's directory that is not empty, in use, inside of the store, or cannot be made.
        case unusableTarget
        /// Any other error number of the operating system.
        case system(Int32)
        /// Any other error of LMDB; a fault in this module.
        case other(Int32)
    }
}
