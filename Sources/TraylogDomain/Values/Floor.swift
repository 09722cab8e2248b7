/// How far the log was compacted: events below may have left it, and states before cannot be asked for.
package struct Floor: Hashable, Sendable {
    /// The first event whose state can be asked for; 0 when nothing was compacted.
    package var seq: Seq
    /// The newest archive of what left the log; nil when nothing was archived.
    package var archive: String?

    package init(seq: Seq = .zero, archive: String? = nil) {
        self.seq = seq
        self.archive = archive
    }

    package func isAbove(_ seq: UInt64) -> Bool { seq < self.seq.rawValue }

    package var refusal: Refusal { .compacted(floor: seq, archive: archive) }
}
