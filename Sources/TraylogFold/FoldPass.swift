import TraylogLog
import TraylogStates

extension LogFold {
    /// The facts of a range of streams, gathered in one reading of the log, and those of all topics.
    struct Pass {
        private let fold: LogFold
        private let range: Range<StreamID>
        private let facts: FactBuffer
        let topics: TopicFacts

        /// - Parameters:
        ///   - topics: the facts of topics from an earlier pass.
        ///   - bytes: what the facts may take.
        /// - Returns: nil when they take more.
        init?(
            _ fold: LogFold, _ range: Range<StreamID>, topics known: TopicFacts?, bytes: Int,
            _ progress: inout FoldProgress
        ) throws {
            self.fold = fold
            self.range = range
            var topics = known ?? TopicFacts()
            if known == nil, let bases = fold.bases {
                for topic in try bases.topics() { topics.begin(topic.stream, topic.name, fold.hasher) }
            }
            // Of a range, only the topics' facts are wanted beside its own.
            let gathersTopics = known == nil && range.upperBound != .highest
            var gathering = FactGathering(fold: fold, range: range, topics: gathersTopics ? topics : nil, bytes: bytes)
            try gathering.run(&progress)
            guard !gathering.isOverfull else { return nil }
            if gathersTopics {
                topics.add(gathering.ofTopics, fold.hasher)
            } else if known == nil {
                topics.add(gathering.facts, fold.hasher)
            }
            self.topics = topics
            facts = gathering.sorted()
        }

        /// Folds the streams, by number.
        func run<Taker: FoldTaker>(into taker: inout Taker, _ progress: inout FoldProgress) throws {
            let streams = present
            guard !streams.isEmpty else { return }
            try StreamFold(fold: fold, topics: topics, facts: facts).run(streams, into: &taker, &progress)
            try progress.report()
        }

        /// Streams that can have anything to fold.
        private var present: Range<StreamID> {
            let counted = facts.firstStream.advanced(by: facts.streamCount)
            let end = min(
                max(counted, fold.stream == nil ? fold.record.floorStreams : range.upperBound), range.upperBound)
            return range.lowerBound..<max(end, range.lowerBound)
        }
    }
}

/// How far a fold is, for whoever waits for it.
struct FoldProgress {
    private let all: UInt64
    private var steps: UInt64 = 0
    private let tell: (UInt64) throws -> Void

    /// - Parameters:
    ///   - all: the events of the log, each of which is gathered, then folded.
    ///   - tell: told the number of events folded so far; throws to end the fold.
    init(all: UInt64, _ tell: @escaping (UInt64) throws -> Void) { (self.all, self.tell) = (all, tell) }

    /// Notes events that were gathered, or folded.
    mutating func add(_ count: UInt64) { steps += count }

    /// An event that is only gathered counts half.
    func report() throws { try tell(min(steps / 2, all)) }
}
