import TraylogDomain

/// Stored pages, events and a past as a forged file could have them: each decodes, and none belongs where it is found.
struct HostileSource: StateSource, FoldHistory {
    let itemPages: [ItemPage]
    let keyPages: [KeyIndex.Page]
    let eventPages: [EventIndex.Page]
    let landmark: TrayState?
    /// What events say, by their seq.
    let script: [UInt8]

    init(_ input: inout FuzzInput, landmark: TrayState?) {
        itemPages = Self.pages(&input) { (reader) throws(PackedError) in try ItemPage(from: &reader) }
        keyPages = Self.pages(&input) { (reader) throws(PackedError) in try KeyIndex.Page(from: &reader) }
        eventPages = Self.pages(&input) { (reader) throws(PackedError) in try EventIndex.Page(from: &reader) }
        script = input.piece()
        self.landmark = landmark
    }

    private static func pages<Page>(
        _ input: inout FuzzInput, _ read: (inout PackedReader) throws(PackedError) -> Page
    ) -> [Page] {
        (0..<2).compactMap { _ in
            var reader = PackedReader(input.piece())
            return try? read(&reader)
        }
    }

    func items(at position: UInt64) -> ItemPage? { pick(itemPages, position) }
    func keys(_ space: PageSpace, at key: UInt64) -> KeyIndex.Page? { pick(keyPages, key) }
    func events(from seq: UInt64) -> EventIndex.Page? { pick(eventPages, seq) }

    func event(_ seq: UInt64) -> Event {
        Event(
            seq: Seq(seq), recordedAt: Timestamp(milliseconds: 0), user: "ann",
            body: seq % 3 == 0
                ? .edited(item: Seq(seq / 2), ContentEdit()) : .notified(Content(category: "c", title: "T")))
    }

    func fact(_ seq: UInt64) -> Fact {
        var input = FuzzInput(script.isEmpty ? [] : Array(script[Int(seq % UInt64(script.count))...]))
        return Self.fact(seq, &input)
    }

    func events(ofTopic topic: Identity, after seq: UInt64, through end: UInt64) -> [UInt64] {
        guard seq < end, topic.rawValue % 2 == 0 else { return [] }
        return [seq + 1]
    }

    func landmark(atOrBefore seq: UInt64) -> Landmark<HostileSource>? {
        landmark.map { Landmark(state: $0, pages: self) }
    }

    func firsts(of space: PageSpace, changedSince seq: UInt64) -> [UInt64] {
        space == .items ? itemPages.map(\.first) : keyPages.map(\.first)
    }

    /// The right page most of the time, so that folds get far.
    private func pick<Page>(_ pages: [Page], _ number: UInt64) -> Page? {
        pages.isEmpty ? nil : pages[Int(number % UInt64(pages.count))]
    }

    static func fact(_ seq: UInt64, _ input: inout FuzzInput) -> Fact {
        let kinds = EventKind.allCases
        var fact = Fact(seq: seq, kind: kinds[Int(input.byte()) % kinds.count])
        fact.mark = input.byte() % 8
        fact.target = input.number(near: seq)
        fact.thread = Identity(rawValue: input.number(near: seq))
        fact.category = Identity(rawValue: input.number(near: seq))
        fact.collapse = Identity(rawValue: UInt64(fact.mark))
        fact.key = Identity(rawValue: fact.target)
        fact.edited = ContentFields(rawValue: UInt16(fact.mark) | UInt16(fact.mark & 1) << 8)
        (fact.hasActions, fact.reminds) = (fact.mark & 2 != 0, fact.mark & 4 != 0)
        fact.items = [fact.target, fact.thread.rawValue]
        fact.summaryCount = UInt32(truncatingIfNeeded: fact.category.rawValue)
        return fact
    }
}
