import TraylogDomain
import TraylogPlatform

/// The thread that watches a store which another process writes, and wakes the observers of this one.
///
/// It waits for the wake file, looks at the headers of new events, and tells the hub whose streams they are in.
final class TailWatcher: Sendable {
    private let watch: WakeWatch
    private let thread: OSThread

    private init(watch: WakeWatch, thread: OSThread) {
        self.watch = watch
        self.thread = thread
    }

    static func start(_ source: FileSource, _ hub: ObservationHub) -> TailWatcher {
        let watch = WakeWatch(directory: source.directory)
        let thread = OSThread.start(name: "traylog-observe") {
            var loop = TailWatcherLoop(source: source, hub: hub)
            loop.run(watch)
        }
        return TailWatcher(watch: watch, thread: thread)
    }

    /// Lets the thread end; it may take the time of a scan.
    func stop() { watch.stop() }

    func join() { thread.join() }
}

/// What the watcher's thread does.
private struct TailWatcherLoop {
    let source: FileSource
    let hub: ObservationHub
    /// All events through here are told; nil before the first look.
    private var position: UInt64?
    /// The newest stream that any event was seen in. A user whom nobody knew may have come with every later one.
    private var newestStream: UInt32 = 0

    init(source: FileSource, hub: ObservationHub) {
        self.source = source
        self.hub = hub
    }

    mutating func run(_ watch: WakeWatch) {
        while watch.wait() {
            do {
                try look()
            } catch {
                // Observers look for themselves, and find out what is wrong.
                hub.wakeAll()
            }
        }
    }

    private mutating func look() throws {
        let head = try source.environment.read { try source.tables.log.head(in: $0).seq }
        guard let position else {
            // Observers may have looked before this, so they have to look again.
            self.position = head
            return hub.wakeAll()
        }
        guard head != position else { return }
        self.position = head
        // A log that became shorter is another log.
        guard head > position else { return hub.wakeAll() }
        var touched = TouchedStreams()
        try touched.scan(after: position, through: head, source)
        try wake(touched)
    }

    /// Wakes those in whose streams there is something new.
    ///
    /// Only now the observers are asked for: whoever registers later sees these events by himself.
    ///
    /// - Throws: what a look-up fails with; then it is not known whom the events concern.
    private mutating func wake(_ touched: TouchedStreams) throws {
        let haveStrangersCome = touched.newest > newestStream
        let unresolved = hub.withObservers { $0.unresolvedUsers(withStrangers: haveStrangersCome) }
        var signals: [Signal] = []
        for (identity, user) in unresolved {
            let stream = try source.stream(of: .user(user))
            let found = hub.withObservers { $0.resolve(identity, user: user, stream: stream) }
            if stream != nil { signals += found }
        }
        newestStream = max(newestStream, touched.newest)
        signals += hub.withObservers { $0.signals(of: touched) }
        for signal in signals { signal.raise() }
    }
}
