import TraylogDomain
import TraylogLog
import TraylogLMDB
import TraylogStates

/// The fold of the whole log, independent of everything that is stored beside it, but for what a compaction kept of the
/// events that it took.
///
/// First the facts of the log are gathered (``FactGathering``), then each stream is folded by itself, in the order of
/// their numbers (``StreamFold``): one state at a time is in use.
///
/// Memory stays bounded: where a reading of the log would bring more facts than fit, it is read once for each range of
/// streams that fits. Events of topics are held throughout.
package struct LogFold: Sendable {
    /// Events that one pass holds in memory at least, at some 60 bytes each.
    package static let eventsPerPass = 2_000_000
    /// Events that one pass holds in memory at most.
    private static let eventsPerPassAtMost = 8_000_000
    /// Readings of a log that is shorter than so many of the longest passes.
    private static let passes: UInt64 = 8

    /// How many events a pass over a log takes, so that a long log is not read too often.
    ///
    /// - Parameter least: what it takes where the log is short.
    package static func eventsPerPass(of head: UInt64, least: Int = eventsPerPass) -> Int {
        max(least, min(Int(clamping: head / passes + 1), eventsPerPassAtMost))
    }

    /// The memory for each event of a pass, however long its fact is.
    private static let bytesPerEvent = 72

    /// One user or topic, as the log alone tells.
    package final class Folded {
        package let stream: StreamID
        package let name: StreamName
        package var state: TrayState
        /// The stream's own events in the log, also those that the base holds already.
        package internal(set) var events = 0
        /// The newest landmark; the one before while that is handed over.
        package var landmark: TrayState? { landmarks.last }
        /// The newest landmarks, ascending: an undo goes back to one of them, as a rule.
        package var landmarks: [TrayState] = []
        static let landmarkLimit = 8
        /// Times that events set, with the event.
        package var dues: [(seq: UInt64, entry: DueEntry)] = []
        /// Where the fold began; nil at the first event.
        package let base: FoldBase?

        init(stream: StreamID, name: StreamName, landmarkDistance: UInt64, base: FoldBase? = nil) {
            self.stream = stream
            self.name = name
            self.base = base
            state = base?.state ?? TrayState(landmarkDistance: landmarkDistance)
        }

        /// The state's pages that have not changed since the base.
        package var pages: BasePages { BasePages(stored: base?.pages) }
    }

    /// An environment, so that no transaction lives long; a snapshot for a fold of one stream.
    package var rows: any RowReader
    /// All that it reads.
    package let log: LogTables
    package let record: StoreRecord
    /// The last event that is folded.
    package let head: UInt64
    /// How many events a pass takes.
    package var eventsPerPass: Int
    /// The only stream to fold, beside the topics; nil for all.
    package var stream: StreamID?
    /// Whether users are brought up to their topics' last events, and not only to their own.
    package var foldsTopicsThroughHead = false
    /// The states that a compaction kept; nil where every stream is folded from its first event.
    package var bases: FoldBases?
    /// Whether the fold goes on without events that cannot be read, and does not end with the error.
    package var skipsDamage = false

    package init(rows: any RowReader, log: LogTables, record: StoreRecord, head: UInt64) {
        self.rows = rows
        self.log = log
        self.record = record
        self.head = head
        eventsPerPass = LogFold.eventsPerPass(of: head)
    }

    /// Of each buffer of facts; fewer in tests.
    var placesAtMost = FactBuffer.placesAtMost

    package var hasher: IdentityHasher { record.hasher }

    /// Folds everything and passes on each stream, by number.
    ///
    /// - Parameter progress: events folded so far; throws to end the fold.
    package func run(progress: (UInt64) throws -> Void, _ body: (Folded) throws -> Void) throws {
        try withoutActuallyEscaping(body) { body in
            var taker = ClosureTaker(body: body)
            try run(into: &taker, progress: progress)
        }
    }

    /// The same for a taker that wants landmarks, too.
    package func run<Taker: FoldTaker>(into taker: inout Taker, progress: (UInt64) throws -> Void) throws {
        // There are no more streams than events, and no more events than the file has room for (`EventLog.head`).
        guard UInt64(record.floorStreams.rawValue) <= head + 1 else {
            throw PackedError.damaged("more streams below the floor than events")
        }
        try withoutActuallyEscaping(progress) { tell in
            var progress = FoldProgress(all: head, tell)
            let every = StreamID.first..<StreamID.highest
            if stream == nil, head <= UInt64(eventsPerPass),
                let pass = try Pass(self, every, topics: nil, bytes: bytesPerPass, &progress)
            {
                return try pass.run(into: &taker, &progress)
            }
            var topics: TopicFacts?
            for range in try ranges() { topics = try run(range, topics, into: &taker, &progress) }
        }
    }

    /// One pass, whose facts are given up at its end.
    private func run<Taker: FoldTaker>(
        _ range: Range<StreamID>, _ topics: TopicFacts?, into taker: inout Taker, _ progress: inout FoldProgress
    ) throws -> TopicFacts? {
        // A range that is one stream cannot be divided.
        guard let pass = try Pass(self, range, topics: topics, bytes: .max, &progress) else { return topics }
        try pass.run(into: &taker, &progress)
        return pass.topics
    }

    private var bytesPerPass: Int { max(eventsPerPass, 1_000) * LogFold.bytesPerEvent }

    /// Streams in runs that have no more events together than a pass can hold.
    private func ranges() throws -> [Range<StreamID>] {
        if let stream { return [stream..<stream.next] }
        var weights: [UInt32] = Array(repeating: 0, count: Int(record.floorStreams.rawValue))
        try LogScan(self).headers { header, byteCount in
            let stream = Int(header.stream.rawValue)
            if stream >= weights.count { weights += Array(repeating: 0, count: stream + 1 - weights.count) }
            // A mark can name many items.
            let more = header.kind == .marked ? UInt32(byteCount / LogFold.bytesPerEvent) : 0
            weights[stream] = weights[stream].addingReportingOverflow(1 + more).partialValue
        }
        var ranges: [Range<StreamID>] = []
        var (start, sum) = (StreamID.first, 0)
        let end = StreamID(rawValue: UInt32(weights.count))
        for (stream, weight) in zip(StreamID.absent..<end, weights).dropFirst() {
            if sum > 0, sum + Int(weight) > eventsPerPass {
                ranges.append(start..<stream)
                (start, sum) = (stream, 0)
            }
            sum += Int(weight)
        }
        if start < end { ranges.append(start..<end) }
        return ranges
    }
}

/// Takes what a fold gives, stream by stream.
package protocol FoldTaker {
    /// A landmark of a user is reached; `before` is the one before it.
    mutating func reached(_ landmark: TrayState, of stream: LogFold.Folded, before: TrayState?) throws
    /// A stream is folded; each comes once, in the order of their numbers.
    mutating func take(_ stream: LogFold.Folded) throws
}

/// For callers who want nothing but the states.
private struct ClosureTaker: FoldTaker {
    let body: (LogFold.Folded) throws -> Void

    mutating func reached(_ landmark: TrayState, of stream: LogFold.Folded, before: TrayState?) {}
    mutating func take(_ stream: LogFold.Folded) throws { try body(stream) }
}
