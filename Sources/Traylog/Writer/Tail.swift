import TraylogDomain

/// The newest events of the log, by seq: those that the stored states need not hold yet.
///
/// Each event knows the next one of the same user, so that a state catches up without searching.
struct Tail {
    /// The seq of the first event.
    private(set) var first: UInt64
    /// What the fold needs of each event; nil for one that must be read from the log.
    private var facts: [Fact?] = []
    /// How far it is to the next event of the same stream; 0 when there is none. Apart from the facts, because most
    /// looks at the tail need nothing else.
    private var distances: [UInt32] = []
    /// Events before this index are given up; their memory follows in one move.
    private var start = 0

    init(first: UInt64) {
        self.first = first
    }

    var count: Int { facts.count - start }

    func fact(_ seq: UInt64) -> Fact? { facts[index(seq)] }

    /// The next event of the same stream; 0 when there is none.
    func next(after seq: UInt64) -> UInt64 {
        let distance = distances[index(seq)]
        return distance == 0 ? 0 : seq + UInt64(distance)
    }

    mutating func append(_ fact: Fact?) {
        facts.append(fact)
        distances.append(0)
    }

    /// Says which event of the same stream follows; 0 for none.
    mutating func setNext(_ next: UInt64, after seq: UInt64) {
        distances[index(seq)] = next == 0 ? 0 : UInt32(next - seq)
    }

    /// Takes the events from `seq` on back.
    mutating func truncate(from seq: UInt64) {
        let end = index(seq)
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
        facts.removeSubrange(..<start)
        distances.removeSubrange(..<start)
        start = 0
    }

    private func index(_ seq: UInt64) -> Int { start + Int(seq - first) }
}
