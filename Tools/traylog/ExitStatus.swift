import Traylog

/// How the program ended, for scripts.
enum ExitStatus: Int32 {
    case done = 0
    /// A check found a difference.
    case difference = 1
    case usage = 64
    /// The rules refuse the input.
    case refused = 65
    case noSuchStore = 66
    /// Another process has the store open for writing.
    case openElsewhere = 69
    /// Input or output failed, or the store is damaged.
    case inputOutput = 74
}

extension ExitStatus {
    init(_ code: StoreFailure.Code) {
        switch code {
        case .notFound: self = .noSuchStore
        case .openForWriting: self = .openElsewhere
        case .alreadyOpen, .closed, .permissionDenied, .diskFull, .mapFull, .readersFull, .foreignFile, .newerFormat,
            .damaged, .unfinished, .unusableTarget, .unsupported, .busy, .cancelled,
            .calledFromObserver, .outOfThreads, .outOfSequence, .diverged, .notOwner, .unavailable, .inputOutput:
            self = .inputOutput
        @unknown default: self = .inputOutput
        }
    }
}
