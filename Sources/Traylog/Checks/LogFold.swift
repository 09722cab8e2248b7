import TraylogDomain
import TraylogLMDB
import TraylogLog

/// The fold of the whole log, independent of everything that is stored beside it, but for what a compaction kept of the
/// events that it took.
///
/// Memory stays bounded: the log is read once for each range of streams that fits. Events of topics are held
/// throughout.
struct LogFold {
    /// Events that one pass holds in memory, as items and entries of indexes: about 100 bytes each.
    static let eventsPerPass = 2_000_000

    /// One user or topic, as the log alone tells.
    ///
    /// A class, because a value would be copied with each event.
    final class Folded {
        let name: StreamName
        var state: TrayState
        var events = 0
        /// The newest landmarks: the last one, and the one before while that is handed over.
        var landmark: TrayState?
        /// Times that events set, with the event.
        var dues: [(seq: UInt64, entry: DueEntry)] = []
        /// Where the fold began; nil at the first event.
        let base: FoldBase?

        init(name: StreamName, landmarkDistance: UInt64, base: FoldBase? = nil) {
            self.name = name
            self.base = base
            state = base?.state ?? TrayState(landmarkDistance: landmarkDistance)
        }

        /// What is not at hand of the state's pages.
        var pages: BasePages { BasePages(stored: base?.pages) }
    }

    let environment: Environment
    let tables: Tables
    let record: StoreRecord
    /// The last event that is folded.
    let head: UInt64
    /// How many events a pass takes.
    var eventsPerPass = LogFold.eventsPerPass
    /// The only stream to fold, beside the topics; nil for all.
    var stream: UInt32?
    /// Whether users are brought up to their topics' last events, and not only to their own.
    var foldsTopicsThroughHead = false
    /// What a compaction kept of a stream; nil for one that is folded from its first event.
    var base: (UInt32) throws -> FoldBase? = { _ in nil }
    /// Told of an event that cannot be read; the fold goes on without it. Throws to end the fold.
    var damaged: (UInt64, CodecError) throws -> Void = { throw $1 }
    /// Told of each landmark of a stream when it is reached, and of the one before it.
    var landmark: (_ stream: UInt32, _ name: StreamName, _ reached: TrayState, _ before: TrayState?) throws -> Void = {
        _, _, _, _ in
    }

    var hasher: IdentityHasher { record.hasher }

    /// Folds everything and hands over the streams of each pass, by number.
    ///
    /// - Parameter progress: events folded so far.
    func run(
        progress: (UInt64) -> Void, _ body: (_ first: UInt32, _ streams: [Folded?]) throws -> Void
    ) throws {
        var done: UInt64 = 0
        for range in try ranges() {
            var pass = try Pass(fold: self, range: range)
            try scan { seq, header, payload in
                guard try pass.fold(seq, header, payload) else { return }
                done += 1
                if done % 16_384 == 0 { progress(done) }
            }
            progress(done)
            if foldsTopicsThroughHead { try pass.foldTopics() }
            try body(range.lowerBound, pass.streams)
        }
    }

    /// Streams in runs that have no more events together than a pass can hold.
    private func ranges() throws -> [Range<UInt32>] {
        if let stream { return [stream..<(stream + 1)] }
        guard head > UInt64(eventsPerPass) else {
            let end = try max(lastStream() + 1, record.floorStreams)
            return end > 1 ? [1..<end] : []
        }
        var counts: [Int] = Array(repeating: 0, count: Int(record.floorStreams))
        try headers { header in
            let stream = Int(header.stream)
            if stream >= counts.count { counts += Array(repeating: 0, count: stream + 1 - counts.count) }
            counts[stream] += 1
        }
        var ranges: [Range<UInt32>] = []
        var (start, sum) = (UInt32(1), 0)
        for (stream, count) in counts.enumerated().dropFirst() {
            if sum > 0, sum + count > eventsPerPass {
                ranges.append(start..<UInt32(stream))
                (start, sum) = (UInt32(stream), 0)
            }
            sum += count
        }
        if Int(start) < counts.count { ranges.append(start..<UInt32(counts.count)) }
        return ranges
    }

    private func lastStream() throws -> UInt32 {
        var last: UInt32 = 0
        try headers { last = max(last, $0.stream) }
        return last
    }

    private func headers(_ body: (RecordHeader) -> Void) throws {
        try records { seq, record, _ in
            let header = try RecordHeader.read(record, seq: seq)
            try header.checkStream(at: seq)
            body(header)
        }
    }

    private func scan(_ body: (UInt64, RecordHeader, RawSpan) throws -> Void) throws {
        let log = tables.log
        try records { seq, record, transaction in
            let header = try RecordHeader.read(record, seq: seq)
            guard !header.isErased else {
                try RecordCodec.verify(seq: seq, record: record)
                return try body(seq, header, RawSpan())
            }
            try log.withPayload(of: seq, record, in: transaction) { try body(seq, $0, $1) }
        }
    }

    /// Visits all records in chunks, so that no read transaction lives long.
    private func records(
        _ body: (UInt64, RawSpan, borrowing ReadTransaction) throws -> Void
    ) throws {
        let log = tables.log
        var next: UInt64 = 1
        while next <= head {
            next = try environment.read { transaction in
                let end = min(head, next + 9_999)
                let floor = record.floor.seq.rawValue
                let reached = try log.forEachRecord(from: next, floor: floor, in: transaction) { seq, record in
                    guard seq <= head else { return false }
                    do {
                        try body(seq, record, transaction)
                    } catch let error as CodecError {
                        try damaged(seq, error)
                    }
                    return seq < end
                }
                guard reached > end else {
                    throw CodecError(.damaged, seq: reached, "it is missing from the log")
                }
                return reached
            }
        }
    }
}

/// One reading of the log, for a range of streams.
private struct Pass {
    let fold: LogFold
    let range: Range<UInt32>
    private(set) var streams: [LogFold.Folded?]
    private var topics = TopicFacts()

    init(fold: LogFold, range: Range<UInt32>) throws {
        self.fold = fold
        self.range = range
        streams = Array(repeating: nil, count: Int(range.upperBound - range.lowerBound))
        // Topics everywhere, because any user may need them.
        for stream in 1..<max(fold.record.floorStreams, 1) {
            guard let base = try fold.base(stream) else { continue }
            if range.contains(stream) {
                streams[Int(stream - range.lowerBound)] = LogFold.Folded(
                    name: base.name, landmarkDistance: fold.record.landmarkDistance, base: base)
            }
            if base.name.isTopic { topics.begin(stream, base.name, fold.hasher) }
        }
    }

    /// Folds one event in; false when it is of no stream of this pass.
    mutating func fold(_ seq: UInt64, _ header: RecordHeader, _ payload: RawSpan) throws -> Bool {
        let isOurs = range.contains(header.stream)
        let isTopic = header.kind == .broadcast || topics.has(header.stream)
        guard isOurs || isTopic else { return false }
        var due: Timestamp?
        let fact =
            header.isErased
            ? Fact(seq: seq, kind: .erased)
            : try EventDecoder.fact(seq: seq, header: header, payload: payload, hasher: fold.hasher, due: &due)
        if isTopic { try topics.add(fact, header.stream, payload, fold.hasher) }
        guard isOurs else { return false }
        let folded = try stream(header, seq, payload)
        guard seq > folded.state.appliedSeq || folded.base == nil else {
            // The base holds it; what it made due is nowhere else.
            if let due, let entry = DueEntry(fact, due: due, stream: header.stream) { folded.dues.append((seq, entry)) }
            return true
        }
        if let due, let entry = DueEntry(fact, due: due, stream: header.stream) { folded.dues.append((seq, entry)) }
        try apply(fact, to: folded, stream: header.stream, isTopic: isTopic)
        folded.events += 1
        return true
    }

    private mutating func stream(
        _ header: RecordHeader, _ seq: UInt64, _ payload: RawSpan
    ) throws -> LogFold.Folded {
        let index = Int(header.stream - range.lowerBound)
        if let folded = streams[index] { return folded }
        let isErased = header.isErased || header.kind == .erased
        guard let name = try isErased ? .erased(header.stream) : EventDecoder.streamName(seq: seq, payload: payload)
        else {
            throw CodecError(.damaged, seq: seq, "it names neither a user nor a topic")
        }
        let folded = LogFold.Folded(name: name, landmarkDistance: fold.record.landmarkDistance)
        streams[index] = folded
        return folded
    }

    /// Folds in what topics brought after users' last own events.
    func foldTopics() throws {
        for (index, folded) in streams.enumerated() {
            guard let folded, !folded.state.topics.isEmpty else { continue }
            let history = LogHistory(
                fold: fold, topics: topics, landmark: folded.landmark, base: folded.base,
                current: Fact(seq: 0, kind: .compacted))
            var reached: [TrayState] = []
            try folded.state.catchUp(
                own: 0, through: fold.head, stored: folded.pages, history: history, next: { _ in 0 },
                landmark: { reached.append(copy $0) })
            try take(reached, of: folded, stream: range.lowerBound + UInt32(index))
        }
    }

    private func take(_ reached: [TrayState], of folded: LogFold.Folded, stream: UInt32) throws {
        for landmark in reached {
            try fold.landmark(stream, folded.name, landmark, folded.landmark)
            folded.landmark = landmark
        }
    }

    private func apply(
        _ fact: borrowing Fact, to folded: LogFold.Folded, stream: UInt32, isTopic: Bool
    ) throws {
        var reached: [TrayState] = []
        if isTopic || (folded.state.topics.isEmpty && !fact.kind.needsHistory) {
            try folded.state.apply(fact, stored: folded.pages)
            // By its fields: asked as a whole, the state would be copied for each event.
            if !isTopic, folded.state.lastLandmark == fact.seq { reached.append(folded.state) }
        } else {
            let history = LogHistory(
                fold: fold, topics: topics, landmark: folded.landmark, base: folded.base, current: copy fact)
            try folded.state.catchUp(
                own: fact.seq, through: fact.seq, stored: folded.pages, history: history, next: { _ in 0 },
                landmark: { reached.append(copy $0) })
        }
        try take(reached, of: folded, stream: stream)
    }
}
