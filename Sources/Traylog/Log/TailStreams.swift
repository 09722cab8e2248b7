/// The oldest and the newest event of each stream in a part of the log.
///
/// Opening a store asks for each unflushed event, so it is a flat table: open addressing over the numbers of streams,
/// with one line of memory to look at.
struct TailStreams: Sendable {
    private struct Entry: BitwiseCopyable, Sendable {
        /// 0 where there is none: that is nobody's stream.
        var stream: UInt32 = 0
        /// Of the oldest and the newest event, from the start on; 0 once they were taken out.
        var first: UInt32 = 0
        var last: UInt32 = 0
    }

    /// The event right before the first one.
    let start: UInt64
    private var entries: ContiguousArray<Entry> = []
    private var used = 0
    private var taken = 0
    private var shift: UInt64 = 0
    /// Of no use but that the looks of ``expect(_:)`` cannot be left out.
    private var seen: UInt32 = 0

    init(after start: UInt64 = 0) {
        self.start = start
    }

    /// The oldest event of a stream; nil when there is none.
    func first(of stream: UInt32) -> UInt64? {
        guard !entries.isEmpty else { return nil }
        let first = entries[place(of: stream)].first
        return first == 0 ? nil : start + UInt64(first)
    }

    /// Notes an event, which is newer than all before.
    ///
    /// - Parameter stream: not 0.
    /// - Returns: the event before it of the same stream; nil when it is the first.
    mutating func append(_ seq: UInt64, to stream: UInt32) -> UInt64? {
        if (used + 1) * 2 > entries.count { grow() }
        let distance = UInt32(seq - start)
        let place = place(of: stream)
        guard entries[place].first == 0 else {
            defer { entries[place].last = distance }
            return start + UInt64(entries[place].last)
        }
        if entries[place].stream == 0 { used += 1 } else { taken -= 1 }
        entries[place] = Entry(stream: stream, first: distance, last: distance)
        return nil
    }

    /// Looks at the memory that the next events need. Each place lies elsewhere; looked at one right after the other, they
    /// are waited for together.
    mutating func expect(_ events: ContiguousArray<TailEvent>) {
        while (used + events.count) * 2 > entries.count { grow() }
        for event in events { seen |= entries[home(of: event.stream)].last }
    }

    /// Takes a stream out.
    mutating func take(_ stream: UInt32) -> (first: UInt64, last: UInt64)? {
        guard let first = first(of: stream) else { return nil }
        let place = place(of: stream)
        let last = start + UInt64(entries[place].last)
        entries[place].first = 0
        taken += 1
        // The memory goes with the last one.
        if taken == used { self = TailStreams(after: start) }
        return (first, last)
    }

    /// Where the stream is, or the free place that it would get.
    private func place(of stream: UInt32) -> Int {
        var place = home(of: stream)
        while entries[place].stream != stream, entries[place].stream != 0 {
            place = (place &+ 1) & (entries.count &- 1)
        }
        return place
    }

    // Fibonacci hashing: streams are numbered in a row, and with their numbers a search would go through a row.
    private func home(of stream: UInt32) -> Int { Int((UInt64(stream) &* 0x9E37_79B9_7F4A_7C15) >> shift) }

    private mutating func grow() {
        let old = entries
        entries = ContiguousArray(repeating: Entry(), count: max(64, old.count * 2))
        shift = UInt64(64 - entries.count.trailingZeroBitCount)
        for entry in old where entry.stream != 0 { entries[place(of: entry.stream)] = entry }
    }
}
