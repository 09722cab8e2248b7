import TraylogDomain
import TraylogLMDB
import TraylogLog

/// One event of the log's tail, as its header and the user's name tell it.
struct TailEvent {
    let seq: UInt64
    let stream: UInt32
    /// Given where the caller did not know the stream.
    let user: String?
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
                    let user = try isKnown(header.stream) ? nil : user(of: seq, record, in: transaction)
                    try body(TailEvent(seq: seq, stream: header.stream, user: user))
                    return seq < end
                }
                guard reached > end else {
                    throw CodecError(.damaged, seq: reached, "it is missing from the log")
                }
                next = end + 1
            }
        }
    }

    private func user(
        of seq: UInt64, _ record: RawSpan, in transaction: borrowing ReadTransaction
    ) throws -> String {
        try withPayload(of: seq, record, in: transaction) { _, payload in
            try EventDecoder.user(seq: seq, payload: payload)
        }
    }
}

extension EventDecoder {
    /// The name of the user whose event it is.
    ///
    /// - Throws: ``CodecError`` `damaged` when the payload names nobody, or not in UTF-8.
    static func user(seq: UInt64, payload: RawSpan) throws(CodecError) -> String {
        guard let range = try identity(seq: seq, payload: payload).user else {
            throw CodecError(.damaged, seq: seq, "it names no user")
        }
        var bytes: [UInt8] = []
        bytes.append(copying: payload.extracting(range))
        guard let user = String(validating: bytes, as: UTF8.self) else {
            throw CodecError(.damaged, seq: seq, "its user's name is not UTF-8")
        }
        return user
    }
}
