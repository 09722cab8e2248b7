import TraylogDomain

extension FoldBase {
    /// Visits the item pages of the base, newest first.
    ///
    /// - Throws: ``PackedError`` `damaged` for pages that do not follow on each other.
    func forEachItemPage(_ body: (ItemPage) throws -> Void) throws {
        guard state.sealedPages > 0 else { return }
        var bound = UInt64.max
        while let page = try pages.items(at: bound) {
            guard page.first <= bound else { throw PackedError.damaged("page order") }
            try body(page)
            guard page.first > 0 else { return }
            bound = page.first - 1
        }
    }

    /// The same of one of the ``TrayState/keyIndexes``.
    func forEachKeyPage(_ space: PageSpace, _ body: (KeyIndex.Page) throws -> Void) throws {
        var bound = UInt64.max
        while let page = try pages.keys(space, at: bound) {
            guard page.first <= bound else { throw PackedError.damaged("page order") }
            try body(page)
            guard page.first > 0 else { return }
            bound = page.first - 1
        }
    }

    /// Visits the sealed pages of the stream's own events, oldest first, those before `end`.
    package func forEachEventPage(before end: UInt64, _ body: (EventIndex.Page) throws -> Void) throws {
        var next: UInt64 = 1
        while let page = try pages.events(from: next), page.first < end {
            try body(page)
            guard let last = try page.seqs().last, last >= next else {
                throw PackedError.damaged("the index of events")
            }
            next = last + 1
        }
    }
}
