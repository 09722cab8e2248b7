import TraylogDomain
import TraylogLog

/// Whether each stream of a log has revisions without a gap and none twice, event after event.
///
/// Takes nine bytes for each stream.
struct RevisionCheck {
    /// Events below it may be missing.
    private let floor: UInt64
    /// The newest revision of each stream so far, by number; 0 before its first event.
    private var newest: [UInt32] = []
    /// Streams of which an event at the floor or above was there.
    private var isAboveFloor: [Bool] = []
    /// Events that could not be read so far.
    private var damaged: UInt32 = 0
    /// How many of them came before the newest event of each stream.
    private var damagedBefore: [UInt32] = []

    init(floor: UInt64) { self.floor = floor }

    /// Notes that an event cannot be read, which may be of any stream.
    mutating func noteDamage() { damaged += 1 }

    /// Takes the next event of the log.
    ///
    /// - Parameter base: how many events a stream had, as its base says; nil for one that is folded from its first event.
    ///   The base of a user who is held may be older than the floor, and all events since are there.
    /// - Returns: what is wrong with its revision; nil when nothing is.
    mutating func finding(
        _ seq: UInt64, _ header: RecordHeader, base: (StreamID) throws -> UInt64?
    ) throws -> String? {
        guard header.stream != .absent else { return nil }
        try header.checkStream(at: seq)
        let place = Int(header.stream.rawValue)
        if place >= newest.count {
            newest.append(contentsOf: repeatElement(0, count: place + 1 - newest.count))
            isAboveFloor.append(contentsOf: repeatElement(false, count: place + 1 - isAboveFloor.count))
            damagedBefore.append(contentsOf: repeatElement(0, count: place + 1 - damagedBefore.count))
        }
        let last = newest[place]
        newest[place] = header.revision
        let mayLack = seq < floor || damagedBefore[place] != damaged
        damagedBefore[place] = damaged
        if mayLack {
            // Events between may have left the log or be damaged, but none comes twice.
            isAboveFloor[place] = seq >= floor
            guard header.revision <= last else { return nil }
            return words(seq, header, "more than \(last) is expected")
        }
        var expected = UInt64(last) + 1
        if !isAboveFloor[place] {
            isAboveFloor[place] = true
            do {
                expected = max(expected, try base(header.stream).map { $0 &+ 1 } ?? expected)
            } catch is PackedError {
                // A finding of its own, which says nothing about the event.
                return nil
            }
        }
        guard expected != UInt64(header.revision) else { return nil }
        return words(seq, header, "\(expected) is expected")
    }

    private func words(_ seq: UInt64, _ header: RecordHeader, _ expected: String) -> String {
        "event \(seq) has revision \(header.revision) in stream \(header.stream), where \(expected); restore a backup"
    }
}
