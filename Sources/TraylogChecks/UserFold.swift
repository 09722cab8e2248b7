import TraylogDomain
import TraylogFold
import TraylogLog
import TraylogQueries
import TraylogStates

/// Folds the events of single users, which their stored indexes name, with those of the topics that they follow.
struct UserFold {
    let source: FileSource
    /// What to fold with; each user is folded in a snapshot.
    let fold: LogFold
    /// The first event to fold over the state before it; nil for a fold from the beginning.
    var from: UInt64?

    /// - Throws: ``PackedError`` `damaged`, also for an index that names somebody else's event.
    func run<Taker: FoldTaker>(_ stream: UInt32, into taker: inout Taker) throws {
        try source.readTail { try run(stream, $0, into: &taker) }
    }

    private func run<Taker: FoldTaker>(_ stream: UInt32, _ snapshot: FileSnapshot, into taker: inout Taker) throws {
        guard let name = try snapshot.name(of: stream), !name.isTopic else { return }
        let now = try snapshot.user(name, stream: stream)
        var fold = fold
        fold.rows = snapshot.store
        let older = try fold.base(stream)
        var base = older
        if let from {
            let before = try now.at(from - 1)
            base = FoldBase(name: name, state: before.state, pages: before.pages)
            fold.older = { _ in older }
        }
        let found = base
        fold.base = { _ in found }
        let own = try now.state.events(
            from: max(from ?? 1, (base?.state.appliedSeq ?? 0) + 1), through: fold.head, stored: now.pages)
        guard from == nil || !own.isEmpty else { return }
        var facts = FactBuffer(firstStream: stream)
        var topics = Set(base?.state.topics.map(\.topic) ?? [])
        var undoes = false
        try gather(own, of: stream, name, snapshot.store, into: &facts) { fact in
            if fact.kind == .subscribed { topics.insert(fact.target) }
            if fact.kind == .undone { undoes = true }
        }
        facts.sort()
        // An undo can fold again from where the user begins, before which topics' events may have left the log.
        let beginning = try undoes || base == nil ? now.state.events(from: 1, limit: 1, stored: now.pages).first : nil
        let start = (undoes ? older : base)?.state.appliedSeq ?? beginning.map { $0 - 1 } ?? 0
        let past = try topicFacts(topics, after: start, snapshot)
        let streams = StreamFold(fold: fold, topics: past, buffers: [facts], work: FoldWork(all: 0))
        try streams.run(stream..<(stream + 1), into: &taker) {}
    }

    private func gather(
        _ seqs: [UInt64], of stream: UInt32, _ name: StreamName, _ store: StoreSnapshot, into facts: inout FactBuffer,
        _ body: (borrowing Fact) -> Void
    ) throws {
        let log = fold.tables.log
        try store.read { transaction in
            for seq in seqs {
                let found: Void? = try log.record(seq, in: transaction) { record in
                    let header = try RecordHeader.read(record, seq: seq)
                    guard header.stream == stream else {
                        throw PackedError.damaged("its index names event \(seq), which is not its own")
                    }
                    var due: Timestamp?
                    var fact = Fact(seq: seq, kind: .erased)
                    if header.isErased {
                        try RecordCodec.verify(seq: seq, record: record)
                    } else {
                        fact = try log.withPayload(of: seq, header, record, in: transaction) { payload in
                            try EventDecoder.fact(
                                seq: seq, header: header, payload: payload, hasher: fold.hasher, due: &due)
                        }
                    }
                    body(fact)
                    facts.add(fact, due: due, stream: stream, name: facts.count == 0 ? name : nil)
                }
                guard found != nil else { throw CodecError(.damaged, seq: seq, "it is missing from the log") }
            }
        }
    }

    private func topicFacts(
        _ topics: Set<UInt64>, after seq: UInt64, _ snapshot: FileSnapshot
    ) throws -> TopicFacts {
        guard !topics.isEmpty else { return TopicFacts() }
        let history = snapshot.history(of: 0)
        var facts: [(topic: UInt64, fact: Fact)] = []
        for topic in topics {
            // Those from before a subscription may have left the log.
            let seqs = try history.events(ofTopic: topic, after: seq, through: fold.head)
            for seq in seqs where try snapshot.store.holds(seq) {
                facts.append((topic, try history.fact(seq)))
            }
        }
        return TopicFacts(facts.sorted { $0.fact.seq < $1.fact.seq })
    }
}
