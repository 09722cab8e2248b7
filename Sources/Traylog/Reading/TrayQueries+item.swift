import TraylogEvidence
@_spi(Operations) import TraylogQueries
@_spi(Internals) @_spi(Operations) @_spi(Replication) import TraylogDomain
import TraylogJSON
import TraylogStates

extension BlockingQueries {
    /// One item of a user's tray, in any state, even archived, snoozed, deleted or gone.
    ///
    /// - Throws: ``TraylogError/refused(_:)``: `unknownItem` for one that was never in this tray, `compacted` for one that a
    ///   compaction removed; ``TraylogError/failed(_:)``.
    /// - Complexity: O(log n).
    @available(*, noasync, message: "use `await store.item`; this call blocks a thread that tasks share")
    public func item(
        _ item: some ItemNaming, of user: String, asOf: Moment? = nil
    ) throws(TraylogError) -> Item {
        let item = item.reference
        return try queries.answer(asOf == nil ? .now : .past, of: user) { try $0.at(asOf).item(item, now: $0) }
    }

    /// One item with the events that changed it.
    ///
    /// - Parameters:
    ///   - item: the item, its seq or its key.
    ///   - user: the tray's owner.
    ///   - asOf: an earlier moment; nil for now.
    ///   - archives: have the events that left the log.
    /// - Throws: as ``item(_:of:asOf:)``; with archives, also failed `notFound` where they lack an event.
    /// - Complexity: O(states that were kept since the item came, and the user's events between two of them where the item, or one
    ///   beside it, changed), which are folded again; with archives, O(all events).
    @available(*, noasync, message: "use `await store.life`; this call blocks a thread that tasks share")
    public func life(
        of item: some ItemNaming, of user: String, asOf: Moment? = nil, including archives: Archives? = nil
    ) throws(TraylogError) -> ItemLife {
        let item = item.reference
        if let archives { return try wholeLife(of: item, of: user, asOf: asOf, archives) }
        do throws(TraylogError) {
            return try queries.answer(.past, of: user) { now in
                let then = try now.at(asOf)
                let shown = try then.item(item, now: now)
                return ItemLife(
                    user: user, asOf: Seq(then.asOf), item: shown,
                    events: try now.events(of: shown.seq.rawValue, through: then).map { try now.pages.event($0) })
            }
        } catch {
            guard let damaged = error.failure?.event else { throw error }
            let end = if let asOf { try seq(of: asOf) } else { try head() }
            let shown = try self.item(item, of: user, asOf: asOf)
            // What is damaged before an item came is no part of its life; only the fold has to pass it.
            guard damaged < shown.seq else { throw error }
            return ItemLife(user: user, asOf: end, item: shown, events: try events(of: shown, user, through: end))
        }
    }

    /// The events that changed an item, without the states before it.
    private func events(of item: Item, _ user: String, through end: Seq) throws(TraylogError) -> [Event] {
        var events = try history(of: user, from: item.seq, limit: .max, asOf: .seq(end)).elements
        if item.topic != nil {
            // Nobody's own, so only a look at the whole log finds them.
            let kinds: Set<EventKind> = [.broadcast, .arrived, .edited, .retracted, .expired]
            var next: Seq? = item.seq
            while let from = next, from <= end {
                let page = try self.events(matching: EventFilter(kinds: kinds), from: from, limit: 1_000)
                events += page.elements.filter { $0.user == nil && $0.seq <= end }
                next = page.next
            }
            events.sort { $0.seq < $1.seq }
        }
        return ItemFold.changes(of: item, user: user, events)
    }

    /// The events that may have changed an item whose own event is damaged, oldest first.
    ///
    /// They are the user's, came after it, and name it, look at the tray or mark all of it, or a part: nobody can tell any more in which
    /// part it was. With them stand the events that undid one of them. After the item's end, as it was taken back or expired, there
    /// are no others: what is gone can be neither seen nor marked.
    ///
    /// - Throws: ``TraylogError``: refused `unknownItem` for one that was never in this tray; failed.
    /// - Complexity: O(the user's events since the item came); of a broadcast that is gone, O(all events since).
    @available(*, noasync, message: "use `await store.traces`; this call blocks a thread that tasks share")
    @_spi(Operations) public func traces(
        of item: Seq, of user: String, asOf: Moment? = nil
    ) throws(TraylogError) -> [Event] {
        let end = if let asOf { try seq(of: asOf) } else { try head() }
        let flags = try queries.answer(.now, of: user) { now in
            try now.state.entry(of: item.rawValue, stored: now.pages)?.flags
        }
        guard let flags, item <= end else { throw .refused(.unknownItem(.seq(item))) }
        guard item < end else { return [] }
        var events = try history(of: user, from: item + 1, limit: .max, asOf: .seq(end)).elements
        if flags.contains(.gone), !events.contains(where: { $0.ends(item) }),
            let last = try self.end(ofBroadcast: item, through: end)
        {
            events.insert(last, at: events.bisect { $0.seq < last.seq })
        }
        var (found, isOver): (Set<Seq>, Bool) = ([], false)
        return events.filter { event in
            let isTrace =
                switch event.body {
                case .undone(let seq): found.contains(seq)
                case _ where isOver: false
                case .traySeen(let upTo), .allMarked(_, _, let upTo): upTo >= item
                default: event.mayConcern(item, collapseKey: nil)
                }
            if isTrace { found.insert(event.seq) }
            if event.ends(item) { isOver = true }
            return isTrace
        }
    }

    /// The event that took a broadcast back, or with which it expired: it is nobody's own, so only a look at the log finds it.
    private func end(ofBroadcast item: Seq, through end: Seq) throws(TraylogError) -> Event? {
        let filter = EventFilter(kinds: [.retracted, .expired])
        var next: Seq? = item + 1
        do throws(TraylogError) {
            while let from = next, from <= end {
                let page = try events(matching: filter, from: from, limit: 1_000)
                if let last = page.elements.first(where: { $0.ends(item) }) { return last.seq <= end ? last : nil }
                next = page.next
            }
        } catch {
            // The rest can be told without it.
            guard error.failure?.code == .damaged else { throw error }
        }
        return nil
    }

    private func wholeLife(
        of item: ItemReference, of user: String, asOf: Moment?, _ archives: Archives
    ) throws(TraylogError) -> ItemLife {
        let (past, end) = try wholePast(of: user, asOf: asOf, including: archives)
        return try queries.answer(.past, of: user) { now in
            let shown = try now.at(.seq(Seq(end))).item(item, now: now)
            guard let entry = try now.state.entry(of: shown.seq.rawValue, stored: now.pages) else {
                throw Refusal.unknownItem(item)
            }
            let events = try past.reading(now.store) { try past.events(of: entry, through: end).map(past.event) }
            return ItemLife(user: user, asOf: Seq(end), item: shown, events: events)
        }
    }

    /// One event of the log.
    ///
    /// - Throws: ``TraylogError/refused(_:)``: `unknownEvent` for a seq that the log never had, `compacted` for an event that
    ///   left it; ``TraylogError/failed(_:)``.
    @available(*, noasync, message: "use `await store.log.event`; this call blocks a thread that tasks share")
    public func event(_ seq: Seq) throws(TraylogError) -> Event {
        try queries.answer { store in
            guard seq > .zero, seq.rawValue <= store.head else { throw Refusal.unknownEvent(seq) }
            let floor = store.record.floor
            if floor.isAbove(seq.rawValue), try !store.pages(of: .absent, asOf: 0).holds(seq.rawValue) {
                throw floor.refusal
            }
            return try store.event(seq)
        }
    }
}

extension Event {
    /// Whether nothing happens to the item any more after it.
    fileprivate func ends(_ item: Seq) -> Bool {
        switch body {
        case .retracted(item), .expired(item): true
        default: false
        }
    }
}

extension UserSnapshot {
    /// - Parameter now: the same user at the head: keys are looked up in the present, for the past does not keep them.
    fileprivate func item(_ reference: ItemReference, now: UserSnapshot) throws -> Item {
        if case .key(let key) = reference { try Limits.check(identifier: key, "item") }
        let seq = try now.state.entry(of: reference, hasher: hasher, source: now.pages).seq
        guard seq <= asOf, let entry = try state.entry(of: seq, stored: pages), !entry.flags.contains(.scheduled) else {
            throw Refusal.unknownItem(reference)
        }
        let shown = try state.shown(entry, stored: pages)
        // If an item was gone at the floor, the log may hold its own event without those that changed it.
        for event in [entry.seq] + shown.overrides.map(\.event) where store.record.floor.isAbove(event) {
            guard try pages.holds(event) else { throw store.record.floor.refusal }
        }
        return try shown.item(from: pages)
    }

    /// The events that changed an item, ascending, as far as the log holds them.
    ///
    /// - Parameter then: the same user at the moment up to which they are wanted.
    fileprivate func events(of item: UInt64, through then: UserSnapshot) throws -> [UInt64] {
        let start = start(of: item)
        var kept: [UInt64] = []
        if start >= item {
            let floor = try at(start)
            if let entry = try floor.state.entry(of: item, stored: floor.pages), !entry.flags.contains(.scheduled) {
                // Below the floor the log holds the events that the item's content comes from.
                let shown = try floor.state.shown(entry, stored: floor.pages)
                kept = Set([shown.base] + shown.overrides.map(\.event)).sorted()
            }
        }
        return try kept + events(of: item, in: then.stretches(changing: item, after: start))
    }

    /// The event after which an item's life begins, as far as it can be folded.
    func start(of item: UInt64) -> UInt64 { max(item - 1, store.record.floor.seq.rawValue) }

    /// The events of some stretches that changed an item, ascending.
    func events(of item: UInt64, in stretches: [Stretch]) throws -> [UInt64] {
        guard let entry = try state.entry(of: item, stored: pages) else { return [] }
        return try stretches.flatMap { stretch in
            let fold = try StepFold(self, after: stretch.after, through: stretch.through)
            let base = fold.base
            var standing: ItemStanding?
            if let entry = try base.state.entry(of: item, stored: base.pages), !entry.flags.contains(.scheduled) {
                standing = ItemStanding(entry, isSeen: base.state.isSeen(entry))
            }
            var tracker = ChangeTracker([(entry, standing)], pages: base.pages)
            _ = try fold.run { state, seq in try tracker.follow(state, store.fact(seq)) }
            return tracker.events(of: Seq(item)).map(\.rawValue)
        }
    }
}

extension TrayQueries {
    /// The same, while the task waits.
    ///
    /// ```swift
    /// for event in try await store.traces(of: 17, of: "ann") { print(event.kind, event.recordedAt) }
    /// ```
    @_spi(Operations) public func traces(
        of item: Seq, of user: String, asOf: Moment? = nil
    ) async throws(TraylogError) -> [Event] {
        try await asking(atLength: true) { store throws(TraylogError) in
            try store.traces(of: item, of: user, asOf: asOf)
        }
    }
}
