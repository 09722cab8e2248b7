/// A place in an archive: at an event, or after the last.
///
/// Holds one block in memory. For one thread.
package struct ArchiveCursor {
    /// The seq of the event; nil after the last.
    package private(set) var seq: UInt64?
    private let reader: ArchiveReader
    private let zstd = ZstdDecompressor()
    /// The index of the loaded block; -1 for none.
    private var index = -1
    private var block: [UInt8] = []
    private var event = ArchivedEvent(seq: 0, record: 0..<0, payload: 0..<0)
    /// The offset after the event.
    private var offset = 0
    private var eventsLeft: UInt32 = 0

    init(_ reader: ArchiveReader, from seq: UInt64) throws(ArchiveError) {
        self.reader = reader
        try seek(seq)
    }

    /// Goes to the first event at or after `seq`.
    package mutating func seek(_ seq: UInt64) throws(ArchiveError) {
        // The last block that begins at or before it.
        var (low, high) = (0, reader.blocks.count)
        while low < high {
            let middle = (low + high) / 2
            if reader.blocks[middle].first <= seq { low = middle + 1 } else { high = middle }
        }
        let wanted = max(low - 1, 0)
        if wanted != index || (self.seq ?? .max) > seq {
            guard wanted < reader.blocks.count else { return self.seq = nil }
            try load(wanted)
        }
        while let here = self.seq, here < seq { try advance() }
    }

    /// Goes to the next event.
    package mutating func advance() throws(ArchiveError) {
        guard seq != nil else { return }
        if eventsLeft == 0 {
            guard index + 1 < reader.blocks.count else {
                guard seq == reader.footer.last else {
                    throw reader.damage(in: reader.blocks[index], "its last event is not the one in its footer")
                }
                return seq = nil
            }
            return try load(index + 1)
        }
        try read(after: seq)
    }

    /// Lends record and payload of the event, of which only the block's checksum was checked; there must be one.
    package func withEvent<R, E: Error>(
        _ body: (_ record: RawSpan, _ payload: RawSpan) throws(E) -> R
    ) throws(E) -> R {
        precondition(seq != nil, "behind the last event")
        let span = RawSpan(_elements: block.span)
        return try body(span.extracting(event.record), span.extracting(event.payload))
    }

    private mutating func load(_ wanted: Int) throws(ArchiveError) {
        let previous = wanted == index + 1 ? seq : nil
        (seq, index) = (nil, wanted)
        // Not kept, because many archives may be open.
        var stored: [UInt8] = []
        let row = reader.blocks[wanted]
        try reader.load(row, into: &block, stored: &stored, with: zstd)
        (offset, eventsLeft) = (0, row.events)
        try read(after: previous)
        guard seq == row.first else { throw reader.damage(in: row, "its block begins with another event") }
    }

    private mutating func read(after previous: UInt64?) throws(ArchiveError) {
        let row = reader.blocks[index]
        guard let next = ArchivedEvent.read(RawSpan(_elements: block.span), at: offset) else {
            throw reader.damage(in: row, "its block ends within an event")
        }
        if let previous, next.seq <= previous { throw reader.damage(in: row, "its events are out of order") }
        event = next
        offset = next.payload.upperBound
        eventsLeft -= 1
        guard eventsLeft > 0 || offset == block.count else {
            throw reader.damage(in: row, "its block has more than its events")
        }
        seq = next.seq
    }
}

/// A place in the merged events of several archives.
///
/// Holds one block of each archive that has events on both sides of the place. For one thread.
package struct ArchiveSetCursor {
    /// The seq of the event; nil after the last.
    package private(set) var seq: UInt64?
    /// The archives with only later events, by their first event, the next one last.
    private var waiting: [(rank: Int, source: Source)]
    private var open: [Opened] = []
    /// The index of the open cursor that is at the event.
    private var current = 0

    /// An archive, and the first and the last event to take from it.
    struct Source {
        var first: UInt64
        var last: UInt64
        var open: () throws(ArchiveError) -> ArchiveReader
    }

    /// An archive that is read, with its place in the set.
    ///
    /// Of an event in several archives, the lower place counts.
    private struct Opened {
        var rank: Int
        var last: UInt64
        var cursor: ArchiveCursor

        var isAtEnd: Bool { cursor.seq.map { $0 > last } ?? true }
    }

    init(_ sources: [Source], from seq: UInt64) throws(ArchiveError) {
        waiting = sources.enumerated().map { (rank: $0.offset, source: $0.element) }
            .filter { $0.source.last >= seq }
            .sorted { ($0.source.first, $0.rank) > ($1.source.first, $1.rank) }
        try settle(from: seq)
    }

    /// Goes to the next event.
    package mutating func advance() throws(ArchiveError) {
        guard let seq else { return }
        for index in open.indices where open[index].cursor.seq == seq { try open[index].cursor.advance() }
        open.removeAll(where: \.isAtEnd)
        try settle(from: seq &+ 1)
    }

    /// Lends record and payload of the event, of which only the block's checksum was checked; there must be one.
    package func withEvent<R, E: Error>(
        _ body: (_ record: RawSpan, _ payload: RawSpan) throws(E) -> R
    ) throws(E) -> R {
        precondition(seq != nil, "behind the last event")
        return try open[current].cursor.withEvent(body)
    }

    /// Opens the archives that begin at or before the lowest event, and moves there.
    private mutating func settle(from start: UInt64) throws(ArchiveError) {
        while true {
            let lowest = open.indices.min { key(open[$0]) < key(open[$1]) }
            seq = lowest.flatMap { open[$0].cursor.seq }
            current = lowest ?? 0
            guard let next = waiting.last, next.source.first <= seq ?? .max else { return }
            waiting.removeLast()
            let opened = Opened(
                rank: next.rank, last: next.source.last,
                cursor: try next.source.open().cursor(from: max(start, next.source.first)))
            if !opened.isAtEnd { open.append(opened) }
        }
    }

    private func key(_ opened: Opened) -> (UInt64, Int) { (opened.cursor.seq ?? .max, opened.rank) }
}
