import TraylogDomain
import TraylogLMDB
import TraylogLog

/// The fold of the whole log, from its first event, independent of everything that is stored beside it.
///
/// Memory stays bounded: the log is read once for each range of streams that fits.
struct LogFold {
    /// Events that one pass holds in memory, as items and entries of indexes: about 100 bytes each.
    static let eventsPerPass = 2_000_000

    /// One user, as the log alone tells.
    struct Folded {
        var user: String
        var state = TrayState()
        var events = 0
    }

    let environment: Environment
    let tables: Tables
    let hasher: IdentityHasher
    /// The last event that is folded.
    let head: UInt64
    /// Told of an event that cannot be read; the fold goes on without it. Throws to end the fold.
    var damaged: (UInt64, CodecError) throws -> Void = { throw $1 }

    /// Folds everything and hands over the users of each pass, by stream.
    ///
    /// - Parameter progress: events folded so far.
    func run(
        progress: (UInt64) -> Void, _ body: (_ first: UInt32, _ users: [Folded?]) throws -> Void
    ) throws {
        var done: UInt64 = 0
        for range in try ranges() {
            var users = [Folded?](repeating: nil, count: Int(range.upperBound - range.lowerBound))
            try scan { seq, header, payload in
                guard range.contains(header.stream) else { return }
                let index = Int(header.stream - range.lowerBound)
                if users[index] == nil {
                    users[index] = Folded(user: try EventDecoder.user(seq: seq, payload: payload))
                }
                let fact = try EventDecoder.fact(seq: seq, header: header, payload: payload, hasher: hasher)
                try users[index]?.state.apply(fact, stored: NoStoredPages())
                users[index]?.events += 1
                done += 1
                if done % 16_384 == 0 { progress(done) }
            }
            progress(done)
            try body(range.lowerBound, users)
        }
    }

    /// Streams in runs that have no more events together than a pass can hold.
    private func ranges() throws -> [Range<UInt32>] {
        guard head > UInt64(LogFold.eventsPerPass) else {
            let end = try lastStream() + 1
            return end > 1 ? [1..<end] : []
        }
        var counts: [Int] = []
        try headers { header in
            let stream = Int(header.stream)
            if stream >= counts.count { counts += Array(repeating: 0, count: stream + 1 - counts.count) }
            counts[stream] += 1
        }
        var ranges: [Range<UInt32>] = []
        var (start, sum) = (UInt32(1), 0)
        for (stream, count) in counts.enumerated().dropFirst() {
            if sum > 0, sum + count > LogFold.eventsPerPass {
                ranges.append(start..<UInt32(stream))
                (start, sum) = (UInt32(stream), 0)
            }
            sum += count
        }
        if Int(start) < counts.count { ranges.append(start..<UInt32(counts.count)) }
        return ranges
    }

    private func lastStream() throws -> UInt32 {
        var last: UInt32 = 0
        try headers { last = max(last, $0.stream) }
        return last
    }

    private func headers(_ body: (RecordHeader) -> Void) throws {
        try records { seq, record, _ in body(try RecordHeader.read(record, seq: seq)) }
    }

    private func scan(_ body: (UInt64, RecordHeader, RawSpan) throws -> Void) throws {
        let log = tables.log
        try records { seq, record, transaction in
            try log.withPayload(of: seq, record, in: transaction) { try body(seq, $0, $1) }
        }
    }

    /// Visits all records in chunks, so that no read transaction lives long.
    private func records(
        _ body: (UInt64, RawSpan, borrowing ReadTransaction) throws -> Void
    ) throws {
        let log = tables.log
        var next: UInt64 = 1
        while next <= head {
            next = try environment.read { transaction in
                let end = min(head, next + 9_999)
                let reached = try log.forEachRecord(from: next, in: transaction) { seq, record in
                    do {
                        try body(seq, record, transaction)
                    } catch let error as CodecError {
                        try damaged(seq, error)
                    }
                    return seq < end
                }
                guard reached > end else {
                    throw CodecError(.damaged, seq: reached, "it is missing from the log")
                }
                return reached
            }
        }
    }
}
