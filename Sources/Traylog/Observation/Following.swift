import TraylogDomain
import TraylogObservation

/// The part that all sequences that follow a store share: each begins to observe with its first element, and ends once.
struct Following {
    private let stopper: Stopper?
    private var observation: Observation?
    private var attachment: Stopper.Attachment?
    private(set) var hasEnded = false

    init(_ stopper: Stopper?) { self.stopper = stopper }

    /// Whether nothing was observed yet.
    var isNew: Bool { observation == nil }

    /// Tells of changes since the first call; nil when the store is closed.
    mutating func signal(_ observe: () -> Observation?) -> Signal? {
        if observation == nil {
            observation = observe()
            attachment = observation.flatMap { stopper?.attach($0.signal) }
        }
        return observation?.signal
    }

    /// Ends the sequence.
    ///
    /// - Throws: what it ended with, but for a store that was closed, which is a normal end.
    mutating func end(_ error: TraylogError? = nil) throws(TraylogError) {
        (hasEnded, observation, attachment) = (true, nil, nil)
        switch error {
        case .failed(let failure) where failure.code == .closed: break
        case let error?: throw error
        case nil: break
        }
    }
}
