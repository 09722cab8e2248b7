import Synchronization
import TraylogDomain
import TraylogPlatform

/// Is told what a store does, for logs and metrics (``StoreOptions/observer``).
public protocol StoreObserver: Sendable {
    /// Takes note of something that has just happened, and that queries show already.
    ///
    /// Called on threads of the store, or on the thread of a caller who writes by itself (``Store/blocking``). Commands wait until it
    /// returns, so it should be quick.
    ///
    /// It may ask ``Store/blocking`` queries. To perform a command, start a `Task` and do not wait for it: the store performs it
    /// after this call returns. A call that waits here for the writer fails with ``StoreFailure/Code/calledFromObserver``: at
    /// once where the observer calls it, and after ten seconds where the observer waits for a `Task` that it started. A wait for
    /// a thread of another kind is not noticed, and never ends. ``Store/close()`` returns at once, and closes the store after
    /// this call has returned.
    ///
    /// ```swift
    /// struct Alarm: StoreObserver {
    ///     let alarms: Store
    ///
    ///     func observe(_ activity: StoreActivity) {
    ///         guard case .failed(let work, let error) = activity else { return }
    ///         Task { try await alarms.notify("operator", title: "\(work.rawValue): \(error)") }
    ///     }
    /// }
    /// ```
    func observe(_ activity: StoreActivity)
}

/// A call of an observer that is under way, for calls on the store from within.
package final class ObserverCall: Sendable {
    /// The call that the present thread, or the task that the observer started, comes from.
    @TaskLocal private static var current: ObserverCall?
    /// How long a task of the observer may wait for a store that waits for the observer; shorter in tests.
    package static let timeoutMilliseconds = Atomic<Int>(10_000)

    private let thread = OSThread.currentNumber
    /// The writer, or the pool, that does nothing else until the observer returns.
    private let held: ObjectIdentifier
    private let outer: ObserverCall?
    private let isOver = Atomic(false)

    private init(_ held: ObjectIdentifier) {
        self.held = held
        outer = Self.current
    }

    /// Tells an observer.
    ///
    /// - Parameter held: what does nothing else until the observer returns.
    package static func tell(_ observer: any StoreObserver, _ activity: StoreActivity, holding held: AnyObject) {
        hold(held) { observer.observe(activity) }
    }

    /// Runs a function of the embedding program.
    ///
    /// - Parameter held: what does nothing else until it returns.
    package static func hold<Answer>(_ held: AnyObject, _ body: () -> Answer) -> Answer {
        let call = ObserverCall(ObjectIdentifier(held))
        defer { call.isOver.store(true, ordering: .releasing) }
        return $current.withValue(call) { body() }
    }

    /// The call under way from which this one comes, and which holds something; nil for none.
    package static func holding(_ held: AnyObject) -> ObserverCall? {
        var call = current
        while let this = call {
            if this.held == ObjectIdentifier(held), this.isUnderWay { return this }
            call = this.outer
        }
        return nil
    }

    /// Whether this thread is in a call that holds something.
    package static func isHere(holding held: AnyObject) -> Bool {
        holding(held)?.thread == OSThread.currentNumber
    }

    private var isUnderWay: Bool { !isOver.load(ordering: .acquiring) }

    /// Runs `body` if the call is still under way after the timeout, because it probably waits for what `body` gives up.
    package func ifStuck(_ body: @escaping @Sendable () -> Void) {
        Task.detached { [self] in
            try? await Task.sleep(for: .milliseconds(Self.timeoutMilliseconds.load(ordering: .relaxed)))
            if isUnderWay { body() }
        }
    }
}

/// Something that a store has done or noticed.
///
/// Later versions may report more: a `switch` needs an `@unknown default`.
#if hasAttribute(nonexhaustive)
    @nonexhaustive
#endif
public enum StoreActivity: Hashable, Sendable {
    /// A transaction with events is durable.
    ///
    /// `waited` is how long the command that came first had waited when the transaction began; `writing` is the time that
    /// the file took, its syncs included.
    case committed(events: UInt64, head: Seq, waited: Duration, writing: Duration)
    /// A query of a task was answered, after it had waited for a thread; not at all where the task read by itself. Trays that are
    /// known are not told of.
    case queried(waited: Duration, running: Duration)
    /// Some stored states were brought up to the log.
    case flushed(writing: Duration)
    /// A tick came to its end.
    case ticked(woken: UInt64, expired: UInt64, duration: Duration)
    /// The store compacted itself (``StoreOptions/compaction``).
    case compacted(dropped: UInt64, bytesBefore: UInt64, bytesAfter: UInt64)
    /// Stored states could not be read, and the store derived all of them from the log again: when it was opened, before that
    /// returned, or while appends and queries went on. No event was lost. Check the disk.
    case rebuilt(after: TraylogError)
    /// The clock is more than five seconds behind the newest event, so that events get the time of that event until the clock has
    /// caught up. Told once, and again when it happens after the clock was right. If it is years, the clock was wrong when
    /// that event was recorded.
    case clockBehind(by: Duration)
    /// Work in the background failed. It is reported only here, and tried again; no event is lost.
    case failed(BackgroundWork, TraylogError)
}

extension StoreActivity {
    /// How far a clock may be behind the log, because clocks are corrected.
    package static let toleratedLagMilliseconds: Int64 = 5_000
}

/// A kind of work that a store does in the background.
public enum BackgroundWork: String, Hashable, Sendable, Codable {
    /// Waking and expiring by itself.
    case tick
    /// Bringing stored states up to the log.
    case flush
    /// Bringing to the disk what a relaxed commit left to the system.
    case sync
    /// Compacting by policy.
    case compaction
    /// Deriving states that could not be read from the log again. The next opening tries it again, and so does
    /// `traylog replay --rebuild`.
    case rebuild
    /// Closing a store that was released without ``Store/close()``: the system refused the thread that was to do it. The next
    /// opening of any store in this process does it.
    case closing
    /// Making sure that the store is where it was opened: it was removed or replaced, and every append fails from now on.
    case location
    /// Folding or storing a custom projection; ``StoreFailure/message`` names the file. It is tried again every second.
    case projection
}
