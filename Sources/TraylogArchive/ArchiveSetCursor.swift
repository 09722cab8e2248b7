import TraylogLog

/// A place in the merged events of several archives. Holds a block of each archive whose events lie on both sides of
/// the place. For one thread.
package struct ArchiveSetCursor {
    /// Of the event; nil behind the last.
    package private(set) var seq: UInt64?
    /// Of the archives that it has not come to, by their first events, the next one last.
    private var waiting: [Ranked<ArchiveReader>]
    private var open: [Ranked<ArchiveCursor>] = []
    /// Which of the open ones is at the event.
    private var current = 0

    /// With its place in the set: the lower one wins.
    private struct Ranked<Value> {
        var rank: Int
        var value: Value
    }

    init(_ readers: [ArchiveReader], from seq: UInt64) throws(ArchiveError) {
        waiting = readers.enumerated().map { Ranked(rank: $0.offset, value: $0.element) }
            .filter { $0.value.summary.events > 0 && $0.value.summary.last >= seq }
            .sorted { ($0.value.summary.first, $0.rank) > ($1.value.summary.first, $1.rank) }
        try settle(from: seq)
    }

    /// Goes to the next event.
    package mutating func advance() throws(ArchiveError) {
        guard let seq else { return }
        for index in open.indices where open[index].value.seq == seq { try open[index].value.advance() }
        open.removeAll { $0.value.seq == nil }
        try settle(from: seq + 1)
    }

    /// Lends record and payload of the event, unchecked but for the checksum of the block; there must be one.
    package func withEvent<R, E: Error>(
        _ body: (_ record: RawSpan, _ payload: RawSpan) throws(E) -> R
    ) throws(E) -> R {
        precondition(seq != nil, "behind the last event")
        return try open[current].value.withEvent(body)
    }

    /// Opens the archives that begin at or before the lowest event, and goes there.
    private mutating func settle(from start: UInt64) throws(ArchiveError) {
        while true {
            let lowest = open.indices.min { key(open[$0]) < key(open[$1]) }
            seq = lowest.flatMap { open[$0].value.seq }
            current = lowest ?? 0
            guard let next = waiting.last, next.value.summary.first <= seq ?? .max else { return }
            waiting.removeLast()
            let cursor = try next.value.cursor(from: start)
            if cursor.seq != nil { open.append(Ranked(rank: next.rank, value: cursor)) }
        }
    }

    private func key(_ cursor: Ranked<ArchiveCursor>) -> (UInt64, Int) { (cursor.value.seq ?? .max, cursor.rank) }
}
