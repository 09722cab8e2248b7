import TraylogDomain
import TraylogLMDB
import TraylogLog
import TraylogStates

/// How far the stored states reach when a flush has ended.
struct FlushEnd {
    /// The head at its start.
    let head: UInt64
    let nextStream: StreamID
    let topics: UInt64
}

/// Rows of one transaction that bring stored states up to the log.
package struct FlushBatch {
    package struct State {
        package let stream: StreamID
        let appliedSeq: UInt64
        /// The newest event of the stream itself.
        let lastOwn: UInt64
        /// There was no newer one when the state was taken.
        let isNewest: Bool

        init(of stream: LiveStream, _ state: borrowing TrayState, _ tail: borrowing LogTail) {
            (self.stream, appliedSeq, lastOwn) = (stream.number, state.appliedSeq, state.events.last)
            isNewest = lastOwn >= tail.last(of: stream.number)
        }
    }

    package var states: [State] = []
    var rows = RowBuffer()
    package var names: [LiveStream] = []
    /// Of the flush that this batch ends.
    var end: FlushEnd?

    /// Whether a batch of a flush would store nothing.
    var isEmpty: Bool { states.isEmpty && names.isEmpty && end == nil }

    /// Whether it stores a state of the stream.
    func holds(_ stream: StreamID) -> Bool {
        // Those of a flush ascend.
        guard let first = states.first, let last = states.last, first.stream <= stream, stream <= last.stream else {
            return false
        }
        return states.contains { $0.stream == stream }
    }

    /// The rows that the transaction writes, without the streams in memory.
    func rows(_ progress: StateProgress) -> FlushRows {
        var new = progress
        if let end { (new.through, new.nextStream, new.topics) = (end.head, end.nextStream, end.topics) }
        return FlushRows(
            names: names.map { ($0.nameKey, $0.number) }, states: rows, progress: end == nil ? nil : new)
    }
}

/// The rows of a batch, as a value that leaves the lock.
struct FlushRows: Sendable {
    let names: [(key: [UInt8], stream: StreamID)]
    let states: RowBuffer
    let progress: StateProgress?

    func write(_ tables: DerivedTables, to transaction: inout WriteTransaction) throws(LMDBError) {
        for (key, stream) in names { try tables.names.put(key, stream: stream, to: &transaction) }
        try states.write(to: tables.states.database, in: &transaction)
        try progress?.write(tables, to: &transaction)
    }
}
