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
    /// The identities of the events' keys, 0 for none; empty as long as no compact fact has one.
    private var keys: ContiguousArray<UInt64> = []
    /// Which keys the events, and those of streams that were put into it, surely do not have.
    var keyFilter = KeyFilter()
    /// Events before this index are given up; their memory follows in one move.
    private var start = 0

    init(first: UInt64) {
        self.first = first
    }

    var count: Int { facts.count - start }

    /// Nil when it must be read from the log.
    func fact(_ seq: UInt64) -> Fact? {
        let index = index(seq)
        let compact = facts[index]
        if compact.isUnread { return nil }
        guard compact.isWhole else { return others[Int(compact.place - othersDropped)] }
        return compact.fact(seq: seq, key: keys.isEmpty ? 0 : keys[index])
    }

    /// Events of one stream that carry keys of one identity.
    struct Carriers {
        var seqs: [UInt64] = []
        /// How many events were looked at.
        var looked = 0
    }

    /// Looks through the chain of one stream from `seq` on, 0 for none; nil when an event has to be read from the log.
    ///
    /// - Complexity: O(1) for nearly all keys that no event of the tail has, else O(the chain).
    func carriers(of key: UInt64, from seq: UInt64) -> Carriers? {
        var found = Carriers()
        guard keyFilter.mayHold(key) else { return found }
        var next = seq
        while next != 0 {
            let index = index(next)
            if facts[index].isUnread { return nil }
            if !facts[index].isWhole {
                if others[Int(facts[index].place - othersDropped)].key == key { found.seqs.append(next) }
            } else if !keys.isEmpty, keys[index] == key {
                found.seqs.append(next)
            }
            found.looked &+= 1
            let distance = distances[index]
            next = distance == 0 ? 0 : next &+ UInt64(distance)
        }
        return found
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
            run.keys[run.count] = keys.isEmpty ? 0 : keys[index]
            run.count &+= 1
            let distance = distances[index]
            next = distance == 0 ? 0 : next &+ UInt64(distance)
        }
        run.end = next
    }

    mutating func append(_ fact: CompactFact, key: UInt64) {
        if key != 0, keys.isEmpty { keys = ContiguousArray(repeating: 0, count: facts.count) }
        if key != 0 || !keys.isEmpty { keys.append(key) }
        if key != 0 { keyFilter.insert(key) }
        distances.append(0)
        facts.append(fact)
    }

    mutating func append(_ fact: Fact) {
        if let compact = CompactFact(fact) { return append(compact, key: fact.key) }
        if !keys.isEmpty { keys.append(0) }
        if fact.key != 0 { keyFilter.insert(fact.key) }
        distances.append(0)
        facts.append(CompactFact(place: othersDropped + UInt64(others.count)))
        others.append(fact)
    }

    /// Takes memory for so many events more.
    mutating func reserve(_ count: Int) {
        distances.reserveCapacity(distances.count + count)
        facts.reserveCapacity(facts.count + count)
        if !keys.isEmpty { keys.reserveCapacity(keys.count + count) }
    }

    /// Appends an event whose fact must be read from the log.
    mutating func appendUnread() {
        keyFilter.noteUnknown(end)
        append(.unread, key: 0)
    }

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
        if !keys.isEmpty { keys.removeSubrange(end...) }
    }

    /// Gives up the events through `seq`, which the stored states hold.
    mutating func dropThrough(_ seq: UInt64) {
        guard seq >= first else { return }
        let dropped = min(Int(seq - first) + 1, count)
        start += dropped
        first += UInt64(dropped)
        keyFilter.dropThrough(first - 1, end: end)
        guard start > facts.count / 2 else { return }
        let kept = firstOther(from: start) ?? others.count
        others.removeSubrange(..<kept)
        othersDropped += UInt64(kept)
        facts.removeSubrange(..<start)
        distances.removeSubrange(..<start)
        if !keys.isEmpty { keys.removeSubrange(..<start) }
        start = 0
    }

    /// Where ``others`` has the first fact of the events from `index` on; nil when it has none of them.
    private func firstOther(from index: Int) -> Int? {
        guard let first = facts[index...].first(where: { !$0.isWhole && !$0.isUnread }) else { return nil }
        return Int(first.place - othersDropped)
    }

    /// The seq after the last one.
    private var end: UInt64 { first + UInt64(count) }

    private func index(_ seq: UInt64) -> Int { start + Int(seq - first) }
}

/// Events of one stream that follow each other, read together: each lies elsewhere in memory, and the waits overlap.
struct TailRun {
    static let capacity = 16

    fileprivate(set) var count = 0
    fileprivate(set) var seqs = InlineArray<16, UInt64>(repeating: 0)
    fileprivate(set) var facts = InlineArray<16, CompactFact>(repeating: CompactFact(place: 0))
    /// The identities of their keys; 0 for none.
    fileprivate(set) var keys = InlineArray<16, UInt64>(repeating: 0)
    /// What follows the last of them in the stream; 0 for nothing.
    fileprivate var end: UInt64 = 0

    /// The seq that follows the event at `index`; 0 for none.
    func next(after index: Int) -> UInt64 { index &+ 1 < count ? seqs[index &+ 1] : end }
}
