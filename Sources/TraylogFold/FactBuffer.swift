import TraylogDomain
import TraylogLog
import TraylogPlatform
import TraylogStates

/// Facts of many streams in a few flat arrays: added in the order of the log, taken out stream by stream.
///
/// One fact takes 16 bytes, 8 for each of its fields that is set, and 12 for finding it; adding one allocates nothing but
/// room for more of them now and then.
package struct FactBuffer: Sendable {
    /// Places that have 32 bits, less what one fact may take.
    package static let placesAtMost = Int(UInt32.max) - (1 << 20)
    private let placesAtMost: Int
    /// Whether the places of one more fact fit.
    package var hasRoom: Bool { words.count <= placesAtMost && bytes.count <= placesAtMost }
    /// The first of the streams that have a number here.
    let firstStream: StreamID
    private(set) var words: ContiguousArray<UInt64> = []
    /// Items of marks, as differences, and names of streams.
    private(set) var bytes: [UInt8] = []
    /// Of each fact, in the order in which they came: stream from the first one, and place among the words.
    private var arrivals: [UInt64] = []
    /// By stream: how many facts came, until they are sorted.
    private var counts: [UInt32] = []
    /// The places of all facts, by stream.
    private(set) var sorted: [UInt32] = []
    /// By stream: where its places begin; one more at the end.
    private var starts: [UInt32] = []
    /// Whether an event of a topic may be among them.
    private(set) var hasBroadcasts = false

    package init(firstStream: StreamID, placesAtMost: Int = FactBuffer.placesAtMost) {
        (self.firstStream, self.placesAtMost) = (firstStream, placesAtMost)
    }

    package var count: Int { arrivals.count }

    /// The memory that the buffer takes, also once it is sorted.
    var byteCount: Int { words.count * 8 + bytes.count + arrivals.count * 12 + counts.count * 8 }

    /// Whether a fact of the stream came.
    func has(_ stream: StreamID) -> Bool {
        let index = firstStream.distance(to: stream)
        return index < counts.count && counts[index] > 0
    }

    mutating func reserve(facts: Int) {
        arrivals.reserveCapacity(facts)
        words.reserveCapacity(facts * 8)
    }

    /// Adds a fact; only as long as there is room.
    ///
    /// - Parameter name: whose stream it is, where the event says so and it is the stream's first one here.
    package mutating func add(_ fact: borrowing Fact, times: FactTimes, stream: StreamID, name: StreamName?) {
        precondition(hasRoom, "the places of facts have 32 bits")
        let index = firstStream.distance(to: stream)
        if index >= counts.count { growCounts(to: index + 1) }
        counts[index] &+= 1
        arrivals.append(UInt64(index) << 32 | UInt64(words.count))
        if fact.kind == .broadcast { hasBroadcasts = true }
        let place = words.count
        words.append(fact.seq << 8 | UInt64(fact.kind.code))
        words.append(PackedFields.numbers(of: fact))
        var present: UInt64 = 0
        if fact.thread != .absent { put(fact.thread.rawValue, PackedFields.thread, &present) }
        if fact.category != .absent { put(fact.category.rawValue, PackedFields.category, &present) }
        if fact.argument != .absent { put(fact.argument.rawValue, PackedFields.argument, &present) }
        if fact.collapse != .absent { put(fact.collapse.rawValue, PackedFields.collapse, &present) }
        if fact.key != .absent { put(fact.key.rawValue, PackedFields.key, &present) }
        if fact.target != 0 { put(fact.target, PackedFields.target, &present) }
        if fact.summaryCount != 1 { put(UInt64(fact.summaryCount), PackedFields.summaryCount, &present) }
        if let due = times.due { put(UInt64(bitPattern: due.milliseconds), PackedFields.due, &present) }
        if !fact.items.isEmpty { putItems(fact.items, &present) }
        if let name { putName(name, &present) }
        if let time = times.remindAt { put(UInt64(bitPattern: time.milliseconds), PackedFields.remindAt, &present) }
        if let time = times.notBefore { put(UInt64(bitPattern: time.milliseconds), PackedFields.notBefore, &present) }
        words[place + 1] |= present
    }

    private mutating func put(_ value: UInt64, _ field: UInt64, _ present: inout UInt64) {
        words.append(value)
        present |= field
    }

    private mutating func putItems(_ items: [UInt64], _ present: inout UInt64) {
        put(UInt64(bytes.count) << 32 | UInt64(items.count), PackedFields.items, &present)
        var before: UInt64 = 0
        for item in items {
            bytes.appendVarint(item &- before)
            before = item
        }
    }

    private mutating func putName(_ name: StreamName, _ present: inout UInt64) {
        let text = name.text
        put(UInt64(bytes.count) << 32 | UInt64(text.utf8.count), PackedFields.name, &present)
        bytes.append(name.isErased ? 2 : name.isTopic ? 1 : 0)
        bytes.append(contentsOf: text.utf8)
    }

    private mutating func growCounts(to count: Int) {
        counts.reserveCapacity(max(count, counts.capacity > count ? 0 : counts.capacity * 2))
        counts.append(contentsOf: repeatElement(0, count: count - counts.count))
    }

    /// Brings the facts into the order of their streams; within a stream they stay in the order of the log.
    package mutating func sort() {
        starts = []
        starts.reserveCapacity(counts.count + 1)
        var sum: UInt32 = 0
        for count in counts {
            starts.append(sum)
            sum &+= count
        }
        starts.append(sum)
        sorted = Array(repeating: 0, count: arrivals.count)
        var next = starts
        for arrival in arrivals {
            let index = Int(arrival >> 32)
            sorted[Int(next[index])] = UInt32(truncatingIfNeeded: arrival)
            next[index] &+= 1
        }
        arrivals = []
    }

    /// How many streams have a number here.
    var streamCount: Int { counts.count }

    /// Where the facts of a stream stand among the ``sorted`` ones.
    func range(of stream: StreamID) -> Range<Int> {
        let index = firstStream.distance(to: stream)
        guard index + 1 < starts.count else { return sorted.count..<sorted.count }
        return Int(starts[index])..<Int(starts[index + 1])
    }

    /// Visits the facts in the order of the log, as long as they are not sorted.
    func forEachArrival(_ body: (_ stream: StreamID, _ place: Int) throws -> Void) rethrows {
        for arrival in arrivals {
            try body(firstStream.advanced(by: Int(arrival >> 32)), Int(UInt32(truncatingIfNeeded: arrival)))
        }
    }

    /// Asks the processor for the memory of a fact that is looked at soon.
    @inline(__always)
    func prefetch(_ index: Int) {
        guard index < sorted.count else { return }
        let place = Int(sorted[index])
        Memory.prefetch(place, of: words)
        // A fact as long as most has its end in the next line of memory.
        Memory.prefetch(min(place &+ 5, words.count - 1), of: words)
    }
}
