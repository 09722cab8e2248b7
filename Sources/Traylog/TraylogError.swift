import TraylogDomain

/// Why a call on a store did not do what was asked.
public enum TraylogError: Error, Hashable, Sendable {
    /// The rules forbid the command, or the query asks for what cannot be: nothing is wrong with the store.
    case refused(Refusal)
    /// Something outside failed: the disk, the file, another process.
    case failed(StoreFailure)
}

extension TraylogError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .refused(let refusal): refusal.description
        case .failed(let failure): failure.description
        }
    }
}

/// What failed outside the store's rules, where, and what to do next.
public struct StoreFailure: Error, Hashable, Sendable {
    public enum Code: String, Hashable, Sendable {
        /// No store in this directory.
        case notFound
        /// Another process (or another part of this one) has the store open for writing.
        case openForWriting
        /// This process has the store open already.
        case alreadyOpen
        /// The store was closed.
        case closed
        case permissionDenied
        case diskFull
        /// The map is full: raise ``StoreOptions/mapSizeBytes``.
        case mapFull
        case readersFull
        /// Not a Traylog store, or one of a newer format.
        case foreignFile
        case newerFormat
        /// Bytes on disk are not what was written.
        case damaged
        /// A `traylog restore` into the store did not come to its end: repeat it.
        case unfinished
        /// Where a backup or a restore cannot go: a directory or a store that is not empty, or one inside of the store.
        case unusableTarget
        /// The installed LMDB, file system or environment cannot carry a store.
        case unsupported
        /// A compaction or an erasure of this store is under way: wait for it.
        case busy
        /// The caller gave the work up; nothing was changed.
        case cancelled
        /// Any other error of the operating system.
        case inputOutput
    }

    public var code: Code
    /// What happened, where, and what to do next.
    public var message: String
    /// The process that is in the way, for ``Code/openForWriting``.
    public var holder: Int32?

    public init(code: Code, message: String, holder: Int32? = nil) {
        self.code = code
        self.message = message
        self.holder = holder
    }
}

extension StoreFailure: CustomStringConvertible {
    public var description: String { message }
}
