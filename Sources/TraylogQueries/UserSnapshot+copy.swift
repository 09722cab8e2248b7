@_spi(Replication) import TraylogDomain
import TraylogFold
import TraylogStates
@_spi(Replication) import TraylogReplica

extension UserSnapshot {
    package func snapshot(after position: UInt64, limit: Int, contents: Int) throws -> TraySnapshot {
        let named = try NamingEvents(
            of: state, stored: pages, hasher: hasher, log: store.tables.log.events, rows: store)
        var page = TraySnapshot(
            user: user, asOf: Seq(asOf), history: store.record.history, stream: stream.rawValue,
            floor: store.record.floor.seq, tray: try tray(),
            mutes: try state.mutes(from: pages), topics: named.topics,
            voided: try state.voidings(stored: pages).filter { $0.undone <= asOf }.map { Seq($0.event) }.sorted())
        let lowest = try lowest(limit + 1, above: position)
        let shown = lowest.prefix(limit)
        if lowest.count > limit, let last = shown.last {
            page.next = SnapshotCursor(
                asOf: Seq(asOf), stream: stream.rawValue, after: Seq(last.entry.position),
                history: store.record.history.id(at: Seq(asOf)))
        }
        let newest = try positionOfContent(contents)
        page.items = try zip(shown, pages.items(Array(shown))).map { shown, item in
            let part = TraySnapshot.Part(item: item, hasContent: shown.entry.position >= newest)
            return part.hasContent ? part : part.withoutContent
        }
        return page
    }

    /// Visits the items that have arrived and are not gone, newest position first.
    private func forEachPart(_ body: (ItemPage, ItemEntry) throws -> Bool) throws {
        let floor = store.record.floor
        try state.forEachItem(below: .max, stored: pages) { page, entry in
            guard entry.flags.isDisjoint(with: [.gone, .scheduled]) else { return true }
            // The event of a deleted item may have left the log. Then the item never comes back.
            if entry.flags.contains(.deleted), floor.isAbove(entry.seq), try !store.holds(entry.seq) { return true }
            return try body(page, entry)
        }
    }

    /// The lowest items above a position, ascending; at most `count`.
    private func lowest(_ count: Int, above position: UInt64) throws -> [ShownItem] {
        var found: [ShownItem] = []
        try forEachPart { page, entry in
            guard entry.position > position else { return false }
            let overrides = page.overrides.isEmpty ? [] : Array(page.overrides(of: entry.seq))
            found.append(ShownItem(entry: entry, isSeen: state.isSeen(entry), overrides: overrides))
            // What is too new for the page goes, now and then.
            if found.count >= 2 * count { found.removeFirst(found.count - count) }
            return true
        }
        return found.suffix(count).reversed()
    }

    /// The lowest position of the newest `count` items.
    private func positionOfContent(_ count: Int) throws -> UInt64 {
        var (left, position) = (count, UInt64.max)
        try forEachPart { _, entry in
            guard left > 0 else { return false }
            (left, position) = (left - 1, entry.position)
            return true
        }
        return position
    }
}

extension TraySnapshot.Part {
    fileprivate var withoutContent: TraySnapshot.Part {
        var part = self
        part.item.content.title = nil
        part.item.content.body = nil
        part.item.content.data = nil
        part.item.content.level = .active
        part.item.actor = nil
        part.item.occurredAt = nil
        return part
    }
}
