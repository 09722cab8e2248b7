@_spi(Replication) import TraylogDomain
import TraylogLog
import TraylogStates

/// Gathers the facts of some streams from the log.
struct FactGathering {
    private static let eventsPerStep: UInt64 = 8_192

    let fold: LogFold
    let range: Range<StreamID>
    /// The memory that the facts may take.
    let bytes: Int
    /// Of streams in the range.
    private(set) var facts: FactBuffer
    /// Of topics, wherever they are, if they are wanted.
    private(set) var ofTopics: FactBuffer
    private var topics: TopicStreams?
    /// Whether there were more facts than may be.
    private(set) var isOverfull = false

    /// - Parameter topics: those known so far, if the facts of all topics are to be gathered.
    init(fold: LogFold, range: Range<StreamID>, topics: TopicFacts?, bytes: Int) {
        self.fold = fold
        self.range = range
        self.bytes = bytes
        self.topics = topics.map { TopicStreams(known: $0) }
        facts = FactBuffer(firstStream: range.lowerBound, placesAtMost: fold.placesAtMost)
        ofTopics = FactBuffer(firstStream: .absent, placesAtMost: fold.placesAtMost)
    }

    /// The facts by stream.
    consuming func sorted() -> FactBuffer {
        facts.sort()
        return facts
    }

    mutating func run(_ progress: inout FoldProgress) throws {
        // Room that nobody uses takes no memory, but arrays that grow leave holes behind.
        if fold.stream == nil { facts.reserve(facts: min(Int(clamping: fold.head), fold.eventsPerPass)) }
        // Taken out, so that nobody else has a share in what grows.
        var (facts, ofTopics, topics) = (
            FactBuffer(firstStream: .absent), FactBuffer(firstStream: .absent), self.topics
        )
        swap(&facts, &self.facts)
        swap(&ofTopics, &self.ofTopics)
        defer {
            swap(&facts, &self.facts)
            swap(&ofTopics, &self.ofTopics)
        }
        let (range, hasher, bytes, skipsDamage) = (range, fold.hasher, bytes, fold.skipsDamage)
        var (seen, isOverfull, isTopic) = (UInt64(0), false, false)
        do {
            try LogScan(fold).events(where: { header in
                isTopic = topics?.holds(header) ?? false
                return isTopic || range.contains(header.stream)
            }) { seq, header, payload in
                var times = FactTimes()
                var fact: Fact
                if header.isErased {
                    fact = Fact(seq: seq, kind: .erased)
                    fact.revision = header.revision
                } else {
                    fact = try EventDecoder.fact(
                        seq: seq, header: header, payload: payload, hasher: hasher, times: &times)
                }
                // Where events may be missing, gaps are found by whoever reads the log itself.
                if skipsDamage { fact.revision = 0 }
                let stream = header.stream
                guard facts.hasRoom, ofTopics.hasRoom else { throw Overfull(stream: stream) }
                if range.contains(stream) {
                    let name = facts.has(stream) ? nil : try Self.name(seq, header, payload)
                    facts.add(fact, times: times, stream: stream, name: name)
                }
                if isTopic {
                    let name = ofTopics.has(stream) ? nil : try Self.name(seq, header, payload)
                    ofTopics.add(fact, times: times, stream: stream, name: name)
                }
                seen += 1
                guard seen % Self.eventsPerStep == 0 else { return }
                progress.add(Self.eventsPerStep)
                try progress.report()
                if facts.byteCount > bytes { throw Overfull(stream: stream) }
            }
            progress.add(seen % Self.eventsPerStep)
        } catch let found as Overfull {
            // What cannot be divided any more may take any memory, but not more than can be numbered.
            guard bytes < .max else { throw found.failure }
            isOverfull = true
        }
        self.isOverfull = isOverfull || facts.byteCount > bytes
    }

    /// Whose the stream is; nil where the event does not say it, as of a topic whose broadcasts have left the log.
    private static func name(_ seq: UInt64, _ header: RecordHeader, _ payload: RawSpan) throws -> StreamName? {
        if header.isErased || header.kind == .erased { return .erased(header.stream) }
        return try EventDecoder.streamName(seq: seq, payload: payload)
    }

    private struct Overfull: Error {
        let stream: StreamID

        var failure: StoreFailure {
            StoreFailure(
                code: .unsupported,
                message:
                    "stream \(stream) has more events than can be folded together, some 400 million: compact the store, or erase "
                    + "the user")
        }
    }
}

/// Which streams are topics', as far as the log was read.
private struct TopicStreams {
    let known: TopicFacts
    private var found: Set<StreamID> = []

    init(known: TopicFacts) { self.known = known }

    /// Whether the event is of a topic: the first one of a topic is a broadcast.
    mutating func holds(_ header: RecordHeader) -> Bool {
        if header.kind == .broadcast {
            found.insert(header.stream)
            return true
        }
        return (!found.isEmpty && found.contains(header.stream)) || known.has(header.stream)
    }
}
