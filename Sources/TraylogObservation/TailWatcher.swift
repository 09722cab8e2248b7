import TraylogDomain
import TraylogLMDB
import TraylogLog
import TraylogPlatform
import TraylogQueries
import TraylogStates

/// The thread that watches a store that another process writes, and wakes the observers in this process.
///
/// It waits for the wake file, reads the headers of new events, and reports their streams to the hub.
package final class TailWatcher: Sendable {
    private let watch: WakeWatch
    private let thread: OSThread

    private init(watch: WakeWatch, thread: OSThread) {
        self.watch = watch
        self.thread = thread
    }

    package static func start(_ source: FileSource, _ hub: ObservationHub) throws(ThreadRefused) -> TailWatcher {
        let watch = WakeWatch(directory: source.directory)
        let thread = try OSThread.start(name: "traylog-observe") {
            var loop = TailWatcherLoop(source: source, hub: hub)
            loop.run(watch)
        }
        return TailWatcher(watch: watch, thread: thread)
    }

    /// Makes the thread end, after the present scan.
    func stop() { watch.stop() }

    func join() { thread.join() }
}

/// The loop of the watcher's thread.
private struct TailWatcherLoop {
    let source: FileSource
    let hub: ObservationHub
    /// The last event that was reported; nil before the first look.
    private var position: UInt64?
    /// The newest stream of the events so far.
    ///
    /// A later stream may belong to an observed user who had none.
    private var newestStream = StreamID.absent

    init(source: FileSource, hub: ObservationHub) {
        self.source = source
        self.hub = hub
    }

    mutating func run(_ watch: WakeWatch) {
        while watch.wait() {
            do {
                try look()
            } catch {
                // Observers look for themselves, and get the error.
                hub.wakeAll()
            }
        }
    }

    private mutating func look() throws {
        let head = try source.environment.read { try source.tables.log.events.head(in: $0).seq }
        guard let position else {
            // Observers may have looked before this, so they must look again.
            self.position = head
            return hub.wakeAll()
        }
        guard head != position else { return }
        self.position = head
        // A log that became shorter is a different log.
        guard head > position else { return hub.wakeAll() }
        var touched = TouchedStreams()
        try touched.scan(after: position, through: head, source.tables.log.events, source.environment)
        try wake(touched)
    }

    /// Wakes the observers of streams with new events.
    ///
    /// It asks for the observers only now: one that registers later sees these events anyway.
    ///
    /// - Throws: when a stream cannot be looked up. Then it is unknown whom the events concern.
    private mutating func wake(_ touched: TouchedStreams) throws {
        let haveStrangersCome = touched.newest > newestStream
        let unresolved = hub.withObservers { $0.unresolvedUsers(withStrangers: haveStrangersCome) }
        var signals: [Signal] = []
        if !unresolved.isEmpty {
            let streams = try source.readTail { snapshot in
                try unresolved.map { try snapshot.stream(of: .user($0.value)) }
            }
            for ((identity, user), stream) in zip(unresolved, streams) {
                let found = hub.withObservers { $0.resolve(identity, user: user, stream: stream) }
                if stream != nil { signals += found }
            }
        }
        newestStream = max(newestStream, touched.newest)
        signals += hub.withObservers { $0.signals(of: touched) }
        for signal in signals { signal.raise() }
    }
}

/// The streams that a range of the log touches, from the headers of its events.
struct TouchedStreams {
    private(set) var streams: Set<StreamID> = []
    private(set) var newest = StreamID.absent
    /// Whether any event is in the stream of a topic.
    private(set) var topics = false
    /// There are too many streams to remember.
    ///
    /// Every stream counts as touched.
    private(set) var areCountless = false

    /// The maximum number of streams to remember, in about a megabyte.
    private static let limit = 50_000
    /// Events in one read transaction, so that none lives long.
    private static let chunk: UInt64 = 10_000

    func contains(_ stream: StreamID) -> Bool { areCountless || streams.contains(stream) }

    /// Adds the streams of the events after `seq` through `head`.
    mutating func scan(after seq: UInt64, through head: UInt64, _ log: EventLog, _ environment: Environment) throws {
        var next = seq + 1
        while next <= head {
            let end = min(head, next + Self.chunk - 1)
            next = try environment.read { transaction in
                try log.forEachRecord(from: next, in: transaction) { seq, record in
                    try look(at: record, seq, log, transaction)
                    return seq < end
                }
            }
            guard next > end else { throw CodecError(.damaged, seq: next, "it is missing from the log") }
        }
    }

    private mutating func look(
        at record: RawSpan, _ seq: UInt64, _ log: EventLog, _ transaction: borrowing ReadTransaction
    ) throws {
        let header = try RecordHeader.read(record, seq: seq)
        newest = max(newest, header.stream)
        if streams.count < Self.limit { streams.insert(header.stream) } else { areCountless = true }
        switch header.kind {
        case .broadcast: topics = true
        case .edited, .retracted, .expired, .reminded, .arrived:
            // An event without a user concerns a broadcast.
            guard !topics, !header.isErased else { return }
            let user = try log.withPayload(of: seq, record, in: transaction) { _, payload in
                try EventDecoder.names(seq: seq, payload: payload).user
            }
            if user == nil { topics = true }
        default: break
        }
    }
}
