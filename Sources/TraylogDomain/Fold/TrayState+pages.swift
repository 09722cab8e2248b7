extension TrayState {
    /// The entry of an item of this user; nil when it never was in the tray.
    package func entry(of item: UInt64, stored: some StatePages) throws -> ItemEntry? {
        guard let page = try page(at: item, stored: stored), let index = page.index(at: item) else { return nil }
        return page.entries[index]
    }

    /// The page that the item at `position` stands in if any does, with every mark applied.
    package func page(at position: UInt64, stored: some StatePages) throws -> ItemPage? {
        if !tail.entries.isEmpty, position >= tail.first { return tail }
        return try sealedPage(at: position, stored: stored)
    }

    /// The sealed page with the greatest `first` at or below `position`, with every mark applied.
    func sealedPage(at position: UInt64, stored: some StatePages) throws -> ItemPage? {
        guard sealedPages > 0 else { return nil }
        var found = pages.last { $0.first <= position }
        if UInt64(pages.count) < sealedPages, let other = try stored.items(at: position) {
            // A walk from page to page ends because each lies below the one before.
            guard other.first <= position else { throw PackedError.damaged("page order") }
            if found.map({ $0.first < other.first }) ?? true { found = other }
        }
        found?.catchUp(with: rangeMarks)
        return found
    }

    /// Visits sealed pages from the newest whose first position is below `limit` to the oldest, while `body` says so.
    package func forEachSealedPage(
        below limit: UInt64, stored: some StatePages, _ body: (ItemPage) throws -> Bool
    ) throws {
        var bound = limit
        while bound > 0, let page = try sealedPage(at: bound - 1, stored: stored) {
            guard try body(page) else { return }
            bound = page.first
        }
    }

    /// Changes one item in place and keeps the counts right; an item that never was in the tray is left alone.
    mutating func change(
        _ item: UInt64, by seq: UInt64, stored: some StatePages,
        _ body: (inout ItemPage, Int) -> Void
    ) throws {
        if !tail.entries.isEmpty, item >= tail.first {
            guard let index = tail.index(at: item) else { return }
            count(tail.entries[index], adding: false)
            body(&tail, index)
            count(tail.entries[index], adding: true)
            return
        }
        guard var page = try sealedPage(at: item, stored: stored), let index = page.index(at: item) else { return }
        count(page.entries[index], adding: false)
        body(&page, index)
        count(page.entries[index], adding: true)
        page.changedBy = seq
        keep(page)
    }

    /// Holds a changed sealed page until it is stored; one that has become too large is split.
    mutating func keep(_ page: ItemPage) {
        guard page.entries.count > 1, page.packedByteBound > ItemPage.packedByteLimit else { return replace(page) }
        var lower = page
        let upper = lower.split(at: page.entries.count / 2)
        sealedPages &+= 1
        keep(lower)
        keep(upper)
    }

    private mutating func replace(_ page: ItemPage) {
        let index = pages.firstIndex { $0.first >= page.first } ?? pages.count
        if index < pages.count, pages[index].first == page.first {
            pages[index] = page
        } else {
            pages.insert(page, at: index)
        }
    }

    /// Moves the oldest entries at hand into a sealed page.
    mutating func seal(by seq: UInt64) {
        var sealed = tail
        tail = sealed.split(at: TrayState.sealedEntries)
        sealed.markedThrough = rangeMarks.last?.seq ?? 0
        sealed.changedBy = seq
        sealedPages &+= 1
        keep(sealed)
    }
}
