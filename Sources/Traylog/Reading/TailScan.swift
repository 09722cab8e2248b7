import TraylogDomain
import TraylogLMDB
import TraylogLog

/// One event of the log's tail, as its header and the name of its stream tell it.
struct TailEvent {
    let seq: UInt64
    /// 0 for an event of the store itself.
    let stream: UInt32
    /// Given where the caller did not know the stream.
    let name: StreamName?
}

extension EventLog {
    /// Visits the events after `seq` through `head`, in chunks, so that no read transaction lives long.
    ///
    /// - Parameter isKnown: whether the caller knows whose stream a number is; the name of others is read.
    /// - Throws: ``CodecError``, ``LMDBError``.
    func scanTail(
        after seq: UInt64, through head: UInt64, _ environment: Environment, isKnown: (UInt32) -> Bool,
        _ body: (TailEvent) throws -> Void
    ) throws {
        var next = seq + 1
        while next <= head {
            try environment.read { transaction in
                let end = min(head, next + 9_999)
                let reached = try forEachRecord(from: next, in: transaction) { seq, record in
                    let header = try RecordHeader.read(record, seq: seq)
                    try header.checkStream(at: seq)
                    let isNobodys = header.stream == 0
                    let name =
                        try isNobodys || isKnown(header.stream) ? nil : streamName(of: seq, record, in: transaction)
                    try body(TailEvent(seq: seq, stream: header.stream, name: name))
                    return seq < end
                }
                guard reached > end else {
                    throw CodecError(.damaged, seq: reached, "it is missing from the log")
                }
                next = end + 1
            }
        }
    }
}
