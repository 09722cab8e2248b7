import TraylogDomain
import TraylogObservation
import TraylogPlatform
import TraylogStates

/// The part that all sequences that follow a store share: each begins to observe with its first element, and ends once.
struct Following {
    private let stopper: Stopper?
    private var observation: Observation?
    private var attachment: Stopper.Attachment?
    private(set) var hasEnded = false

    init(_ stopper: Stopper?) { self.stopper = stopper }

    /// Whether nothing was observed yet.
    var isNew: Bool { observation == nil }

    /// Signals changes since the first call; nil when the store is closed.
    ///
    /// - Parameter directory: the store's, for errors.
    /// - Throws: failed `outOfThreads`.
    mutating func signal(
        in directory: String, _ observe: () throws(ThreadRefused) -> Observation?
    ) throws(TraylogError) -> Signal? {
        if observation == nil {
            do {
                observation = try observe()
            } catch {
                throw TraylogError(error, in: directory)
            }
            attachment = observation.flatMap { stopper?.attach($0.signal) }
        }
        return observation?.signal
    }

    /// Ends the sequence.
    ///
    /// - Throws: the error that ended it. A closed store or a cancelled task is not an error but the normal end of a sequence
    ///   that is never complete.
    mutating func end(_ error: TraylogError? = nil) throws(TraylogError) {
        (hasEnded, observation, attachment) = (true, nil, nil)
        switch error {
        case .failed(let failure) where failure.code == .closed || failure.code == .cancelled: break
        case let error?: throw error
        case nil: break
        }
    }
}
