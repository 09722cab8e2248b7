import TraylogDomain

/// Is told what a store does, for logs and metrics (``StoreOptions/observer``).
public protocol StoreObserver: Sendable {
    /// Takes note of something that has just happened.
    ///
    /// Called on threads of the store, or on that of a caller who writes by itself (``Store/blocking``), often while a transaction
    /// ends: everybody waits until it returns. Do not call the store from here.
    func observe(_ activity: StoreActivity)
}

/// What a store did.
///
/// Later versions may tell of more: a `switch` needs an `@unknown default`.
#if hasAttribute(nonexhaustive)
    @nonexhaustive
#endif
public enum StoreActivity: Hashable, Sendable {
    /// A transaction with events is durable.
    ///
    /// `waited` is how long the command that came first had waited when the transaction began; `writing` is the time that
    /// the file took, its syncs included.
    case committed(events: UInt64, head: Seq, waited: Duration, writing: Duration)
    /// A query of a task was answered, after it had waited for a thread. Trays that are known are answered without one, and
    /// not told of.
    case queried(waited: Duration, running: Duration)
    /// Some stored states were brought up to the log.
    case flushed(writing: Duration)
    /// A tick came to its end.
    case ticked(woken: UInt64, expired: UInt64, duration: Duration)
    /// The store compacted itself (``StoreOptions/compaction``).
    case compacted(dropped: UInt64, bytesBefore: UInt64, bytesAfter: UInt64)
    /// Work in the background failed, which nobody else is told of. It is tried again; no event is lost.
    case failed(BackgroundWork, TraylogError)
}

/// What a store does without being asked.
public enum BackgroundWork: String, Hashable, Sendable, Codable {
    /// Waking and expiring by itself.
    case tick
    /// Bringing stored states up to the log.
    case flush
    /// Bringing to the disk what a relaxed commit left to the system.
    case sync
    /// Compacting by policy.
    case compaction
    /// Making sure that the store is where it was opened: it was removed or replaced, and every append fails from now on.
    case location
    /// Folding or storing a custom projection; ``StoreFailure/message`` names the file. It is tried again every second.
    case projection
}
