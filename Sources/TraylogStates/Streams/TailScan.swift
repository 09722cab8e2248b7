import TraylogDomain
import TraylogLMDB
import TraylogLog

/// One event of the log's tail, as its header and the name of its stream tell it.
package struct TailEvent {
    package let seq: UInt64
    /// Absent for an event of the store itself.
    package let stream: StreamID
    package let revision: UInt32
    /// Nil when a newer version wrote it.
    package let kind: EventKind?
    /// Given where it was asked for.
    package fileprivate(set) var name: StreamName?
}

extension EventLog {
    /// Of payloads in chunks only so many bytes are checked, because opening waits for it.
    private static let checkedChunkBytes = 128 << 20
    /// How many events are read in one transaction.
    private static let scannedTogether: UInt64 = 10_000
    /// How many of them are handed on together.
    private static let eventsTogether = 64

    /// Visits the events after `seq` through `head`, in chunks, so that no read transaction lives long.
    ///
    /// Each record is checked: nobody would miss an event that says that it is another stream's.
    ///
    /// - Parameters:
    ///   - wantsName: whether the name of the event's stream is to be read; asked ahead of `body`.
    ///   - body: gets some events in a row, so that what it looks up for each of them is waited for together.
    /// - Throws: ``CodecError``, ``LMDBError``.
    package func scanTail(
        after seq: UInt64, through head: UInt64, _ environment: Environment, wantsName: (TailEvent) -> Bool,
        _ body: (ContiguousArray<TailEvent>) throws -> Void
    ) throws {
        // Opening after a crash of the machine finds nothing of the file in memory.
        let isLong = head > seq + EventLog.scannedTogether
        if isLong { try environment.expectScan(true) }
        defer { if isLong { try? environment.expectScan(false) } }
        try scanTail(after: seq, through: head, in: environment, wantsName: wantsName, body)
    }

    /// The same in any transactions, or in one of the caller's.
    package func scanTail(
        after seq: UInt64, through head: UInt64, in rows: some RowReader, wantsName: (TailEvent) -> Bool,
        _ body: (ContiguousArray<TailEvent>) throws -> Void
    ) throws {
        var next = seq + 1
        var uncheckedBytes = EventLog.checkedChunkBytes
        var events: ContiguousArray<TailEvent> = []
        while next <= head {
            let end = min(head, next + EventLog.scannedTogether - 1)
            let reached = try rows.read { transaction in
                try forEachRecord(from: next, in: transaction) { seq, record in
                    let header = try RecordHeader.read(record, seq: seq)
                    try header.checkStream(at: seq)
                    if !header.isChunked {
                        try RecordCodec.verifyChecksum(seq: seq, record: record)
                    } else if uncheckedBytes > 0 {
                        uncheckedBytes -= try withPayload(of: seq, record, in: transaction) { $1.byteCount }
                    }
                    var event = TailEvent(
                        seq: seq, stream: header.stream, revision: header.revision, kind: header.kind)
                    if wantsName(event) { event.name = try streamName(of: seq, record, in: transaction) }
                    events.append(event)
                    if events.count == EventLog.eventsTogether || seq == end {
                        try body(events)
                        events.removeAll(keepingCapacity: true)
                    }
                    return seq < end
                }
            }
            guard reached > end else {
                throw CodecError(.damaged, seq: reached, "it is missing from the log")
            }
            next = end + 1
        }
    }

    /// The name of the stream that an event of the log belongs to.
    ///
    /// - Throws: ``CodecError`` `damaged` when the log does not hold it; ``LMDBError``.
    package func streamName(of seq: UInt64, in rows: some RowReader) throws -> StreamName {
        let name = try rows.read { transaction in
            try record(seq, in: transaction) { try streamName(of: seq, $0, in: transaction) }
        }
        guard let name else { throw CodecError(.damaged, seq: seq, "it is missing from the log") }
        return name
    }
}
