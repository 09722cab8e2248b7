import TraylogLog

/// The names that a flush stores, in byte order: those of one transaction then share pages of the table of names.
///
/// Sorting many takes a while. The flush thread does it without the lock, and the flush stores states meanwhile.
struct FlushNames {
    private enum Step {
        case wanted
        /// The flush thread has them.
        case sorting
        case sorted
    }

    /// So many are sorted at once, with the lock.
    private static let sortedAtOnce = 1_024
    /// One transaction stores no more: a few milliseconds.
    private static let mostTaken = 1_024
    /// How many an LMDB page holds, roughly.
    private static let perPage = 60.0

    /// Sorted in descending order in the end.
    private var streams: [LiveStream]
    private var step = Step.wanted
    /// How many there were at first.
    let count: Int
    /// The pages that one of them changes, when its neighbours come with it.
    private let pagesEach: Double

    /// - Parameter streamCount: how many names there are in all.
    init(_ streams: [LiveStream], of streamCount: UInt64) {
        self.streams = streams
        count = streams.count
        pagesEach = min(1, (Double(streamCount) / Self.perPage + 1) / Double(max(count, 1)))
        if count <= Self.sortedAtOnce { put(UnsortedNames(streams: streams).sorted()) }
    }

    var isSorted: Bool { if case .sorted = step { true } else { false } }
    var isWanted: Bool { if case .wanted = step { true } else { false } }

    /// All are taken.
    var isEmpty: Bool { isSorted && streams.isEmpty }

    /// Hands them to the flush thread; nil when it has them, or had.
    mutating func takeUnsorted() -> UnsortedNames? {
        guard isWanted else { return nil }
        step = .sorting
        defer { streams = [] }
        return UnsortedNames(streams: streams)
    }

    mutating func put(_ names: SortedNames) {
        streams = names.streams
        step = .sorted
    }

    /// The next ones, ascending; none until they are sorted.
    ///
    /// - Parameters:
    ///   - limit: no more than these.
    ///   - pages: how many pages they may change; those that they do are taken off.
    mutating func take(_ limit: Int, pages: inout Double) -> [LiveStream] {
        guard isSorted else { return [] }
        let taken = min(limit, Self.mostTaken, Int(pages / pagesEach), streams.count)
        defer { streams.removeLast(taken) }
        pages -= Double(taken) * pagesEach
        return streams.suffix(taken).reversed()
    }
}

/// Streams in no order.
struct UnsortedNames: @unchecked Sendable {
    // @unchecked: of a stream only what never changes is read.
    let streams: [LiveStream]

    /// - Complexity: O(n log n), some 300 ns for each of a million.
    func sorted() -> SortedNames {
        let keyed = streams.map(SortKey.init).sorted { $1.precedes($0) }
        return SortedNames(streams: keyed.map(\.stream))
    }
}

/// Streams by the key of their name, in descending order, so that the last ones are taken first.
struct SortedNames: @unchecked Sendable {
    // @unchecked: as the unsorted ones.
    let streams: [LiveStream]
}

/// A name's key with its first 16 bytes as numbers, which decide most comparisons.
private struct SortKey {
    private let high: UInt64
    private let low: UInt64
    let stream: LiveStream

    init(_ stream: LiveStream) {
        let key = stream.nameKey
        (high, low) = (SortKey.number(key.prefix(8)), SortKey.number(key.dropFirst(8).prefix(8)))
        self.stream = stream
    }

    /// Bytes that are missing count as zero.
    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reduce(0) { $0 << 8 | UInt64($1) } << UInt64(8 * (8 - bytes.count))
    }

    func precedes(_ other: SortKey) -> Bool {
        if high != other.high { return high < other.high }
        if low != other.low { return low < other.low }
        return stream.nameKey.lexicographicallyPrecedes(other.stream.nameKey)
    }
}
