import Synchronization
import TraylogLog
import TraylogPlatform
import TraylogStates

extension LogFold {
    /// The facts of a range of streams, gathered in one reading of the log, and those of all topics.
    struct Pass {
        /// Taking a folded stream, which means packing its state and looking things up, costs as much as folding so many
        /// events.
        private static let eventsPerStream = 9

        private let fold: LogFold
        private let range: Range<StreamID>
        private let buffers: [FactBuffer]
        let topics: TopicFacts

        /// - Parameters:
        ///   - topics: the facts of topics from an earlier pass.
        ///   - bytes: what the facts may take.
        ///   - progress: told on the calling thread.
        /// - Returns: nil when they take more.
        init?(
            _ fold: LogFold, _ range: Range<StreamID>, topics known: TopicFacts?, bytes: Int, _ work: FoldWork,
            _ progress: (UInt64) throws -> Void
        ) throws {
            self.fold = fold
            self.range = range
            var topics = known ?? TopicFacts()
            if known == nil, let bases = fold.bases {
                for topic in try bases.topics() { topics.begin(topic.stream, topic.name, fold.hasher) }
            }
            guard fold.head > 0 else {
                buffers = []
                self.topics = topics
                return
            }
            // Which stream is a topic's, its first event says: that takes a reading in order.
            let gathersTopics = known == nil && range.upperBound != .highest
            let parts = gathersTopics ? [1...fold.head] : fold.parts
            let gathered = try Self.gather(
                parts.map {
                    FactGathering(
                        fold: fold, range: range, topics: gathersTopics ? topics : nil, seqs: $0,
                        bytes: bytes / parts.count, work: work)
                }, work
            ) { try progress(work.done) }
            guard gathered.allSatisfy({ !$0.isOverfull }) else { return nil }
            if gathersTopics {
                topics.add(gathered[0].ofTopics, fold.hasher)
            } else if known == nil {
                for part in gathered { topics.add(part.facts, fold.hasher) }
            }
            self.topics = topics
            buffers = try Self.sorted(gathered.map(\.facts), work)
        }

        /// The facts by stream; two buffers are sorted at once.
        private static func sorted(_ buffers: [FactBuffer], _ work: FoldWork) throws -> [FactBuffer] {
            guard buffers.count == 2 else { return buffers.map(byStream) }
            var first = FactBuffer(firstStream: .absent)
            let later = buffers[1]
            let second = try work.both({ first = byStream(buffers[0]) }, { byStream(later) })
            return [first, second]
        }

        private static func byStream(_ facts: FactBuffer) -> FactBuffer {
            var facts = facts
            facts.sort()
            return facts
        }

        /// Gathers one part, or two at once.
        private static func gather(
            _ parts: [FactGathering], _ work: FoldWork, step: () throws -> Void
        ) throws -> [FactGathering] {
            var first = parts[0]
            guard parts.count > 1 else {
                try first.run(step: step)
                return [first]
            }
            let later = parts[1]
            let second = try work.both({ try first.run(step: step) }, { try later.ran() })
            return [first, second]
        }

        /// Folds the streams, by number.
        func run<Taker: FoldTaker>(
            into takers: inout [Taker], _ work: FoldWork, _ progress: (UInt64) throws -> Void
        ) throws {
            let streams = present
            guard !streams.isEmpty else { return }
            let fold = StreamFold(fold: fold, topics: topics, buffers: buffers, work: work)
            if takers.count == 2 {
                let middle = middle(of: streams)
                var first = takers[0]
                let second = Handover(takers[1])
                takers.removeAll()
                defer { takers = [first, second.value] }
                try work.both(
                    {
                        try fold.run(streams.lowerBound..<middle, into: &first) { try progress(work.done) }
                    },
                    {
                        try fold.run(middle..<streams.upperBound, into: &second.value) {}
                    })
            } else {
                try fold.run(streams, into: &takers[0]) { try progress(work.done) }
            }
            try progress(work.done)
        }

        /// Streams that can have anything to fold.
        private var present: Range<StreamID> {
            let counted = buffers.map { $0.firstStream.advanced(by: $0.streamCount) }.max() ?? .absent
            let end = min(
                max(counted, fold.stream == nil ? fold.record.floorStreams : range.upperBound), range.upperBound)
            return range.lowerBound..<max(end, range.lowerBound)
        }

        /// The stream before which there is about as much work as after it.
        private func middle(of streams: Range<StreamID>) -> StreamID {
            func work(before stream: StreamID) -> Int {
                buffers.reduce(Self.eventsPerStream * streams.lowerBound.distance(to: stream)) {
                    $0 + $1.range(of: stream).lowerBound
                }
            }
            let half = work(before: streams.upperBound) / 2
            var (low, high) = (streams.lowerBound, streams.upperBound)
            while low < high {
                let middle = low.advanced(by: low.distance(to: high) / 2)
                if work(before: middle) < half { low = middle.next } else { high = middle }
            }
            return low
        }
    }

    /// The log in as many parts as there are threads.
    fileprivate var parts: [ClosedRange<UInt64>] {
        guard threads > 1, head >= 100, stream == nil else { return [1...head] }
        let middle = head / 2
        return [1...middle, (middle + 1)...head]
    }
}

/// How far a fold on one or two threads is, and whether it is to go on.
package final class FoldWork: Sendable {
    private let all: UInt64
    private let steps = Atomic<UInt64>(0)
    private let isOver = Atomic<Bool>(false)

    /// - Parameter all: the events of the log, each of which is gathered, then folded.
    package init(all: UInt64) { self.all = all }

    /// Notes events that were gathered, or folded.
    ///
    /// - Throws: `CancellationError` when the other thread has failed, or the caller does not want to go on.
    func add(_ count: UInt64) throws {
        steps.wrappingAdd(count, ordering: .relaxed)
        if isOver.load(ordering: .relaxed) { throw CancellationError() }
    }

    func end() { isOver.store(true, ordering: .relaxed) }

    /// Events folded so far; one that is only gathered counts half.
    var done: UInt64 { min(steps.load(ordering: .relaxed) / 2, all) }

    /// Runs two parts at once, the second one on a thread of its own.
    ///
    /// - Throws: the error of the first part, if it has one, or else that of the second: which one that is does not
    ///   depend on which came first.
    func both<Second: Sendable>(
        _ first: () throws -> Void, _ second: @escaping @Sendable () throws -> Second
    ) throws -> Second {
        let other = Concurrent(name: "traylog-fold", second)
        do {
            try first()
        } catch {
            end()
            _ = other.result
            throw error
        }
        return try other.result.get()
    }
}
