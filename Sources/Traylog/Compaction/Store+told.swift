import TraylogDomain
@_spi(Replication) import TraylogQueries
import TraylogRewrite
import TraylogStates
@_spi(Replication) import TraylogWriter

extension Store {
    /// Repeats the compaction or erasure that an event reports, and appends that event byte for byte.
    ///
    /// The other copy of the store did it right after the same events, so the same events leave or lose their
    /// content here. Archives that this copy has made are rewritten; no new ones are made.
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
                let plan = try rewriter.plan(of: record, at: source) { number in
                    try writer.perform { try $0.user(ofStream: number) }
                }
                _ = try rewriter.rewrite(plan) { _, _ in }
                guard let stream = plan.erasure?.stream else { return }
                // What was archived meanwhile came from a log that still had it.
                var rewritten = StoreRewriter.RewrittenArchives()
                try rewriter.rewriteLateSegments(without: stream, in: nil, &rewritten)
            }
        } catch {
            throw TraylogError(error, in: directory)
        }
    }
}
