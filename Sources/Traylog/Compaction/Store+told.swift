import TraylogDomain
import TraylogLog
import TraylogPages
import TraylogQueries
import TraylogRewrite
import TraylogStates
import TraylogWriter

extension Store {
    /// Does what the event of a compaction or an erasure tells of, and appends that event to the byte.
    ///
    /// The other copy of the store has done it right after the same events, so that the same events leave or lose their
    /// content here. Archives that this copy has made are rewritten; none is made.
    func rewrite(
        as record: LogRecord, expecting seq: Seq, source: SourcePosition?
    ) throws(TraylogError) {
        do {
            try rewriter.exclusively {
                guard try view.head() == seq, record.seq == seq + 1 else {
                    throw StoreFailure(
                        code: .outOfSequence,
                        message: "event \(record.seq) was to follow event \(seq), and the newest event here is "
                            + "\(try view.head()); ask the source for what comes after that")
                }
                let goal = try goal(of: record, at: source)
                _ = try rewriter.rewrite(goal) { _, _ in }
            }
        } catch {
            throw TraylogError(error, in: directory)
        }
    }

    private func goal(of record: LogRecord, at source: SourcePosition?) throws -> RewriteGoal {
        let bytes = RawSpan(_elements: record.bytes.span)
        let header = try RecordHeader.read(bytes, seq: record.seq.rawValue)
        let event = try EventDecoder.event(
            seq: record.seq, header: header, payload: bytes.extracting(RecordHeader.byteCount...))
        var goal = RewriteGoal()
        switch event.body {
        case .compacted(let through, _, let archive):
            guard through < record.seq else {
                throw StoreFailure(code: .diverged, message: "event \(record.seq) names an event that is not before it")
            }
            goal.floor = through.rawValue + 1
            goal.told = ToldRewrite(record, archive: archive, at: source)
        default:
            let number = header.stream
            guard event.user == Pseudonym.name(ofStream: number),
                let user = try writer.perform({ try $0.user(ofStream: number) }),
                let erasure = try erasure(of: user, actor: event.actor, device: event.device)
            else {
                throw StoreFailure(
                    code: .diverged,
                    message:
                        "event \(record.seq) erases stream \(number), which is nobody's here; begin this store with a "
                        + "backup of the other")
            }
            _ = try rewriteArchives(without: number, in: nil)
            goal.erasure = erasure
            goal.told = ToldRewrite(record, archive: nil, at: source)
        }
        return goal
    }
}
