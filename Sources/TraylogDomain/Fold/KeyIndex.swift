/// Maps numbers to seqs, as ``PageSpace`` says: recent entries in memory, older ones in pages by key.
package struct KeyIndex: Hashable, Sendable {
    package struct Entry: Hashable, Sendable {
        /// The raw value of a key, or a seq.
        package var key: UInt64
        /// A seq; of ``TrayState/tallies``, a category.
        package var value: UInt64

        package init(key: UInt64, value: UInt64) { (self.key, self.value) = (key, value) }
    }

    /// Entries with keys from `first` up to the next page's, ascending by key, then value.
    package struct Page: Hashable, Sendable {
        package var first: UInt64
        package var changedBy: UInt64 = 0
        package var entries: [Entry] = []
        /// Of ``TrayState/tallies``: what the entries count, one for each, and the seq of the newest range mark that
        /// they show.
        package var tallies: [Tally] = []
        package var markedThrough: UInt64 = 0

        package init(first: UInt64) { self.first = first }
    }

    static let recentLimit = 64
    static let pageLimit = 128

    /// The newest entries, in order of arrival.
    package var recent: [Entry] = []
    /// The number of pages, in memory and stored.
    package var pageCount: UInt64 = 0
    /// Pages that changed since they were stored, ascending.
    package var pages: [Page] = []
    /// Stored pages that no longer belong to the index, until they are deleted.
    package var obsolete: [ObsoletePage] = []

    package init() {}

    package var isEmpty: Bool { recent.isEmpty && pageCount == 0 }

    /// The seqs under `key`, ascending; those of recent entries come last.
    package func seqs(of key: UInt64, load: (UInt64) throws -> Page?) throws -> [UInt64] {
        var found: [UInt64] = []
        if pageCount > 0, let page = try page(holding: key, load: load) {
            var index = page.firstIndex(of: key)
            while index < page.entries.count, page.entries[index].key == key {
                found.append(page.entries[index].value)
                index += 1
            }
        }
        for entry in recent where entry.key == key { found.append(entry.value) }
        return found
    }

    /// Adds an entry of event `seq`; a full list of recent entries moves into the pages.
    package mutating func insert(_ key: UInt64, seq: UInt64, load: (UInt64) throws -> Page?) throws {
        recent.append(Entry(key: key, value: seq))
        guard recent.count >= KeyIndex.recentLimit else { return }
        for entry in recent { try place(entry, changedBy: seq, load: load) }
        recent.removeAll(keepingCapacity: true)
    }

    /// Removes the entry, if it is there, because of `event`.
    package mutating func remove(
        _ key: UInt64, seq: UInt64, by event: UInt64, load: (UInt64) throws -> Page?
    ) throws {
        let entry = Entry(key: key, value: seq)
        if let index = recent.firstIndex(of: entry) {
            recent.remove(at: index)
            return
        }
        guard pageCount > 0, var page = try page(holding: key, load: load),
            let index = page.entries.firstIndex(of: entry)
        else { return }
        page.entries.remove(at: index)
        page.changedBy = event
        keep(page)
    }

    private mutating func place(_ entry: Entry, changedBy: UInt64, load: (UInt64) throws -> Page?) throws {
        var page: Page
        if pageCount == 0 {
            page = Page(first: 0)
            pageCount = 1
        } else {
            page = try self.page(holding: entry.key, load: load) ?? Page(first: 0)
        }
        var index = page.firstIndex(of: entry.key)
        while index < page.entries.count, page.entries[index].key == entry.key { index += 1 }
        page.entries.insert(entry, at: index)
        page.changedBy = changedBy
        if page.entries.count > KeyIndex.pageLimit, let upper = page.split() {
            keep(upper)
            pageCount &+= 1
        }
        keep(page)
    }

    /// The page that holds `key` if any does: that with the greatest `first` at or below it, in memory or stored.
    func page(holding key: UInt64, load: (UInt64) throws -> Page?) throws -> Page? {
        let near = pages.index(atOrBelow: key).map { pages[$0] }
        guard UInt64(pages.count) < pageCount else { return near }
        // All entries of a key are in one page.
        if let near, near.holds(key) { return near }
        var bound = key
        var stored = try load(bound)
        while let found = stored {
            // The walk ends because each page lies below the one before.
            guard found.first <= bound else { throw PackedError.damaged("page order") }
            guard obsolete.contains(where: { $0.first == found.first }) else { break }
            bound = found.first &- 1
            stored = found.first > 0 ? try load(bound) : nil
        }
        guard let stored else { return near }
        guard let near, near.first >= stored.first else { return stored }
        return near
    }

    /// Every entry, in no particular order.
    ///
    /// - Complexity: O(entries). Loads every page.
    package func entries(load: (UInt64) throws -> Page?) throws -> [Entry] {
        var found = recent
        try forEachPage(load: load) { found += $0.entries }
        return found
    }

    /// Visits every page, in memory or stored, the highest keys first.
    func forEachPage(load: (UInt64) throws -> Page?, _ body: (Page) throws -> Void) throws {
        var bound = UInt64.max
        while pageCount > 0, let page = try page(holding: bound, load: load) {
            try body(page)
            // The walk ends because each page lies below the one before.
            guard page.first <= bound else { throw PackedError.damaged("page order") }
            guard page.first > 0 else { return }
            bound = page.first - 1
        }
    }

    /// Holds a changed page until it is stored.
    package mutating func keep(_ page: Page) {
        if !obsolete.isEmpty { obsolete.removeAll { $0.first == page.first } }
        pages.keep(page)
    }

    mutating func forgetPages(storedThrough seq: UInt64) {
        if !pages.isEmpty { pages.removeAll { $0.changedBy <= seq } }
        if !obsolete.isEmpty { obsolete.removeAll { $0.by <= seq } }
    }
}

extension KeyIndex.Page {
    /// The number of entries with smaller keys.
    ///
    /// O(log n).
    func firstIndex(of key: UInt64) -> Int { entries.bisect { $0.key < key } }

    func holds(_ key: UInt64) -> Bool {
        let index = firstIndex(of: key)
        return index < entries.count && entries[index].key == key
    }

    /// The upper half as a page of its own; nil when one key fills the page.
    mutating func split() -> KeyIndex.Page? {
        var index = firstIndex(of: entries[entries.count / 2].key)
        if index == 0 {
            index = entries.firstIndex { $0.key != entries[0].key } ?? entries.count
        }
        guard index < entries.count else { return nil }
        var upper = KeyIndex.Page(first: entries[index].key)
        upper.changedBy = changedBy
        upper.entries = Array(entries[index...])
        entries.removeSubrange(index...)
        guard index < tallies.count else { return upper }
        upper.markedThrough = markedThrough
        upper.tallies = Array(tallies[index...])
        tallies.removeSubrange(index...)
        return upper
    }
}

extension KeyIndex {
    /// Appends the page count and the recent entries; pages are stored separately.
    func packRecent(into bytes: inout [UInt8]) {
        bytes.appendVarint(pageCount)
        bytes.appendVarint(UInt64(recent.count))
        for entry in recent {
            bytes.appendFixed64(entry.key)
            bytes.appendVarint(entry.value)
        }
    }

    init(from reader: inout PackedReader) throws(PackedError) {
        pageCount = try reader.varint()
        let count = try reader.count(minimumBytes: 9)
        recent.reserveCapacity(count)
        for _ in 0..<count {
            let key = try reader.fixed64()
            recent.append(Entry(key: key, value: try reader.varint()))
        }
    }
}

extension KeyIndex.Page {
    package func pack(into bytes: inout [UInt8]) {
        bytes.appendFixed64(first)
        bytes.appendVarint(changedBy)
        bytes.appendVarint(UInt64(entries.count))
        for entry in entries {
            bytes.appendFixed64(entry.key)
            bytes.appendVarint(entry.value)
        }
        guard markedThrough != 0 || !tallies.isEmpty else { return }
        bytes.appendVarint(markedThrough)
        for tally in tallies {
            bytes.appendVarint(tally.listed)
            bytes.appendVarint(tally.unseen)
            bytes.appendVarint(tally.unread)
        }
        // Most pages end here.
        for (index, tally) in tallies.enumerated() where tally.awaiting != 0 {
            bytes.appendVarint(UInt64(index))
            bytes.appendVarint(tally.awaiting)
        }
    }

    package init(from reader: inout PackedReader) throws(PackedError) {
        self.init(first: try reader.fixed64())
        changedBy = try reader.varint()
        let count = try reader.count(minimumBytes: 9)
        entries.reserveCapacity(count)
        for _ in 0..<count {
            let key = try reader.fixed64()
            guard key >= entries.last?.key ?? first else { throw .damaged("key order") }
            entries.append(KeyIndex.Entry(key: key, value: try reader.varint()))
        }
        guard !reader.isAtEnd else { return }
        markedThrough = try reader.varint()
        tallies.reserveCapacity(count)
        for _ in 0..<count {
            let (listed, unseen) = (try reader.varint(), try reader.varint())
            tallies.append(Tally(listed: listed, unseen: unseen, unread: try reader.varint()))
        }
        var last = -1
        while !reader.isAtEnd {
            guard let index = Int(exactly: try reader.varint()), index > last, index < tallies.count else {
                throw .damaged("tallies")
            }
            tallies[index].awaiting = try reader.varint()
            last = index
        }
    }
}
