/// The seqs of one stream's events, packed as differences: the newest in memory, older ones in sealed pages.
package struct EventIndex: Hashable, Sendable {
    /// A run of seqs.
    ///
    /// Once full, it never changes.
    package struct Page: Hashable, Sendable {
        package var first: UInt64
        /// The difference of each seq to the one before, as varints; the first is a difference to ``first``.
        package var packed: [UInt8]
        /// The newest seq, once sealed; a stored page has it in its key.
        package var last: UInt64 = 0

        package init(first: UInt64, packed: [UInt8]) {
            self.first = first
            self.packed = packed
        }
    }

    static let pageBytes = 512

    /// How many there are: the revision of the newest one, whatever has left the log.
    package var count: UInt64 = 0
    package var last: UInt64 = 0
    /// The run that still grows.
    package var open = Page(first: 0, packed: [])
    /// Pages that are full and not stored yet.
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
    /// Packs ascending seqs, none of them below `first`.
    package init(first: UInt64, seqs: [UInt64]) {
        self.init(first: first, packed: [])
        var before = first
        for seq in seqs {
            packed.appendVarint(seq - before)
            before = seq
        }
        last = before
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

    /// Appends the page in its stored form.
    package func pack(into bytes: inout [UInt8]) {
        bytes.appendVarint(first)
        bytes.appendVarint(UInt64(packed.count))
        bytes.append(contentsOf: packed)
    }

    package init(from reader: inout PackedReader) throws(PackedError) {
        let first = try reader.varint()
        self.init(first: first, packed: try reader.take(reader.count()))
    }
}

extension TrayState {
    /// The seqs of the stream's own events from `first` through `end`, ascending, at most `limit`.
    ///
    /// - Complexity: O(seqs returned), and one page.
    package func events(
        from first: UInt64, through end: UInt64 = .max, limit: Int = .max, stored: some StatePages
    ) throws -> [UInt64] {
        var seqs: [UInt64] = []
        guard end >= first else { return [] }
        var next = first
        func take(_ page: EventIndex.Page) throws {
            for seq in try page.seqs() where seq >= next && seq <= end && seqs.count < limit { seqs.append(seq) }
            if let last = seqs.last { next = last + 1 }
        }
        let firstAtHand = events.sealed.first?.first ?? (events.open.packed.isEmpty ? .max : events.open.first)
        while seqs.count < limit, next < firstAtHand, let page = try stored.events(from: next),
            page.first < firstAtHand,
            page.first <= end
        {
            let before = seqs.count
            try take(page)
            guard seqs.count > before else { break }
        }
        for page in events.sealed where seqs.count < limit && page.first <= end { try take(page) }
        if seqs.count < limit, !events.open.packed.isEmpty, events.open.first <= end { try take(events.open) }
        return seqs
    }
}
