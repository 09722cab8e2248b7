/// Tells of nearly every key that is new that nobody used it: a Bloom filter (Bloom, 1970) over the identities of keys,
/// which are hashes already, with all bits of one in one line of memory.
///
/// It has the keys of all events that were appended since the store was opened, and those of streams that were put into it
/// as a whole. Bits cannot be taken back. So there are two sets, for older and newer events; when the newer one is full and
/// no event of the older one waits in the tail any more, the newer set becomes the older one, and what was only in that is
/// forgotten.
struct KeyFilter {
    private var older: BitLines
    private var newer: BitLines
    /// Events before it are in the older set.
    private var boundary: UInt64 = 0
    /// No later event has a key that is not known here.
    private var lastUnknown: UInt64 = 0
    /// Counts the sets.
    private(set) var round: UInt32 = 1

    /// - Parameter words: how many words of memory a set takes, powers of two: 1 to 16 MiB where nothing is said.
    init(words: ClosedRange<Int> = 1 << 17...1 << 21) {
        older = BitLines(words: words)
        newer = older
    }

    /// Whether all that was added in a round, see ``round``, is still known; 0 stands for no round.
    func covers(_ round: UInt32) -> Bool { round != 0 && round &+ 1 >= self.round }

    /// The round that a stream counts as added in whose state's keys were added now, and whose events from `seq` on, 0 for
    /// none, wait in the tail: the keys of these are in the older set where that has the first of them.
    func round(withEventsFrom seq: UInt64) -> UInt32 { seq == 0 || seq >= boundary ? round : round &- 1 }

    /// Whether the keys of all events in the tail were added.
    var isComplete: Bool { lastUnknown == 0 }

    func mayHold(_ key: UInt64) -> Bool { lastUnknown != 0 || newer.mayHold(key) || older.mayHold(key) }

    mutating func insert(_ key: UInt64) { newer.insert(key) }

    /// The event `seq` may have any key.
    mutating func noteUnknown(_ seq: UInt64) { lastUnknown = max(lastUnknown, seq) }

    /// The tail gave up its events through `seq`; `end` is the seq after the newest one.
    mutating func dropThrough(_ seq: UInt64, end: UInt64) {
        if lastUnknown <= seq { lastUnknown = 0 }
        guard seq + 1 >= boundary, newer.isFull else { return }
        older = newer
        newer = BitLines(words: older.bounds)
        boundary = end
        round &+= 1
    }
}

/// A set of hashes that may seem to have some more; it grows with them.
private struct BitLines {
    private static let lineWords: UInt64 = 8
    private static let bitsPerKey = 6
    /// Of 100,000 hashes that are not there, 3 seem to be in a set that is full for the first time, 270 in one that grew to
    /// 16 times that and is full again.
    private static let keysPerWord = 2

    let bounds: ClosedRange<Int>
    private var words: [UInt64] = []
    private var count = 0

    init(words: ClosedRange<Int>) { bounds = words }

    var isFull: Bool { count >= bounds.upperBound * BitLines.keysPerWord }

    func mayHold(_ hash: UInt64) -> Bool {
        guard !words.isEmpty else { return false }
        var place = Place(hash, words.count)
        for _ in 0..<BitLines.bitsPerKey {
            guard words[place.word] & place.bit != 0 else { return false }
            place.advance()
        }
        return true
    }

    mutating func insert(_ hash: UInt64) {
        if count >= words.count * BitLines.keysPerWord { grow() }
        count += 1
        var place = Place(hash, words.count)
        for _ in 0..<BitLines.bitsPerKey {
            words[place.word] |= place.bit
            place.advance()
        }
    }

    /// A line's number in the smaller set is the lower part of its number in the larger one.
    private mutating func grow() {
        if words.isEmpty {
            words = [UInt64](repeating: 0, count: bounds.lowerBound)
        } else {
            for _ in 0..<2 where words.count < bounds.upperBound { words += words }
        }
    }

    /// The bits of one hash, one after the other.
    private struct Place {
        private let line: Int
        /// Nine bits for each place in the line.
        private var rest: UInt64

        init(_ hash: UInt64, _ words: Int) {
            line = Int(hash & (UInt64(words) / BitLines.lineWords &- 1) &* BitLines.lineWords)
            rest = hash &* 0x9e37_79b9_7f4a_7c15
        }

        var word: Int { line &+ Int(rest >> 61) }
        var bit: UInt64 { 1 << (rest >> 55 & 63) }

        mutating func advance() { rest <<= 9 }
    }
}
