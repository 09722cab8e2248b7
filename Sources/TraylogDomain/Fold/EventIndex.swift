/// The seqs of one stream's events, packed as differences: the newest at hand, older ones in sealed pages.
package struct EventIndex: Hashable, Sendable {
    /// A full run; never changes again.
    package struct Page: Hashable, Sendable {
        package var first: UInt64
        /// Differences to the seq before, the first one to ``first``, as varints.
        package var packed: [UInt8]
        /// The newest seq, once sealed; not stored.
        package var last: UInt64 = 0

        package init(first: UInt64, packed: [UInt8]) {
            self.first = first
            self.packed = packed
        }
    }

    static let pageBytes = 512

    package var count: UInt64 = 0
    package var last: UInt64 = 0
    /// The run that still grows.
    package var open = Page(first: 0, packed: [])
    /// Sealed, not yet stored.
    package var sealed: [Page] = []

    package init() {}

    package mutating func append(_ seq: UInt64) {
        if open.packed.isEmpty {
            open.first = seq
            open.packed.append(0)
        } else {
            open.packed.appendVarint(seq - last)
        }
        last = seq
        count &+= 1
        guard open.packed.count >= EventIndex.pageBytes else { return }
        open.last = seq
        sealed.append(open)
        open = Page(first: 0, packed: [])
    }
}

extension EventIndex.Page {
    /// Of some seqs, ascending, none below `first`.
    package init(first: UInt64, seqs: [UInt64]) {
        self.init(first: first, packed: [])
        var before = first
        for seq in seqs {
            packed.appendVarint(seq - before)
            before = seq
        }
    }

    /// The seqs, ascending.
    package func seqs() throws(PackedError) -> [UInt64] {
        var seqs: [UInt64] = []
        var reader = PackedReader(packed)
        var seq = first
        while !reader.isAtEnd {
            let (sum, overflow) = seq.addingReportingOverflow(try reader.varint())
            guard !overflow, sum <= Seq.highest, sum > seqs.last ?? 0 else { throw .damaged("event index") }
            seq = sum
            seqs.append(seq)
        }
        return seqs
    }
}
