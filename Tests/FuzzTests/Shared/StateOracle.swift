import TraylogDomain

/// A state that decodes but that no fold made: asked and folded on it may answer anything or throw, and must end.
///
/// Input: the root, two item pages, two key pages, two event pages, and a script of events, each a piece of
/// ``FuzzInput``; then facts.
enum StateOracle {
    private static let facts = 40

    static func complaint(about bytes: [UInt8]) -> String? {
        var input = FuzzInput(bytes)
        let root = input.piece()
        var reader = PackedReader(root)
        guard var state = try? TrayState(from: &reader) else { return nil }
        // Walks over so many range marks and items take long, and nothing else.
        guard state.rangeMarks.count <= 64, state.topics.count <= 64 else { return nil }
        let source = HostileSource(&input, landmark: state)
        ask(state, source)
        for _ in 0..<facts where !input.isAtEnd {
            let seq = state.appliedSeq + 1
            let fact = HostileSource.fact(seq, &input)
            // What a throw leaves of a state is not used any more.
            guard (try? fold(fact, into: &state, source)) != nil else { break }
        }
        ask(state, source)
        pack(state)
        return nil
    }

    private static func ask(_ state: TrayState, _ source: HostileSource) {
        _ = try? state.tray(of: "ann", asOf: 1, source: source)
        _ = try? state.threads(asOf: 1, limit: 3, cursor: nil, source: source)
        _ = try? state.shownItems(
            InboxQuery(ItemFilter(thread: .unthreaded), view: .archived), of: "ann", hasher: PayloadOracle.hasher,
            stored: source)
        let query = InboxQuery(ItemFilter(onlyUnseen: true, text: "a"), limit: 100, cursor: Cursor("c1-zz"))
        _ = try? state.shownItems(query, of: "ann", hasher: PayloadOracle.hasher, stored: source)
        _ = try? state.events(from: 1, limit: 1_000, stored: source)
        _ = try? state.voidings(stored: source)
        for item in [0, 1, state.appliedSeq, state.tail.first, .max] { _ = try? state.entry(of: item, stored: source) }
    }

    private static func fold(_ fact: Fact, into state: inout TrayState, _ source: HostileSource) throws {
        guard fact.kind == .undone || fact.kind == .subscribed else { return try state.apply(fact, stored: source) }
        // The long way, which looks at topics and at the past.
        let history = OneFact(fact: fact, history: source)
        try state.catchUp(own: fact.seq, through: fact.seq, stored: source, history: history) { _ in 0 }
    }

    private static func pack(_ state: TrayState) {
        var packed: [UInt8] = []
        state.pack(into: &packed)
        for page in state.pages { page.pack(into: &packed) }
    }
}

/// A past in which one event is a given one.
private struct OneFact: FoldHistory {
    let fact: Fact
    let history: HostileSource

    func fact(_ seq: UInt64) -> Fact { seq == fact.seq ? fact : history.fact(seq) }
    func events(ofTopic topic: Identity, after seq: UInt64, through end: UInt64) -> [UInt64] {
        history.events(ofTopic: topic, after: seq, through: end)
    }
    func landmark(atOrBefore seq: UInt64) -> Landmark<HostileSource>? { history.landmark(atOrBefore: seq) }
    func firsts(of space: PageSpace, changedSince seq: UInt64) -> [UInt64] {
        history.firsts(of: space, changedSince: seq)
    }
}
