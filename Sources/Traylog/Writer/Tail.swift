import TraylogDomain

/// The newest events of the log, by seq: those that the stored states need not hold yet.
///
/// Each event knows the next one of the same user, so that a state catches up without searching.
struct Tail {
    /// The seq of the first event.
    private(set) var first: UInt64
    /// What the fold needs of each event, or its place in ``others``.
    private var facts: ContiguousArray<CompactFact> = []
    /// Facts that are not compact, in order.
    private var others: ContiguousArray<Fact> = []
    /// How many of them were given up, so that places stay what they are.
    private var othersDropped: UInt64 = 0
    /// How far it is to the next event of the same stream; 0 when there is none. Apart from the facts, because most
    /// looks at the tail need nothing else.
    private var distances: ContiguousArray<UInt32> = []
    /// Events before this index are given up; their memory follows in one move.
    private var start = 0

    init(first: UInt64) {
        self.first = first
    }

    var count: Int { facts.count - start }

    /// Nil when it must be read from the log.
    func fact(_ seq: UInt64) -> Fact? {
        let compact = facts[index(seq)]
        if compact.isUnread { return nil }
        return compact.isWhole ? compact.fact(seq: seq) : others[Int(compact.place - othersDropped)]
    }

    /// The next event of the same stream; 0 when there is none.
    func next(after seq: UInt64) -> UInt64 {
        let distance = distances[index(seq)]
        return distance == 0 ? 0 : seq + UInt64(distance)
    }

    /// Reads the chain of one stream from `seq` on, as far as a run can hold and no further than `end`.
    func read(_ run: inout TailRun, from seq: UInt64, through end: UInt64) {
        var next = seq
        run.count = 0
        while next != 0, next <= end, run.count < TailRun.capacity {
            let index = index(next)
            run.seqs[run.count] = next
            run.facts[run.count] = facts[index]
            run.count &+= 1
            let distance = distances[index]
            next = distance == 0 ? 0 : next &+ UInt64(distance)
        }
        run.end = next
    }

    mutating func append(_ fact: CompactFact) {
        distances.append(0)
        facts.append(fact)
    }

    mutating func append(_ fact: Fact) {
        if let compact = CompactFact(fact) { return append(compact) }
        distances.append(0)
        facts.append(CompactFact(place: othersDropped + UInt64(others.count)))
        others.append(fact)
    }

    /// Takes memory for so many events more.
    mutating func reserve(_ count: Int) {
        distances.reserveCapacity(distances.count + count)
        facts.reserveCapacity(facts.count + count)
    }

    /// Appends an event whose fact must be read from the log.
    mutating func appendUnread() { append(.unread) }

    /// Says which event of the same stream follows; 0 for none.
    mutating func setNext(_ next: UInt64, after seq: UInt64) {
        distances[index(seq)] = next == 0 ? 0 : UInt32(next - seq)
    }

    /// Takes the events from `seq` on back.
    mutating func truncate(from seq: UInt64) {
        let end = index(seq)
        if let other = firstOther(from: end) { others.removeSubrange(other...) }
        facts.removeSubrange(end...)
        distances.removeSubrange(end...)
    }

    /// Gives up the events through `seq`, which the stored states hold.
    mutating func dropThrough(_ seq: UInt64) {
        guard seq >= first else { return }
        let dropped = min(Int(seq - first) + 1, count)
        start += dropped
        first += UInt64(dropped)
        guard start > facts.count / 2 else { return }
        let kept = firstOther(from: start) ?? others.count
        others.removeSubrange(..<kept)
        othersDropped += UInt64(kept)
        facts.removeSubrange(..<start)
        distances.removeSubrange(..<start)
        start = 0
    }

    /// Where ``others`` has the first fact of the events from `index` on; nil when it has none of them.
    private func firstOther(from index: Int) -> Int? {
        guard let first = facts[index...].first(where: { !$0.isWhole && !$0.isUnread }) else { return nil }
        return Int(first.place - othersDropped)
    }

    private func index(_ seq: UInt64) -> Int { start + Int(seq - first) }
}

/// Events of one stream that follow each other, read together: each lies elsewhere in memory, and the waits overlap.
struct TailRun {
    static let capacity = 16

    fileprivate(set) var count = 0
    fileprivate(set) var seqs = InlineArray<16, UInt64>(repeating: 0)
    fileprivate(set) var facts = InlineArray<16, CompactFact>(repeating: CompactFact(place: 0))
    /// What follows the last of them in the stream; 0 for nothing.
    fileprivate var end: UInt64 = 0

    /// The seq that follows the event at `index`; 0 for none.
    func next(after index: Int) -> UInt64 { index &+ 1 < count ? seqs[index &+ 1] : end }
}
