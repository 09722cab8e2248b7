/// The error of a call on a store.
public enum TraylogError: Error, Hashable, Sendable {
    /// The rules forbid the command, or the query is impossible. The store is fine.
    case refused(Refusal)
    /// Something outside of the rules failed: the disk, the file, another process.
    case failed(StoreFailure)
}

extension TraylogError {
    /// The code of the refusal or the failure, as in JSON's `error`; no refusal has the code of a failure.
    ///
    /// It is for logs and metrics. To react to one of them, use ``refusal`` or ``failure``, whose codes are enumerations.
    public var code: String {
        switch self {
        case .refused(let refusal): refusal.code.rawValue
        case .failed(let failure): failure.code.rawValue
        }
    }

    /// What happened and what to do next, for a person, without the code.
    ///
    /// The message of a refusal is for the caller; that of a failure is for the operator.
    public var message: String {
        switch self {
        case .refused(let refusal): refusal.message
        case .failed(let failure): failure.message
        }
    }

    /// The reason why the rules forbid it; nil for a failure.
    ///
    /// ```swift
    /// do {
    ///     try await store.perform(command)
    /// } catch {
    ///     guard error.refusal?.code == .keyConflict else { throw error }
    ///     print("used before")
    /// }
    /// ```
    ///
    /// End each `do` with a plain `catch`: the compiler of Swift 6.3 crashes on others in some async functions.
    public var refusal: Refusal? { if case .refused(let refusal) = self { refusal } else { nil } }

    /// What failed; nil for a refusal.
    ///
    /// ```swift
    /// do {
    ///     try await store.perform(command)
    /// } catch {
    ///     guard error.failure?.code == .diskFull else { throw error }
    ///     print("make room")
    /// }
    /// ```
    public var failure: StoreFailure? { if case .failed(let failure) = self { failure } else { nil } }
}

extension TraylogError: CustomStringConvertible {
    /// The text for a person.
    public var description: String {
        switch self {
        case .refused(let refusal): refusal.description
        case .failed(let failure): failure.description
        }
    }
}

/// A failure outside of the store's rules, with what to do next.
public struct StoreFailure: Error, Hashable, Sendable {
    /// The kind of failure, for a caller that reacts to it.
    ///
    /// Later versions may have more: a `switch` needs an `@unknown default`.
    #if hasAttribute(nonexhaustive)
        @nonexhaustive
    #endif
    public enum Code: String, Hashable, Sendable, CaseIterable, Codable {
        /// There is no store in the directory.
        case notFound
        /// Another process, or another part of this one, has the store open for writing.
        case openForWriting
        /// This process has the store open already.
        case alreadyOpen
        /// The store was closed.
        case closed
        /// The system does not let this process read or write.
        case permissionDenied
        /// There is no room for the write; nothing was stored.
        case diskFull
        /// The map is full: raise ``StoreOptions/mapSizeBytes``.
        case mapFull
        /// Too many processes or threads read at the same time.
        case readersFull
        /// The file is not a Traylog store.
        case foreignFile
        /// A newer version of Traylog wrote the store.
        case newerFormat
        /// Bytes on disk are not those that were written.
        case damaged
        /// A `traylog restore` into the store was not finished: repeat it.
        case unfinished
        /// The path cannot hold a new store, backup or archive: it has other files, is inside the store, or is not a valid
        /// path.
        case unusableTarget
        /// The installed LMDB, the file system or the environment cannot hold a store.
        case unsupported
        /// A compaction or an erasure of this store is running: wait for it. Or the writer overtook a ``StoreReader`` that reads
        /// without locks: repeat the query.
        case busy
        /// The caller cancelled the work. Nothing was changed. See ``TraylogError/isCancellation``.
        case cancelled
        /// A ``StoreObserver``, or the clock of ``StoreOptions``, called its store and waits for the answer, which cannot come
        /// before it returns. Start a `Task` for the call, and do not wait for it.
        case calledFromObserver
        /// The system has no room for another thread: raise the limit that the message names, or open fewer stores.
        case outOfThreads
        /// Records to apply do not begin right after the head, or leave one out (`apply`).
        case outOfSequence
        /// Another copy of the store decides at present, and nothing was stored here: send the command to that copy.
        case notOwner
        /// The log of record cannot be reached, or this copy is not up to date with it. The command may have been performed;
        /// repeat it with its key to find out.
        case unavailable
        /// Records to apply do not continue the store's log.
        case diverged
        /// Any other error of the operating system.
        case inputOutput
    }

    /// The kind of failure.
    public var code: Code
    /// The cause, the place, and what to do next.
    public var message: String
    /// The file or directory concerned, where one is known.
    public var path: String?
    /// The call that failed underneath, such as `open` or `sync`, where one is known.
    public var operation: String?
    /// The process that has the store open, for ``Code/openForWriting``.
    public var holder: Int32?
    /// The event whose bytes are damaged, for ``Code/damaged`` where it is one.
    @_spi(Operations) public package(set) var event: Seq?
    /// The end of ``message``, where that is advice for a program that embeds the store.
    private var advice = ""

    /// A failure with a message that says what happened, where, and what to do next.
    public init(
        code: Code, message: String, path: String? = nil, operation: String? = nil, holder: Int32? = nil
    ) {
        self.code = code
        self.message = message
        self.path = path
        self.operation = operation
        self.holder = holder
    }

    /// Says what to do next.
    package mutating func add(advice: String) {
        self.advice = " " + advice
        message += self.advice
    }

    /// The message with advice in place of its own, for a program whose users have options and commands, not an API; nil where
    /// the message's own advice is for everybody.
    @_spi(Operations) public func message(advising advice: String) -> String? {
        guard !self.advice.isEmpty, message.hasSuffix(self.advice) else { return nil }
        return "\(message.dropLast(self.advice.count)) \(advice)"
    }

    package var isTransient: Bool {
        switch code {
        case .openForWriting, .busy, .diskFull, .readersFull, .inputOutput, .notOwner, .unavailable, .outOfThreads: true
        default: false
        }
    }
}

extension TraylogError {
    /// Whether the same call may succeed later without a repair.
    ///
    /// The disk has room again, another process has closed the store, a compaction has ended, the log of record answers again. True
    /// for every other error of the operating system (`inputOutput`), too, whose causes are not known.
    ///
    /// False for a refusal, which stays the same as long as the store does not change.
    public var isTransient: Bool {
        failure?.isTransient ?? false
    }
}

extension TraylogError {
    /// Whether the call ended because its task was cancelled: failed with ``StoreFailure/Code/cancelled``.
    ///
    /// Calls with typed errors cannot throw `CancellationError`. ``translatingCancellation(isolation:_:)`` turns this failure into one.
    public var isCancellation: Bool {
        failure?.code == .cancelled
    }

    /// Runs calls on a store, and throws `CancellationError` if they ended because the task was cancelled; for code that
    /// distinguishes cancelled from failed tasks, such as task groups and service lifecycles.
    ///
    /// ```swift
    /// let report = try await TraylogError.translatingCancellation { try await store.upkeep.verify() }
    /// print(report.findings.count)
    /// ```
    ///
    /// - Throws: `CancellationError`; other errors of `body` unchanged.
    public static func translatingCancellation<Answer>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Answer
    ) async throws -> Answer {
        do {
            return try await body()
        } catch let error as TraylogError where error.isCancellation {
            throw CancellationError()
        }
    }
}

extension StoreFailure: CustomStringConvertible {
    /// The text for a person.
    public var description: String { message }
}
