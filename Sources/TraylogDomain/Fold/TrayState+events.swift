extension TrayState {
    /// The seqs of the stream's own events from one through another, ascending, at most `limit`.
    ///
    /// - Complexity: O(seqs returned) and one page more.
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
        while seqs.count < limit, next < firstAtHand, let page = try stored.events(from: next), page.first < firstAtHand,
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
