extension TrayState {
    /// The entry of an item; nil when it was never in this tray.
    package func entry(of item: UInt64, stored: some StatePages) throws -> ItemEntry? {
        var page: ItemPage?
        return try entry(of: item, in: &page, stored: stored)
    }

    /// The same for one item of many; those beside each other cost one page.
    ///
    /// - Parameter page: before, the page of the previous item; afterwards, of this one.
    func entry(of item: UInt64, in page: inout ItemPage?, stored: some StatePages) throws -> ItemEntry? {
        let position = try position(of: item, stored: stored)
        if page?.index(at: position) == nil { page = try self.page(at: position, stored: stored) }
        guard let page, let index = page.index(at: position), page.entries[index].seq == item else { return nil }
        return page.entries[index]
    }

    /// The position of an item, if it is in the tray: its seq, until it is woken.
    func position(of item: UInt64, stored: some StatePages) throws -> UInt64 {
        guard !moved.isEmpty else { return item }
        return try moved.seqs(of: item, load: stored.load(.moved)).last ?? item
    }

    /// The page that holds the item at `position`, if there is one, with every mark applied.
    package func page(at position: UInt64, stored: some StatePages) throws -> ItemPage? {
        if !tail.entries.isEmpty, position >= tail.first { return tail }
        return try sealedPage(at: position, stored: stored)
    }

    /// The sealed page with the greatest `first` at or below `position`, with every mark applied.
    func sealedPage(at position: UInt64, stored: some StatePages) throws -> ItemPage? {
        var found = try unmarkedPage(at: position, stored: stored)
        found?.catchUp(with: rangeMarks)
        return found
    }

    /// The same page as it was kept, without the marks that wait for it.
    func unmarkedPage(at position: UInt64, stored: some StatePages) throws -> ItemPage? {
        guard sealedPages > 0 else { return nil }
        let near = pages.index(atOrBelow: position)
        // An item is in one page, and a page in memory takes the place of a stored one.
        let isNear = near.map { UInt64(pages.count) == sealedPages || pages[$0].index(at: position) != nil } ?? false
        if !isNear, UInt64(pages.count) < sealedPages, let other = try storedPage(at: position, stored: stored),
            near.map({ pages[$0].first < other.first }) ?? true
        {
            return other
        }
        return near.map { pages[$0] }
    }

    private func storedPage(at position: UInt64, stored: some StatePages) throws -> ItemPage? {
        var bound = position
        while let page = try stored.items(at: bound) {
            // A walk from page to page ends because each lies below the one before.
            guard page.first <= bound else { throw PackedError.damaged("page order") }
            guard obsoletePages.contains(where: { $0.first == page.first }) else { return page }
            guard page.first > 0 else { return nil }
            bound = page.first - 1
        }
        return nil
    }

    /// Visits the sealed pages that begin below position `limit`, newest first, as long as `body` returns true.
    package func forEachSealedPage(
        below limit: UInt64, stored: some StatePages, _ body: (ItemPage) throws -> Bool
    ) throws {
        var bound = limit
        while bound > 0, let page = try sealedPage(at: bound - 1, stored: stored) {
            guard try body(page) else { return }
            bound = page.first
        }
    }

    /// Changes one item in place and keeps the counts right.
    ///
    /// An item that was never in the tray is left alone.
    ///
    /// - Parameter growing: the page may take more bytes than before, which other flags alone do not bring about.
    mutating func change(
        _ item: UInt64, by seq: UInt64, growing: Bool = false, stored: some StatePages,
        _ body: (inout ItemPage, Int) -> Void
    ) throws {
        let position = try position(of: item, stored: stored)
        if !tail.entries.isEmpty, position >= tail.first {
            guard let index = tail.index(at: position), tail.entries[index].seq == item else { return }
            count(tail.entries[index], adding: false)
            body(&tail, index)
            count(tail.entries[index], adding: true)
            return
        }
        var place = pages.index(atOrBelow: position)
        var index = place.flatMap { pages[$0].index(at: position) }
        if index == nil {
            // Held from the first change on, so that a mark of many items reads no page twice.
            guard let page = try sealedPage(at: position, stored: stored), let found = page.index(at: position),
                page.entries[found].seq == item
            else { return }
            replace(page)
            (place, index) = (pages.index(atOrBelow: position), found)
        }
        guard let place, let index, pages[place].entries[index].seq == item else { return }
        pages[place].catchUp(with: rangeMarks)
        let old = pages[place].entries[index]
        body(&pages[place], index)
        pages[place].changedBy = seq
        let new = pages[place].entries[index]
        if growing { keep(pages[place]) }
        guard old.flags != new.flags else { return }
        count(old, adding: false)
        count(new, adding: true)
        if isTallied { try tally(new, by: tally(of: new) &- tally(of: old), stored: stored) }
    }

    /// Like ``change(_:by:growing:stored:_:)``, but leaves an item alone that is gone.
    mutating func changeUnlessGone(
        _ item: UInt64, by seq: UInt64, growing: Bool = false, stored: some StatePages,
        _ body: (inout ItemPage, Int) -> Void
    ) throws {
        try change(item, by: seq, growing: growing, stored: stored) { page, index in
            if !page.entries[index].flags.contains(.gone) { body(&page, index) }
        }
    }

    /// Makes an item gone: it keeps the marks that it has now.
    ///
    /// Marks on ranges were applied to its page before, except for ``seenMark``, which becomes a flag here.
    mutating func end(_ item: UInt64, by seq: UInt64, stored: some StatePages) throws {
        let seenMark = seenMark
        try changeUnlessGone(item, by: seq, stored: stored) { page, index in
            let entry = page.entries[index]
            if entry.position <= seenMark, !entry.flags.contains(.scheduled) { page.entries[index].flags.insert(.seen) }
            page.entries[index].flags.insert(.gone)
        }
    }

    /// Brings a snoozed item back to the newest position; an item that is gone stays where it is.
    mutating func wake(_ item: UInt64, at seq: UInt64, stored: some StatePages) throws {
        guard let found = try entry(of: item, stored: stored), !found.flags.contains(.gone),
            var (entry, overrides) = try takeOut(found, by: seq, stored: stored)
        else { return }
        try move(&entry, to: seq, stored: stored)
        entry.flags.subtract([.snoozed, .seen, .read])
        overrides.removeAll { $0.field == .snoozedUntil }
        for override in overrides { tail.override(item, override.field, by: override.event) }
        try append(entry, stored: stored)
    }

    /// Gives an entry the newest position.
    private mutating func move(_ entry: inout ItemEntry, to seq: UInt64, stored: some StatePages) throws {
        if entry.position != entry.seq {
            try moved.remove(entry.seq, seq: entry.position, by: seq, load: stored.load(.moved))
        }
        try moved.insert(entry.seq, seq: seq, load: stored.load(.moved))
        entry.position = seq
    }

    /// Brings a scheduled item into the tray, with the content that its `arrived` says.
    ///
    /// Where the tray does not know the item, as that of a topic, it is new; one that has arrived or is gone stays as it is.
    mutating func arrive(_ fact: borrowing Fact, ofTopic topic: Identity, stored: some StatePages) throws {
        let (item, seq) = (fact.item, fact.seq)
        var position = item
        if let found = try entry(of: item, stored: stored) {
            guard found.flags.contains(.scheduled), !found.flags.contains(.gone),
                try takeOut(found, by: seq, stored: stored) != nil
            else { return }
            position = found.position
            if fact.collapse != .absent { try forget(fact.collapse, item, by: seq, stored: stored) }
        } else if topic == .absent, fact.key != .absent {
            try keys.insert(fact.key.rawValue, seq: item) { try stored.keys(.keys, at: $0) }
        }
        if fact.collapse != .absent { try supersede(fact.collapse, with: item, by: seq, stored: stored) }
        var entry = newEntry(of: item, fact, ofTopic: topic)
        entry.position = position
        try move(&entry, to: seq, stored: stored)
        tail.override(item, .arrival, by: seq)
        try append(entry, stored: stored)
    }

    /// Takes an entry out of its page and out of the counts.
    private mutating func takeOut(
        _ entry: ItemEntry, by seq: UInt64, stored: some StatePages
    ) throws -> (entry: ItemEntry, overrides: [ItemOverride])? {
        count(entry, adding: false)
        if !tail.entries.isEmpty, entry.position >= tail.first {
            return tail.index(at: entry.position).map { tail.remove(at: $0) }
        }
        guard var page = try sealedPage(at: entry.position, stored: stored),
            let index = page.index(at: entry.position)
        else { return nil }
        let taken = page.remove(at: index)
        page.changedBy = seq
        replace(page)
        if isTallied { try tally(entry, by: Tally() &- tally(of: entry), stored: stored) }
        return taken
    }

    /// Holds a changed sealed page until it is stored; a page that has become too large is split.
    mutating func keep(_ page: ItemPage) {
        guard page.entries.count > 1, page.packedByteBound > ItemPage.packedByteLimit else { return replace(page) }
        var lower = page
        let upper = lower.split(at: page.entries.count / 2)
        sealedPages &+= 1
        keep(lower)
        keep(upper)
    }

    mutating func replace(_ page: ItemPage) {
        if !obsoletePages.isEmpty { obsoletePages.removeAll { $0.first == page.first } }
        pages.keep(page)
    }

    /// Moves the oldest entries of the tail into a sealed page.
    mutating func seal(by seq: UInt64, stored: some StatePages) throws {
        var sealed = tail
        tail = sealed.split(at: TrayState.sealedEntries)
        sealed.markedThrough = rangeMarks.last?.seq ?? 0
        sealed.changedBy = seq
        sealedPages &+= 1
        keep(sealed)
        if isTallied {
            try tally(sealed.entries, stored: stored)
        } else if sealedPages >= TrayState.talliedPages {
            var entries: [ItemEntry] = []
            try forEachSealedPage(below: .max, stored: stored) { page in
                entries += page.entries
                return true
            }
            try tally(entries, stored: stored)
        }
    }

    /// Drops the pages that were stored after the state had applied `seq`.
    package mutating func forgetPages(storedThrough seq: UInt64) {
        if !pages.isEmpty { pages.removeAll { $0.changedBy <= seq } }
        if !obsoletePages.isEmpty { obsoletePages.removeAll { $0.by <= seq } }
        if !events.sealed.isEmpty { events.sealed.removeAll { $0.last <= seq } }
        keys.forgetPages(storedThrough: seq)
        collapseKeys.forgetPages(storedThrough: seq)
        moved.forgetPages(storedThrough: seq)
        voided.forgetPages(storedThrough: seq)
        tallies.forgetPages(storedThrough: seq)
    }

    /// Makes room for the entries and seqs of `count` events, so that the arrays do not move while they grow.
    package mutating func reserve(events count: Int) {
        tail.entries.reserveCapacity(min(count, TrayState.tailLimit))
        events.open.packed.reserveCapacity(min(2 * count + 2, 520))
    }
}
