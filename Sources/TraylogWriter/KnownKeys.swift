import TraylogDomain

/// Which keys are new for certain, so that neither a state nor the tail has to be looked at for them.
///
/// The filter has the keys of all events that were appended since the store was opened, and those of streams whose keys
/// were put into it as a whole. Each stream says since when that is so. When the filter is full, it begins anew with the keys
/// of the tail, and all other streams have to be put in again.
struct KnownKeys {
    /// The known keys of one stream.
    struct OfStream {
        /// All keys of the stream are in the filter of this number; 0 for none.
        fileprivate var filter: UInt32 = 0
        /// How many keys were looked up in the stream's state.
        fileprivate var lookups: UInt32 = 0
        /// How many waiting events these looked at.
        fileprivate var looks = 0
    }

    /// Looking through a chain of the tail so many times takes as long as folding it.
    private static let looksPerFold = 64

    private var filter: KeyFilter
    /// Counts the filters.
    private var number: UInt32 = 1
    /// No later event of the tail has a key that is not in the filter; 0 when that is so for all.
    private var lastUnread: UInt64 = 0
    private var capacity: Int

    /// - Parameter filterWords: the filter's size, a power of two: 8 MiB once it has a key.
    init(filterWords: Int = 1 << 20) {
        filter = KeyFilter(words: filterWords)
        capacity = filter.capacity
    }

    /// For a stream that has no events yet.
    var ofNewStream: OfStream { OfStream(filter: number) }

    /// Whether no event of the stream has the key.
    func isNew(_ key: Identity, in stream: OfStream) -> Bool { stream.filter == number && !mayWait(key) }

    /// Whether an event of the tail may have the key.
    func mayWait(_ key: Identity) -> Bool { lastUnread != 0 || filter.mayHold(key) }

    /// Adds the key of an event that is in the tail already.
    mutating func insert(_ key: Identity, of tail: borrowing LogTail) {
        filter.insert(key)
        if filter.count >= capacity { beginAnew(with: tail) }
    }

    private mutating func beginAnew(with tail: borrowing LogTail) {
        filter.removeAll()
        number += 1
        tail.forEachKey { filter.insert($0) }
        capacity = max(filter.capacity, 2 * filter.count)
    }

    /// The event `seq` of the tail may have any key.
    mutating func noteUnread(_ seq: UInt64) { lastUnread = max(lastUnread, seq) }

    /// The tail gave up its events through `seq`.
    mutating func dropThrough(_ seq: UInt64) {
        if lastUnread <= seq { lastUnread = 0 }
    }

    /// Notes that a key was looked up in the stream's state.
    ///
    /// Once the lookups have cost as much as that costs, all keys of the stream are put into the filter.
    ///
    /// - Parameter load: the pages of the state's keys.
    mutating func noteLookup(
        _ stream: inout OfStream, _ keys: borrowing KeyIndex, load: (UInt64) throws -> KeyIndex.Page?
    ) throws {
        stream.lookups &+= 1
        guard lastUnread == 0, stream.filter != number, UInt64(stream.lookups) > keys.pageCount else { return }
        for entry in try keys.entries(load: load) { filter.insert(Identity(rawValue: entry.key)) }
        stream.filter = number
        stream.lookups = 0
    }

    /// Notes that a lookup went through so many waiting events of the stream.
    ///
    /// - Returns: whether folding them in has become cheaper than going on like this.
    mutating func noteLooks(_ stream: inout OfStream, _ count: Int) -> Bool {
        stream.looks += count
        guard count > 0, stream.looks > KnownKeys.looksPerFold * count else { return false }
        stream.looks = 0
        return true
    }
}

/// Tells of nearly every key that it does not have: a Bloom filter (Bloom, 1970) over the identities of keys, which are
/// hashes already, with all bits of one in one line of memory.
struct KeyFilter {
    private static let lineWords: UInt64 = 8
    private static let bitsPerKey = 6

    private let wordCount: Int
    private var words: [UInt64] = []
    private(set) var count = 0

    /// - Parameter words: a power of two.
    init(words: Int) { wordCount = words }

    /// Of 100,000 keys that it does not have, a filter with so many seems to have some 300.
    var capacity: Int { 4 * wordCount }

    func mayHold(_ key: Identity) -> Bool {
        guard !words.isEmpty else { return false }
        var place = Place(key, wordCount)
        for _ in 0..<KeyFilter.bitsPerKey {
            guard words[place.word] & place.bit != 0 else { return false }
            place.advance()
        }
        return true
    }

    mutating func insert(_ key: Identity) {
        if words.isEmpty { words = [UInt64](repeating: 0, count: wordCount) }
        count += 1
        var place = Place(key, wordCount)
        for _ in 0..<KeyFilter.bitsPerKey {
            words[place.word] |= place.bit
            place.advance()
        }
    }

    mutating func removeAll() {
        words = []
        count = 0
    }

    /// The bits of one key, one after the other.
    private struct Place {
        private let line: Int
        /// Nine bits for each place in the line.
        private var rest: UInt64

        init(_ key: Identity, _ words: Int) {
            line = Int(key.rawValue & (UInt64(words) / KeyFilter.lineWords &- 1) &* KeyFilter.lineWords)
            rest = key.rawValue &* 0x9e37_79b9_7f4a_7c15
        }

        var word: Int { line &+ Int(rest >> 61) }
        var bit: UInt64 { 1 << (rest >> 55 & 63) }

        mutating func advance() { rest <<= 9 }
    }
}
