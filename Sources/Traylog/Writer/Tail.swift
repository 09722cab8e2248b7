import TraylogDomain

/// The newest events of the log, by seq: those that the stored states need not hold yet.
///
/// Each entry knows the next event of the same user, so that a state catches up without searching.
struct Tail {
    struct Entry {
        var stream: UInt32
        /// The next event of the same stream; 0 when there is none.
        var next: UInt64 = 0
        /// What the fold needs of the event; nil for one that must be read from the log.
        var fact: Fact?
    }

    /// The seq of the first entry.
    private(set) var first: UInt64
    private var entries: [Entry] = []
    /// Entries before this index are given up; their memory follows in one move.
    private var start = 0

    init(first: UInt64) {
        self.first = first
    }

    var count: Int { entries.count - start }
    /// The seq after the newest entry.
    var end: UInt64 { first + UInt64(count) }

    subscript(seq: UInt64) -> Entry {
        get { entries[start + Int(seq - first)] }
        _modify { yield &entries[start + Int(seq - first)] }
    }

    mutating func append(_ entry: Entry) {
        entries.append(entry)
    }

    /// Takes the entries from `seq` on back.
    mutating func truncate(from seq: UInt64) {
        entries.removeSubrange((start + Int(seq - first))...)
    }

    /// Gives up the entries through `seq`, which the stored states hold.
    mutating func dropThrough(_ seq: UInt64) {
        guard seq >= first else { return }
        let dropped = min(Int(seq - first) + 1, count)
        for index in start..<(start + dropped) { entries[index].fact = nil }
        start += dropped
        first += UInt64(dropped)
        guard start > entries.count / 2 else { return }
        entries.removeSubrange(..<start)
        start = 0
    }
}
