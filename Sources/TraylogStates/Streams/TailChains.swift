import TraylogLog
import TraylogPlatform

/// Which events at the end of the log belong to which stream: a chain through the events of each, with a value for every
/// event.
///
/// Appending and opening ask for the chain of each event, and wait for memory more than for anything else. So an event's value
/// stands beside its link; and because the numbers of streams have no gaps, the ends of the chains are in an array, in pages
/// that are given back when empty. All of it is inlinable, because a generic type is slow in a module that cannot see into it.
@usableFromInline
package struct TailChains<Value: BitwiseCopyable & Sendable>: Sendable {
    /// Of one chain.
    @usableFromInline
    struct Ends: BitwiseCopyable, Sendable {
        /// The oldest event; 0 when the chain is empty.
        @usableFromInline var first: UInt64 = 0
        /// From the oldest event to the newest.
        @usableFromInline var length: UInt32 = 0
        /// Events since some were taken out.
        @usableFromInline var added: UInt32 = 0
        /// That of the newest event.
        @usableFromInline var revision: UInt32 = 0

        @inlinable var last: UInt64 { first + UInt64(length) }

        @inlinable init() {}

        @inlinable
        init(first: UInt64, last: UInt64, revision: UInt32) {
            self.first = first
            self.revision = revision
            length = UInt32(last - first)
        }
    }

    /// Some neighbours' chains.
    @usableFromInline
    struct Page: Sendable {
        @usableFromInline var ends: ContiguousArray<Ends> = []
        /// How many of them are not empty.
        @usableFromInline var count = 0

        @inlinable init() {}
    }

    @usableFromInline
    struct Event: BitwiseCopyable, Sendable {
        /// How far it is to the next event of the same stream; 0 when there is none.
        @usableFromInline var distance: UInt32 = 0
        @usableFromInline let value: Value

        @inlinable init(_ value: Value) { self.value = value }
    }

    @inlinable static var pageStreams: Int { 256 }
    /// A chain with so many events is a long one.
    @inlinable static var longChain: UInt32 { 8_192 }

    /// By their seqs.
    @usableFromInline var events: BlockQueue<Event>
    @usableFromInline var pages: ContiguousArray<Page> = []
    /// Streams with long chains, until ``noteShort(_:)``.
    @usableFromInline package private(set) var long: Set<StreamID> = []

    /// - Parameter start: the event right before the first one.
    @inlinable
    package init(after start: UInt64) {
        events = BlockQueue(from: Int(start) + 1)
    }

    @inlinable package var count: Int { events.count }

    /// The event right before the first one.
    @inlinable package var start: UInt64 { UInt64(events.startIndex &- 1) }

    /// The newest event.
    @inlinable package var end: UInt64 { UInt64(events.endIndex &- 1) }

    /// The oldest event of a stream; 0 when there is none.
    @inlinable
    package func first(of stream: StreamID) -> UInt64 { ends(of: stream).first }

    /// Whether a stream has an event by `head`.
    @inlinable
    package func began(_ stream: StreamID, by head: UInt64) -> Bool {
        let first = first(of: stream)
        return first != 0 && first <= head
    }

    /// The newest event of a stream; 0 when there is none.
    @inlinable
    package func last(of stream: StreamID) -> UInt64 {
        let ends = ends(of: stream)
        return ends.first == 0 ? 0 : ends.last
    }

    /// The revision of the newest event of a stream; nil when there is none.
    @inlinable
    package func revision(of stream: StreamID) -> UInt32? {
        let ends = ends(of: stream)
        return ends.first == 0 ? nil : ends.revision
    }

    /// The next event of the same stream; 0 when there is none.
    @inlinable
    package func next(after seq: UInt64) -> UInt64 { link(at: seq).next }

    /// An event's value, and the next event of the same stream; 0 when there is none.
    @inlinable
    package func link(at seq: UInt64) -> (value: Value, next: UInt64) {
        let event = events[Int(seq)]
        return (event.value, event.distance == 0 ? 0 : seq &+ UInt64(event.distance))
    }

    /// Brings the memory of an event near, which is about to be looked at.
    @inlinable
    package func prefetch(_ seq: UInt64) {
        if seq != 0 { events.prefetch(Int(seq)) }
    }

    /// Brings the memory of the end of a chain near, to which an event is about to be appended.
    @inlinable
    package func prefetchEnd(of stream: StreamID) {
        let (page, place) = TailChains.place(of: stream)
        if page < pages.count && pages[page].count > 0 { Memory.prefetch(place, of: pages[page].ends) }
    }

    @inlinable
    package subscript(seq: UInt64) -> Value { events[Int(seq)].value }

    /// The values of the events from `seq` on, in order.
    @inlinable
    package func values(from seq: UInt64) -> some Sequence<Value> {
        events[Int(seq)...].lazy.map(\.value)
    }

    /// The stream's oldest event after `seq`, which is one of its events or older than its chain; 0 when there is none.
    @inlinable
    package func next(of stream: StreamID, after seq: UInt64) -> UInt64 {
        let ends = ends(of: stream)
        if ends.first == 0 || seq < ends.first { return ends.first }
        return seq >= ends.last ? 0 : next(after: seq)
    }

    /// The events of a stream, ascending.
    ///
    /// - Complexity: O(events of the stream).
    @inlinable
    package func seqs(of stream: StreamID) -> [UInt64] {
        var seqs: [UInt64] = []
        var seq = first(of: stream)
        while seq != 0 {
            seqs.append(seq)
            seq = next(after: seq)
        }
        return seqs
    }

    /// Appends the next event.
    ///
    /// - Parameters:
    ///   - stream: absent for an event of the store itself, which is in no chain.
    ///   - revision: the event's.
    /// - Returns: the event before it of the same stream; 0 when it is the first.
    @inlinable
    @discardableResult
    package mutating func append(_ value: Value, to stream: StreamID, revision: UInt32) -> UInt64 {
        events.append(Event(value))
        guard stream != .absent else { return 0 }
        let seq = end
        let (page, place) = TailChains.place(of: stream)
        if page >= pages.count || pages[page].ends.isEmpty { makePage(page) }
        let ends = pages[page].ends[place]
        pages[page].ends[place].added &+= 1
        pages[page].ends[place].revision = revision
        if ends.added &+ 1 == TailChains.longChain { noteLong(stream) }
        guard ends.first != 0 else {
            pages[page].ends[place].first = seq
            pages[page].count += 1
            return 0
        }
        events[Int(ends.last)].distance = UInt32(seq - ends.last)
        pages[page].ends[place].length = UInt32(seq - ends.first)
        return ends.last
    }

    /// Takes the newest event, which is of `stream` and came after `previous`, back.
    @inlinable
    package mutating func removeLast(of stream: StreamID, previous: UInt64) {
        events.removeLast()
        guard stream != .absent else { return }
        let (page, place) = TailChains.place(of: stream)
        if previous == 0 {
            clear(page, place)
            noteShort(stream)
        } else {
            pages[page].ends[place].length = UInt32(previous - pages[page].ends[place].first)
            let added = pages[page].ends[place].added
            if added == TailChains.longChain { noteShort(stream) }
            pages[page].ends[place].added = added &- min(added, 1)
            pages[page].ends[place].revision &-= 1
            events[Int(previous)].distance = 0
        }
    }

    /// Takes the events of a stream through `seq`, which is one of them or comes before or after all, out of its chain.
    ///
    /// - Returns: whether any are left.
    @inlinable
    package mutating func unchain(_ stream: StreamID, through seq: UInt64) -> Bool {
        let ends = ends(of: stream)
        guard ends.first != 0, ends.first <= seq else { return ends.first != 0 }
        let (page, place) = TailChains.place(of: stream)
        guard seq < ends.last else {
            clear(page, place)
            return false
        }
        let next = next(after: seq)
        pages[page].ends[place] = Ends(first: next, last: ends.last, revision: ends.revision)
        return true
    }

    @usableFromInline
    mutating func noteLong(_ stream: StreamID) { long.insert(stream) }

    /// The chain of a stream was taken out as far as it could be, or taken back.
    @usableFromInline
    package mutating func noteShort(_ stream: StreamID) { if !long.isEmpty { long.remove(stream) } }

    @inlinable
    mutating func clear(_ page: Int, _ place: Int) {
        pages[page].ends[place] = Ends()
        pages[page].count -= 1
    }

    /// Gives up the events through `seq`, which are in no chain any more.
    @inlinable
    package mutating func dropThrough(_ seq: UInt64) {
        guard seq > start else { return }
        events.drop(before: Int(seq) + 1)
        for page in pages.indices where pages[page].count == 0 { pages[page].ends = [] }
    }

    @inlinable
    static func place(of stream: StreamID) -> (page: Int, place: Int) {
        (Int(stream.rawValue) / pageStreams, Int(stream.rawValue) % pageStreams)
    }

    @inlinable
    func ends(of stream: StreamID) -> Ends {
        let (page, place) = TailChains.place(of: stream)
        return page < pages.count && pages[page].count > 0 ? pages[page].ends[place] : Ends()
    }

    @inlinable
    mutating func makePage(_ page: Int) {
        while page >= pages.count { pages.append(Page()) }
        pages[page].ends = ContiguousArray(repeating: Ends(), count: TailChains.pageStreams)
    }
}

extension TailChains {
    /// Visits the streams that have events, with the oldest one of each; by number.
    package func forEachStream(_ body: (StreamID, _ first: UInt64) -> Void) {
        for page in pages.indices where pages[page].count > 0 {
            for place in pages[page].ends.indices where pages[page].ends[place].first != 0 {
                body(StreamID(rawValue: UInt32(page * TailChains.pageStreams + place)), pages[page].ends[place].first)
            }
        }
    }

    /// Checks that every chain is a way through events that are there, from its oldest one to its newest one, and that no
    /// event is in two.
    package func checkInvariants() {
        var chained = 0
        forEachStream { stream, first in
            let seqs = seqs(of: stream)
            precondition(first > start && seqs.first == first, "chain \(stream) lies outside")
            precondition(seqs.last == last(of: stream), "chain \(stream) does not end with its newest event")
            chained += seqs.count
        }
        precondition(chained <= count, "an event is in two chains")
        for page in pages {
            precondition(page.count == page.ends.count { $0.first != 0 }, "chains that are not empty")
        }
    }
}
