import TraylogDomain
import TraylogLMDB
import TraylogLog
import TraylogQueries
import TraylogStates

extension StateCopy {
    /// Makes the state of a stream whose events say nothing any more: that there were events, and which.
    ///
    /// - Parameter seqs: of the events that the log still has, ascending.
    func writeErased(_ stream: StreamID, _ seqs: [UInt64], in transaction: inout WriteTransaction) throws {
        let name = StreamName.erased(stream)
        var rows = RowBuffer()
        var state = TrayState(landmarkDistance: record.landmarkDistance)
        if let base = try source.bases(record).base(of: stream) {
            state.events = base.state.events
            state.appliedSeq = base.state.appliedSeq
            state.folded = base.state.events.count
            let kept = state
            rows.append(stream, .base, record.floor.seq.rawValue) { kept.packRoot(of: name, into: &$0) }
            let open = state.events.open.packed.isEmpty ? UInt64.max : state.events.open.first
            try base.forEachEventPage(before: open) { page in
                rows.append(stream, .page(.events), page.first) { page.pack(into: &$0) }
            }
        }
        for seq in seqs { try state.apply(Fact(seq: seq, kind: .erased), stored: NoStoredPages()) }
        state.pack(into: &rows, stream: stream, name: name)
        try rows.write(to: source.tables.states.database, in: &transaction)
    }
}
