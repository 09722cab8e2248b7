import TraylogDomain
import TraylogPages
import TraylogLog

/// Which streams a range of the log touches, from the headers of its events.
struct TouchedStreams {
    private(set) var streams: Set<UInt32> = []
    private(set) var newest: UInt32 = 0
    /// Whether any event is in the stream of a topic.
    private(set) var topics = false
    /// Too many to keep apart: everybody counts as touched.
    private(set) var areCountless = false

    /// More streams than this are not kept: a megabyte.
    private static let limit = 50_000
    /// Events that one read transaction looks at, so that none lives long.
    private static let chunk: UInt64 = 10_000

    func contains(_ stream: UInt32) -> Bool { areCountless || streams.contains(stream) }

    /// Looks at the events after `seq` through `head`.
    mutating func scan(after seq: UInt64, through head: UInt64, _ source: some ViewSource) throws {
        var next = seq + 1
        while next <= head {
            let end = min(head, next + Self.chunk - 1)
            next = try source.environment.read { transaction in
                try source.tables.log.forEachRecord(from: next, in: transaction) { seq, record in
                    try look(at: record, seq, source.tables.log, transaction)
                    return seq < end
                }
            }
            guard next > end else { throw CodecError(.damaged, seq: next, "it is missing from the log") }
        }
    }

    private mutating func look(
        at record: RawSpan, _ seq: UInt64, _ log: EventLog, _ transaction: borrowing ReadTransaction
    ) throws {
        let header = try RecordHeader.read(record, seq: seq)
        newest = max(newest, header.stream)
        if streams.count < Self.limit { streams.insert(header.stream) } else { areCountless = true }
        switch header.kind {
        case .broadcast: topics = true
        case .edited, .retracted, .expired:
            // Without a user it concerns a broadcast.
            guard !topics, !header.isErased else { return }
            let user = try log.withPayload(of: seq, record, in: transaction) { _, payload in
                try EventDecoder.identity(seq: seq, payload: payload).user
            }
            if user == nil { topics = true }
        default: break
        }
    }
}
