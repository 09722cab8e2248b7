import TraylogArchive
@_spi(Operations) import TraylogDomain
import TraylogLMDB
import TraylogLog
import TraylogPlatform

/// Too many events wait for states that cannot be stored.
package struct UnstoredStates: Error {
    package let events: Int
    /// What keeps the states from being stored.
    package let cause: any Error

    package init(events: Int, cause: any Error) {
        (self.events, self.cause) = (events, cause)
    }
}

extension TraylogError {
    /// Makes the error that a caller sees from any error inside of the library.
    package init(_ error: any Error, in directory: String) {
        switch error {
        case let error as TraylogError: self = error
        case let refusal as Refusal: self = .refused(refusal)
        case let failure as StoreFailure: self = .failed(failure)
        case let error as LMDBError: self = .failed(StoreFailure(error))
        case let error as CodecError: self = .failed(StoreFailure(error))
        case let error as ArchiveError: self = .failed(StoreFailure(error))
        case let fault as RevisionFault: self = .failed(StoreFailure(CodecError(fault, stream: nil)))
        case let error as PackedError: self = .failed(StoreFailure(error, in: directory))
        case let error as DamagedStates: self = .failed(StoreFailure(error, in: directory))
        case let error as UnstoredStates:
            guard case .failed(var failure) = TraylogError(error.cause, in: directory) else {
                preconditionFailure("Storing states is refused by no rule.")
            }
            failure.message =
                "nothing is appended, because \(error.events) events wait for states that cannot be stored: "
                + failure.message
            self = .failed(failure)
        case is CancellationError: self = .cancelled(directory)
        case let error as ThreadRefused:
            self = .failed(StoreFailure(code: .outOfThreads, message: "\(directory): \(error)", path: directory))
        default: self = .failed(StoreFailure(code: .inputOutput, message: "\(directory): \(error)"))
        }
    }
}

extension StoreFailure {
    /// The clock says what no event can be stamped with.
    package static func impossibleTime(_ time: Timestamp) -> StoreFailure {
        StoreFailure(
            code: .unsupported,
            message:
                "nothing was appended, because the clock says \(time), which is outside of the years 0000 to 9999; set it "
                + "right (a clock of `StoreOptions` counts milliseconds since 1970), and repeat the command")
    }
}

extension TraylogError {
    /// The caller gave up what had not begun, or only read.
    package static func cancelled(_ directory: String) -> TraylogError {
        .failed(
            StoreFailure(
                code: .cancelled, message: "\(directory): the task was cancelled, and nothing was changed",
                path: directory))
    }

    /// The store was closed, in the words of its files.
    package static func closed(_ directory: String) -> TraylogError {
        TraylogError(LMDBError.closed("use", directory), in: directory)
    }

    /// An observer waits for its own store.
    package static func calledFromObserver(_ directory: String) -> TraylogError {
        .failed(
            StoreFailure(
                code: .calledFromObserver,
                message:
                    "\(directory): the store's observer or clock called the store and waits for it, and the store waits for "
                    + "that; start a Task for the call, and return without waiting for it",
                path: directory))
    }
}

extension StoreFailure {
    init(_ error: LMDBError) {
        let place = error.path.map { "\($0): " } ?? ""
        self.init(
            code: Code(error.code), message: place + error.message, path: error.path, operation: error.operation,
            holder: error.holderPID)
        if let advice = DerivedTables.caused(error) ? Self.rebuildAdvice : error.storeAdvice { add(advice: advice) }
    }

    private static let rebuildAdvice =
        "The log has all that this table holds: the next program that opens the store for writing derives it again, and so "
        + "does `traylog replay --rebuild`."

    package init(_ error: DamagedStates, in directory: String) {
        self.init(
            code: .damaged, message: "\(directory): \(error.what) is damaged. \(Self.rebuildAdvice)", path: directory)
    }

    init(_ error: CodecError) {
        self.init(code: error.code == .newer ? .newerFormat : .damaged, message: error.message)
        event = error.seq.map { Seq($0) }
    }

    init(_ error: ArchiveError) {
        self.init(code: Code(error.code), message: error.message)
    }

    package init(_ error: PackedError, in directory: String) {
        switch error {
        case .damaged(let what):
            self.init(
                code: .damaged,
                message:
                    "a stored state in \(directory) is damaged (\(what)); run `traylog replay --rebuild`, which derives "
                    + "it from the log again")
        case .newer(let version):
            self.init(
                code: .newerFormat,
                message:
                    "\(directory) was written by a newer version of Traylog (format \(version)); open it with that version"
            )
        case .older(let version):
            self.init(
                code: .unsupported,
                message:
                    "\(directory) was written by a version of Traylog before 0.1.0 (format \(version)); export it with that "
                    + "version, and restore the export with this one")
        }
    }
}

extension StoreFailure.Code {
    init(_ code: ArchiveError.Code) {
        self =
            switch code {
            case .notFound, .noArchives: .notFound
            case .notAnArchive, .otherStore: .foreignFile
            case .newer: .newerFormat
            case .older: .unsupported
            case .truncated, .damaged: .damaged
            case .permissionDenied: .permissionDenied
            case .diskFull: .diskFull
            case .unusableDirectory: .unusableTarget
            case .busy: .busy
            case .missingEvents: .damaged
            case .incomplete: .unavailable
            case .diverged: .diverged
            case .inputOutput: .inputOutput
            }
    }

    init(_ code: LMDBError.Code) {
        self =
            switch code {
            case .notFound: .notFound
            case .notAStore: .foreignFile
            case .newerFormat, .versionMismatch: .newerFormat
            case .truncated, .corrupted, .missingDatabase, .panic: .damaged
            case .writerLocked: .openForWriting
            case .alreadyOpen: .alreadyOpen
            case .permissionDenied, .readOnly: .permissionDenied
            case .diskFull: .diskFull
            case .mapFull, .mapResized, .transactionFull: .mapFull
            case .overtaken: .busy
            case .readersFull: .readersFull
            case .unsupportedLibrary, .unsupportedFileSystem, .wrongNamespace, .wrongProcess: .unsupported
            case .closed: .closed
            case .unusableTarget: .unusableTarget
            case .system(SystemError.cancelled.number): .cancelled
            case .openLocked, .badValueSize, .keyExists, .outOfOrder, .poisoned, .nestedWrite, .system, .other:
                .inputOutput
            }
    }
}

extension PackedError {
    /// The cause, in words.
    package var reason: String {
        switch self {
        case .damaged(let what): what
        case .newer(let version): "it was written by a newer version of Traylog (format \(version))"
        case .older(let version): "it was written by an older version of Traylog (format \(version))"
        }
    }
}
