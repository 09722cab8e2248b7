import TraylogDomain
import TraylogLog
import TraylogLMDB
import TraylogPlatform
import TraylogStates

/// One reading of the log, in chunks, so that no read transaction lives long.
struct LogScan {
    private static let eventsPerTransaction: UInt64 = 10_000

    let fold: LogFold

    init(_ fold: LogFold) { self.fold = fold }

    /// Visits the headers, with the size of what is stored of each event.
    func headers(_ body: (RecordHeader, _ byteCount: Int) throws -> Void) throws {
        try records { seq, record, _ in
            let header = try RecordHeader.read(record, seq: seq)
            try header.checkStream(at: seq)
            var byteCount = record.byteCount
            if header.isChunked, case .chunked(let all) = try RecordCodec.body(seq: seq, header: header, record: record)
            {
                byteCount = all
            }
            try body(header, byteCount)
        }
    }

    /// Visits those events that `isWanted` picks by their headers, checked.
    func events(
        where isWanted: (RecordHeader) -> Bool, _ body: (UInt64, RecordHeader, RawSpan) throws -> Void
    ) throws {
        let log = fold.log.events
        try records { seq, record, transaction in
            let header = try RecordHeader.read(record, seq: seq)
            try header.checkStream(at: seq)
            guard isWanted(header) else { return }
            guard !header.isErased else {
                try RecordCodec.verify(seq: seq, record: record)
                return try body(seq, header, RawSpan())
            }
            try log.withPayload(of: seq, header, record, in: transaction) { try body(seq, header, $0) }
        }
    }

    private func records(_ body: (UInt64, RawSpan, borrowing ReadTransaction) throws -> Void) throws {
        let log = fold.log.events
        let floor = fold.record.floor.seq.rawValue
        var next: UInt64 = 1
        while next <= fold.head {
            try Cancellation.checkCurrent()
            next = try fold.rows.read { transaction in
                let end = min(fold.head, next + LogScan.eventsPerTransaction - 1)
                let reached = try log.forEachRecord(from: next, floor: floor, in: transaction) { seq, record in
                    // With the floor, the next one that is there may lie behind the end.
                    guard seq <= end else { return false }
                    do {
                        try body(seq, record, transaction)
                    } catch is CodecError where fold.skipsDamage {}
                    return seq < end
                }
                guard reached > end else {
                    throw CodecError(.damaged, seq: reached, "it is missing from the log")
                }
                return end + 1
            }
        }
    }
}
