import TraylogDomain
import TraylogFold
import TraylogLog
import TraylogStates

/// Compares the stored rows of each stream with the fold of the log.
///
/// The folded state is packed as a flush would pack it: where the stored rows are the same bytes, nothing has to be
/// unpacked. Only the others are looked at closely (``StreamCheck``): the store may be ahead by then, or they differ.
struct StateCheck: FoldTaker {
    /// The work of one read transaction.
    private static let bytesPerTransaction = 256 << 10
    private static let streamsPerTransaction = 64

    let check: StreamCheck
    /// The number of differences to name.
    let limit: Int
    private(set) var events: UInt64 = 0
    private(set) var users: UInt64 = 0
    /// In words, by stream.
    private(set) var differences: [String] = []
    private var waiting: [Waiting] = []
    private var rows = RowBuffer()
    /// Of the stream that is being folded.
    private var landmarks: [String] = []

    /// A stream whose rows are packed.
    private struct Waiting {
        let folded: LogFold.Folded
        /// The first of its rows, and the end of them.
        let rows: Range<Int>
        let landmarks: [String]
    }

    init(_ check: StreamCheck, limit: Int) {
        self.check = check
        self.limit = limit
    }

    mutating func reached(_ landmark: TrayState, of folded: LogFold.Folded, before: TrayState?) throws {
        guard differences.count + landmarks.count < limit, !check.isPast else { return }
        if let difference = try check.difference(ofLandmark: landmark, of: folded, since: before?.appliedSeq ?? 0) {
            landmarks.append(difference)
        }
    }

    mutating func take(_ folded: LogFold.Folded) throws {
        if !folded.name.isTopic { users += 1 }
        events += UInt64(folded.events)
        let found = landmarks
        landmarks = []
        guard differences.count < limit else { return }
        let first = rows.count
        folded.state.pack(into: &rows, stream: folded.stream, name: folded.name)
        waiting.append(Waiting(folded: folded, rows: first..<rows.count, landmarks: found))
        guard waiting.count >= Self.streamsPerTransaction || rows.byteCount >= Self.bytesPerTransaction else { return }
        try finish()
    }

    /// Checks those that wait; to be called at the end.
    mutating func finish() throws {
        let equal = try check.streamsAsStored(waiting.map { ($0.folded, $0.rows) }, rows)
        for (waiting, isEqual) in zip(waiting, equal) where differences.count < limit {
            if !isEqual, let words = try check.difference(waiting.folded) { differences.append(words) }
            differences += waiting.landmarks.prefix(limit - differences.count)
        }
        waiting.removeAll(keepingCapacity: true)
        rows.removeAll()
    }
}
