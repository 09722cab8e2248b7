/// One user's state: the fold over that user's events so far.
///
/// A value. It holds the newest items, and those sealed pages of older items that changed since they were stored. Other
/// pages are loaded when needed (``StatePages``) and not kept.
package struct TrayState: Hashable, Sendable {
    /// The tail is sealed when it has this many entries.
    package static let tailLimit = 96
    /// Entries that a new sealed page gets.
    package static let sealedEntries = 64
    /// A state with so many sealed pages keeps ``tallies``; one with fewer looks through its pages instead.
    package static let talliedPages: UInt64 = 8
    /// A mark of so many items counts as one fact more on the way to the next landmark.
    static let itemsPerFact = 16

    /// Facts between two landmarks, unless the store says otherwise.
    package static let defaultLandmarkDistance: UInt64 = 2_048

    /// The newest event that the state holds, the user's own or a topic's.
    package var appliedSeq: UInt64 = 0
    /// How many facts were folded in, with or without effect; a mark of many items counts as several.
    package var folded: UInt64 = 0
    /// The state is a landmark (``isLandmark``) after every so many facts.
    package var landmarkDistance = TrayState.defaultLandmarkDistance
    /// The newest event after which the state was a landmark; 0 before the first.
    package internal(set) var lastLandmark: UInt64 = 0
    /// Listed items.
    package internal(set) var total: UInt64 = 0
    package internal(set) var unseen: UInt64 = 0
    package internal(set) var unread: UInt64 = 0
    /// Counted items with actions and no outcome.
    package internal(set) var awaiting: UInt64 = 0
    /// Whether any item ever had a time to remind.
    package internal(set) var hasReminders = false
    /// The position of the newest `traySeen`.
    package var seenUpTo: UInt64 = 0
    /// The `traySeen` that moved ``seenUpTo`` there; 0 for none.
    package var seenBy: UInt64 = 0
    /// Items at or below this position are seen, whatever their flags say, unless they are gone.
    package internal(set) var seenMark: UInt64 = 0
    package internal(set) var categories: [CategoryCount] = []
    package internal(set) var newest = NewestItems()
    package var mutes = MuteSet()
    /// Topics that the user is subscribed to or has items from, ascending by identity.
    package var topics: [Subscription] = []
    /// Range marks that some sealed pages may lack, oldest first.
    package internal(set) var rangeMarks: [RangeMark] = []
    /// While range marks are being applied to all pages, so that they can go: pages from here on have them.
    ///
    /// 0 otherwise.
    package internal(set) var sweepBelow: UInt64 = 0
    /// The newest range mark that goes then.
    package internal(set) var sweepThrough: UInt64 = 0
    /// The newest items, with every mark applied.
    package var tail = ItemPage(first: 0)
    /// The number of sealed pages, in memory and stored.
    package internal(set) var sealedPages: UInt64 = 0
    /// Sealed pages that changed since they were stored, ascending.
    package internal(set) var pages: [ItemPage] = []
    /// Stored item pages that no longer belong to the state, until they are deleted.
    package internal(set) var obsoletePages: [ObsoletePage] = []
    package var events = EventIndex()
    package var keys = KeyIndex()
    package var collapseKeys = KeyIndex()
    /// Maps items that were woken to their positions.
    package var moved = KeyIndex()
    /// Maps events that were undone to the events that undid them.
    package var voided = KeyIndex()
    /// The tallies of sealed items by thread and category, in pages alone; none before ``talliedPages``.
    package internal(set) var tallies = KeyIndex()

    package init() {}

    package init(landmarkDistance: UInt64) { self.landmarkDistance = max(landmarkDistance, 1) }

    /// Somebody who receives what is broadcast to a topic, and does nothing.
    package init(subscribedTo topic: Identity) { subscribe(to: topic) }

    /// Whether this state is worth keeping, so that later ones are reached by folding few facts.
    package var isLandmark: Bool { lastLandmark == appliedSeq && appliedSeq != 0 }
}

/// The positions of the newest items that are listed and counted; 0 for none.
package struct NewestItems: Hashable, Sendable {
    package var listed: UInt64 = 0
    package var counted: UInt64 = 0
}

/// A stored page that an undo has made obsolete.
package struct ObsoletePage: Hashable, Sendable {
    /// ``ItemPage/first`` or ``KeyIndex/Page/first``.
    package var first: UInt64
    /// The `undone` event.
    package var by: UInt64

    package init(first: UInt64, by: UInt64) {
        self.first = first
        self.by = by
    }
}

/// Unseen and unread items of one category; a state has one only where either is above 0.
package struct CategoryCount: Hashable, Sendable {
    package var category: Identity
    /// An event that names the category in its content.
    package var namedBy: UInt64
    package var unseen: UInt64
    package var unread: UInt64
}

/// A topic that the user is or was subscribed to.
package struct Subscription: Hashable, Sendable {
    package var topic: Identity
    /// Whether the user receives broadcasts.
    ///
    /// An inactive topic stays known while the tray has items from it, because they can still be edited, retracted and
    /// expired.
    package var isActive: Bool
    /// Whether any item of the tray came from the topic.
    package var hasItems = false

    package init(topic: Identity, isActive: Bool) {
        self.topic = topic
        self.isActive = isActive
    }
}

extension TrayState {
    /// The index of the topic in ``topics``; nil when the user has nothing to do with it.
    package func subscription(to topic: Identity) -> Int? {
        let index = topics.bisect { $0.topic < topic }
        return index < topics.count && topics[index].topic == topic ? index : nil
    }

    package mutating func subscribe(to topic: Identity) {
        if let index = subscription(to: topic) {
            topics[index].isActive = true
        } else {
            topics.insert(Subscription(topic: topic, isActive: true), at: topics.bisect { $0.topic < topic })
        }
    }

    /// Ends a subscription; items that were received stay, and then the topic stays known.
    mutating func unsubscribe(from topic: Identity) {
        guard let index = subscription(to: topic) else { return }
        topics[index].isActive = false
        if !topics[index].hasItems { topics.remove(at: index) }
    }

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

    /// The entry of an item in a sealed page, and the event that changed the page last; nil for any other item.
    package func sealedEntry(
        of item: UInt64, stored: some StatePages
    ) throws -> (entry: ItemEntry, changedBy: UInt64)? {
        let position = try position(of: item, stored: stored)
        guard tail.entries.isEmpty || position < tail.first,
            let page = try sealedPage(at: position, stored: stored), let index = page.index(at: position),
            page.entries[index].seq == item
        else { return nil }
        return (page.entries[index], page.changedBy)
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
    /// An item that the tray does not know is new, such as a topic's; one that has arrived or is gone stays as it is.
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

    static let packedVersion: UInt8 = 4
    /// Beside the version: what most states do not have stands at the end.
    private static let moreBit: UInt8 = 0x80

    /// Appends the state in its stored form, without its sealed pages (Docs/internals/format.md, "Packed states").
    package func pack(into bytes: inout [UInt8]) {
        let hasMore = awaiting > 0 || hasReminders
        bytes.append(TrayState.packedVersion | (hasMore ? TrayState.moreBit : 0))
        let numbers = [
            appliedSeq, folded, landmarkDistance, lastLandmark, total, unseen, unread, seenUpTo, seenMark, sealedPages,
        ]
        for number in numbers { bytes.appendVarint(number) }
        bytes.appendVarint(UInt64(categories.count))
        for category in categories {
            bytes.appendFixed64(category.category.rawValue)
            bytes.appendVarint(category.namedBy)
            bytes.appendVarint(category.unseen)
            bytes.appendVarint(category.unread)
        }
        mutes.pack(into: &bytes)
        bytes.appendVarint(UInt64(topics.count))
        for subscription in topics {
            bytes.appendFixed64(subscription.topic.rawValue)
            bytes.append((subscription.isActive ? 1 : 0) | (subscription.hasItems ? 2 : 0))
        }
        bytes.appendVarint(UInt64(rangeMarks.count))
        for mark in rangeMarks { mark.pack(into: &bytes) }
        if !rangeMarks.isEmpty {
            bytes.appendVarint(sweepBelow)
            bytes.appendVarint(sweepThrough)
        }
        if sealedPages >= TrayState.talliedPages { bytes.appendVarint(tallies.pageCount) }
        bytes.appendVarint(seenBy &- seenUpTo)
        bytes.appendVarint(events.count)
        bytes.appendVarint(events.last)
        bytes.appendVarint(events.open.first)
        bytes.appendVarint(UInt64(events.open.packed.count))
        bytes.append(contentsOf: events.open.packed)
        keys.packRecent(into: &bytes)
        collapseKeys.packRecent(into: &bytes)
        moved.packRecent(into: &bytes)
        voided.packRecent(into: &bytes)
        tail.pack(into: &bytes)
        // Distances, because these are usually the last item of the tail.
        for position in [newest.listed, newest.counted] {
            bytes.appendVarint(position == 0 ? 0 : lastPosition &- position &+ 1)
        }
        if hasMore { bytes.appendVarint(awaiting << 1 | (hasReminders ? 1 : 0)) }
    }

    /// No item is above this position.
    private var lastPosition: UInt64 { tail.entries.last?.position ?? appliedSeq }

    /// Reads a state that ``pack(into:)`` wrote; its sealed pages stay in the store.
    package init(from reader: inout PackedReader) throws(PackedError) {
        let head = try reader.byte()
        let version = head & ~TrayState.moreBit
        guard version >= TrayState.packedVersion else { throw .damaged("of an unreleased version") }
        guard version == TrayState.packedVersion else { throw .newer(version: version) }
        appliedSeq = try reader.varint()
        folded = try reader.varint()
        landmarkDistance = try reader.varint()
        guard landmarkDistance > 0 else { throw .damaged("landmark distance") }
        lastLandmark = try reader.varint()
        total = try reader.varint()
        unseen = try reader.varint()
        unread = try reader.varint()
        seenUpTo = try reader.varint()
        seenMark = try reader.varint()
        sealedPages = try reader.varint()
        for _ in 0..<(try reader.count(minimumBytes: 11)) {
            let category = try reader.identity()
            let namedBy = try reader.varint()
            let unseen = try reader.varint()
            categories.append(
                CategoryCount(category: category, namedBy: namedBy, unseen: unseen, unread: try reader.varint()))
        }
        mutes = try MuteSet(from: &reader)
        for _ in 0..<(try reader.count(minimumBytes: 9)) { topics.append(try Subscription(from: &reader)) }
        for _ in 0..<(try reader.count(minimumBytes: 19)) { rangeMarks.append(try RangeMark(from: &reader)) }
        if !rangeMarks.isEmpty {
            sweepBelow = try reader.varint()
            sweepThrough = try reader.varint()
        }
        if sealedPages >= TrayState.talliedPages { tallies.pageCount = try reader.varint() }
        seenBy = seenUpTo &+ (try reader.varint())
        events.count = try reader.varint()
        events.last = try reader.varint()
        events.open.first = try reader.varint()
        events.open.packed = try reader.take(reader.count(), spare: 32)
        keys = try KeyIndex(from: &reader)
        collapseKeys = try KeyIndex(from: &reader)
        moved = try KeyIndex(from: &reader)
        voided = try KeyIndex(from: &reader)
        tail = try ItemPage(from: &reader)
        // Later events are appended after these, in pages and in the index.
        guard events.last <= appliedSeq, tail.entries.last?.position ?? 0 <= appliedSeq, appliedSeq <= Seq.highest
        else {
            throw .damaged("state beyond its event")
        }
        newest.listed = try position(from: &reader)
        newest.counted = try position(from: &reader)
        guard seenBy <= appliedSeq, newest.counted <= newest.listed else { throw .damaged("newest items") }
        guard head & TrayState.moreBit != 0 else { return }
        let last = try reader.varint()
        guard last > 0 else { throw .damaged("awaiting") }
        (awaiting, hasReminders) = (last >> 1, last & 1 != 0)
    }

    private func position(from reader: inout PackedReader) throws(PackedError) -> UInt64 {
        let distance = try reader.varint()
        guard distance <= lastPosition else { throw .damaged("position") }
        return distance == 0 ? 0 : lastPosition - distance + 1
    }
}

extension Subscription {
    fileprivate init(from reader: inout PackedReader) throws(PackedError) {
        self.init(topic: try reader.identity(), isActive: false)
        let flags = try reader.byte()
        guard flags <= 3 else { throw .damaged("subscription") }
        isActive = flags & 1 != 0
        hasItems = flags & 2 != 0
    }
}

extension RangeMark {
    fileprivate func pack(into bytes: inout [UInt8]) {
        bytes.appendVarint(seq)
        bytes.append(mark.code << 1 | (onlyUnthreaded ? 1 : 0))
        bytes.appendVarint(upTo)
        bytes.appendFixed64(thread.rawValue)
        bytes.appendFixed64(category.rawValue)
    }

    fileprivate init(from reader: inout PackedReader) throws(PackedError) {
        let seq = try reader.varint()
        let kind = try reader.byte()
        guard let mark = BulkMark(code: kind >> 1) else { throw .damaged("range mark") }
        self.init(seq: seq, mark: mark, upTo: try reader.varint())
        onlyUnthreaded = kind & 1 != 0
        thread = try reader.identity()
        category = try reader.identity()
    }
}
