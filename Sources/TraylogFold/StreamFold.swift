import TraylogDomain
import TraylogLog
import TraylogStates

/// Folds gathered facts, stream by stream.
struct StreamFold {
    /// Own events that are folded at once where topics belong to it, so that their events are not looked up for each.
    private static let eventsPerRun = 256
    /// How long before a fact is needed its memory is asked for.
    private static let factsAhead = 16

    let fold: LogFold
    let topics: TopicFacts
    let facts: FactBuffer

    func run<Taker: FoldTaker>(
        _ streams: Range<StreamID>, into taker: inout Taker, _ progress: inout FoldProgress
    ) throws {
        var events = 0
        for stream in streams {
            let facts = StreamFacts(stream, in: facts)
            let base = try fold.bases?.base(of: stream)
            guard base != nil || facts.count > 0 else { continue }
            let folded = LogFold.Folded(
                stream: stream, name: try name(facts, base), landmarkDistance: fold.record.landmarkDistance, base: base)
            folded.events = facts.count
            do {
                if base == nil {
                    try run(facts, folded, NoStoredPages(), &taker)
                } else {
                    try run(facts, folded, folded.pages, &taker)
                }
            } catch let fault as RevisionFault {
                throw CodecError(fault, stream: stream)
            }
            if fold.foldsTopicsThroughHead { try foldTopics(facts, folded, &taker) }
            try taker.take(folded)
            events += facts.count
            guard events >= 8_192 else { continue }
            progress.add(UInt64(events))
            events = 0
            try progress.report()
        }
        progress.add(UInt64(events))
    }

    private func name(_ facts: StreamFacts, _ base: FoldBase?) throws -> StreamName {
        if let name = base?.name ?? facts.name { return name }
        throw CodecError(.damaged, seq: facts.seq(0), "it names neither a user nor a topic")
    }

    private func run<Taker: FoldTaker>(
        _ facts: StreamFacts, _ folded: LogFold.Folded, _ pages: some StatePages, _ taker: inout Taker
    ) throws {
        let isTopic = folded.name.isTopic
        // Here alone, so that it is nobody else's while it changes.
        var state = TrayState()
        swap(&state, &folded.state)
        defer { swap(&state, &folded.state) }
        if folded.base == nil { state.reserve(events: facts.count) }
        for index in 0..<facts.count {
            facts.buffer.prefetch(facts.range.lowerBound + index + Self.factsAhead)
            let (fact, times) = facts.fact(index)
            if let due = times.due, let entry = DueEntry(fact, due: due, stream: facts.stream) {
                folded.dues.append((fact.seq, entry))
            }
            if let due = times.remindAt {
                folded.dues.append((fact.seq, DueEntry(reminding: fact, due: due, stream: facts.stream)))
            }
            if let due = times.notBefore {
                folded.dues.append((fact.seq, DueEntry(arriving: fact, due: due, stream: facts.stream)))
            }
            // The base holds it, or a run with events of topics did; what it made due is nowhere else.
            guard fact.seq > state.appliedSeq else { continue }
            guard isTopic || (state.topics.isEmpty && !fact.kind.needsHistory) else {
                try catchUp(from: index, facts, folded, &state, pages, &taker)
                continue
            }
            try state.apply(fact, stored: pages)
            // By its fields: asked as a whole, the state would be copied for each event.
            if !isTopic, state.lastLandmark == fact.seq { try take(state, folded, &taker) }
        }
    }

    /// Folds some facts from one on with those of topics.
    private func catchUp<Taker: FoldTaker>(
        from first: Int, _ facts: StreamFacts, _ folded: LogFold.Folded, _ state: inout TrayState,
        _ pages: some StatePages, _ taker: inout Taker
    ) throws {
        let end = min(first + Self.eventsPerRun, facts.count)
        var next = first
        try catchUp(own: facts.seq(first), through: facts.seq(end - 1), facts, folded, &state, pages, &taker) {
            next += 1
            return next < end ? facts.seq(next) : 0
        }
    }

    private func catchUp<Taker: FoldTaker>(
        own: UInt64, through end: UInt64, _ facts: StreamFacts, _ folded: LogFold.Folded, _ state: inout TrayState,
        _ pages: some StatePages, _ taker: inout Taker, next: () -> UInt64
    ) throws {
        let history = LogHistory(fold: fold, topics: topics, own: facts, landmarks: folded.landmarks, base: folded.base)
        var reached: [TrayState] = []
        try state.catchUp(
            own: own, through: end, stored: pages, history: history, next: { _ in next() },
            landmark: { reached.append(copy $0) })
        for landmark in reached { try take(landmark, folded, &taker) }
    }

    /// Folds in what topics brought after a user's last own event.
    private func foldTopics<Taker: FoldTaker>(
        _ facts: StreamFacts, _ folded: LogFold.Folded, _ taker: inout Taker
    ) throws {
        guard !folded.state.topics.isEmpty else { return }
        var state = TrayState()
        swap(&state, &folded.state)
        defer { swap(&state, &folded.state) }
        try catchUp(own: 0, through: fold.head, facts, folded, &state, folded.pages, &taker) { 0 }
    }

    private func take<Taker: FoldTaker>(
        _ landmark: TrayState, _ folded: LogFold.Folded, _ taker: inout Taker
    ) throws {
        try taker.reached(landmark, of: folded, before: folded.landmark)
        if folded.landmarks.count == LogFold.Folded.landmarkLimit { folded.landmarks.removeFirst() }
        folded.landmarks.append(landmark)
    }
}
