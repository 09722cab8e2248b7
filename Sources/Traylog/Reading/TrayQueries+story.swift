@_spi(Operations) import TraylogDomain
@_spi(Operations) import TraylogEvidence
import TraylogQueries
import TraylogStates

@_spi(Operations) extension BlockingQueries {
    /// Tells what happened to one item, in sentences.
    ///
    /// A sentence whose event has left the log says so, and so does the sentence about a mute that a damaged event hides.
    ///
    /// - Parameter life: the item and its events, as ``life(of:of:asOf:)`` answers them.
    /// - Throws: ``TraylogError``: failed.
    /// - Complexity: O(the user's events up to the last undo of something that may have changed the item), or up to the floor, for an
    ///   item from below it; O(the user's events before the item), where it came muted. Where it has a time to remind, or was edited, as
    ///   ``life(of:of:asOf:)``.
    @available(*, noasync, message: "use `await store.story`; this call blocks a thread that tasks share")
    public func story(of life: ItemLife) throws(TraylogError) -> ItemStory {
        let found = try storyEvents(of: life)
        return ItemStory(
            of: life.item, user: life.user, events: found.events, from: found.floor, gap: found.gap,
            damaged: found.damage?.failure?.event)
    }

    /// The events that a story is made of, ascending, with those that were undone.
    ///
    /// The gap is the floor's time, where an event that concerned the item may have left the log. The damage is the error of reading
    /// the mutes before the item, where a damaged event hides them.
    func storyEvents(
        of life: ItemLife
    ) throws(TraylogError) -> (events: [Event], floor: ItemAtFloor?, gap: Timestamp?, damage: TraylogError?) {
        let (user, item) = (life.user, life.item)
        var damage: TraylogError?
        var events = Dictionary(life.events.map { ($0.seq, $0) }) { first, _ in first }
        func add(_ more: [Event]) { for event in more { events[event.seq] = event } }
        let voided = try voidedEvents(of: user).filter { $0.value <= life.asOf }
        if item.isMuted {
            let arrival = life.events.first { $0.kind == .arrived }?.seq ?? item.position
            // What is damaged before it came hides at most who had muted it.
            do throws(TraylogError) { add(try mutes(before: item, arrival: arrival, of: user)) } catch {
                guard error.failure?.event != nil else { throw error }
                damage = error
            }
        }
        // Of an item that was compacted, the log may still have the answer.
        if let seq = item.outcome?.seq, events[seq] == nil {
            do throws(TraylogError) { add([try event(seq)]) } catch { guard case .refused = error else { throw error } }
        }
        // A reminder changes no item, so its life lacks it. Those of a broadcast are nobody's own.
        if item.topic == nil, item.content.remindAt != nil || life.events.contains(where: { $0.kind == .edited }) {
            add(try reminders(of: item, user, through: life.asOf))
        }
        let floor = try statistics(checkingStates: false).floor
        // Where a mark was undone, one that changed nothing then may be what counts now; none that came after the undo is.
        if let undo = try lastUndo(of: item.seq, voided) {
            let end = min(max(undo, floor), life.asOf)
            add(try history(of: user, from: item.seq, limit: .max, asOf: .seq(end)).elements)
        }
        guard item.seq <= floor, floor <= life.asOf else {
            return (events.values.sorted { $0.seq < $1.seq }, nil, nil, damage)
        }
        let before = try history(of: user, from: item.seq, limit: .max, asOf: .seq(floor)).elements
        let gap = try event(floor).recordedAt
        if try has(all: before, of: user, since: item.seq, to: floor) {
            add(before)
            let known = events.values.sorted { $0.seq < $1.seq }
            // Edits of a broadcast are nobody's own, so nobody's history says whether one is missing.
            if known.contains(where: { $0.brings(item.seq) }) {
                return (known, nil, item.topic == nil ? nil : gap, damage)
            }
            // A broadcast that has left the log, and a person whose own events have not, as those on hold.
            if let start = ItemAtFloor(arrivalOf: item, known) { return (known, start, gap, damage) }
        }
        add(before.filter { $0.brings(item.seq) })
        let start = try self.item(item.seq, user, at: floor, undone: voided)
        let known = events.values.filter { event in
            start == nil || event.seq > floor || event.brings(item.seq) || event.seq == item.outcome?.seq
                || event.kind == .muted || event.kind == .unmuted || event.kind == .edited
        }
        return (known.sorted { $0.seq < $1.seq }, start, start == nil ? nil : gap, damage)
    }

    /// The item's state at the floor; nil if it arrived later.
    private func item(
        _ seq: Seq, _ user: String, at floor: Seq, undone: [Seq: Seq]
    ) throws(TraylogError) -> ItemAtFloor? {
        do throws(TraylogError) {
            return ItemAtFloor(
                seq: floor, time: try event(floor).recordedAt,
                item: try item(.seq(seq), of: user, asOf: .seq(floor)),
                isCertain: !undone.contains { $0.key <= floor && $0.value > floor })
        } catch {
            guard case .refused(.unknownItem) = error else { throw error }
            return nil
        }
    }

    /// Whether the log has all of a user's own events of a stretch: their revisions have no gap.
    ///
    /// - Parameter events: those that it has of the stretch.
    private func has(
        all events: [Event], of user: String, since first: Seq, to last: Seq
    ) throws(TraylogError) -> Bool {
        let own = events.filter { $0.user != nil }
        var before = own.first.flatMap { $0.seq == first ? max(1, $0.revision) - 1 : nil }
        if before == nil, first > 1 {
            let page = try self.events(
                matching: EventFilter(user: user), newestFirst: true, from: first - 1, limit: 1)
            before = page.elements.first?.revision
        }
        return try tray(of: user, asOf: .seq(last)).revision == (before ?? 0) &+ UInt64(own.count)
    }

    /// The last undo of an event that may have changed an item; nil without one.
    private func lastUndo(of item: Seq, _ voided: [Seq: Seq]) throws(TraylogError) -> Seq? {
        for (seq, undo) in voided.filter({ $0.key > item }).sorted(by: { $0.value > $1.value }) {
            do throws(TraylogError) {
                if try event(seq).mayConcern(item, collapseKey: nil) { return undo }
            } catch {
                // Nobody knows any more what has left the log.
                guard case .refused = error else { throw error }
                return undo
            }
        }
        return nil
    }

    private func reminders(of item: Item, _ user: String, through end: Seq) throws(TraylogError) -> [Event] {
        let (item, end) = (item.seq, end.rawValue)
        return try queries.answer(.past, of: user) { now in
            // What a floor has passed since cannot be folded any more.
            let isPassed = now.store.record.floor.isAbove(end)
            let start = item.rawValue
            let stretches =
                try isPassed ? [(start, end)] : now.at(end).stretches(changing: start, after: start)
            var found: [Event] = []
            for stretch in stretches {
                var next: UInt64? = stretch.after + 1
                while let from = next {
                    let part = try now.events(from: from, through: stretch.through, limit: .max)
                    found += part.events.filter { if case .reminded(item) = $0.body { true } else { false } }
                    next = part.next
                }
            }
            return found
        }
    }

    /// The events of mutes and their ends before an item, from the oldest mute on that may have been in force when it came.
    ///
    /// - Parameter arrival: the event with which it arrived, of an item that was scheduled.
    func mutes(before item: Item, arrival: Seq, of user: String) throws(TraylogError) -> [Event] {
        let floor = try statistics(checkingStates: false).floor
        let place = item.arrivedAt == nil ? item.seq : arrival
        guard place > 1 else { return [] }
        var filter = EventFilter(user: user, kinds: [.muted, .unmuted])
        if place - 1 >= floor {
            let then = try mutes(of: user, asOf: .seq(place - 1)).mutes
            guard let first = then.map(\.since).min() else { return [] }
            filter.since = first
        } else {
            // Those of a past that cannot be asked for are known where the log still has all of it.
            let past = try history(of: user, from: 1, limit: .max, asOf: .seq(floor)).elements
            guard try has(all: past, of: user, since: 1, to: floor) else { return [] }
        }
        var (events, next): ([Event], Seq?) = ([], nil)
        repeat {
            let page = try self.events(matching: filter, from: next, limit: 1_000)
            events += page.elements.filter { $0.seq < place }
            next = page.next.flatMap { $0 < place ? $0 : nil }
        } while next != nil
        return events
    }
}

@_spi(Operations) extension TrayQueries {
    /// The same, while the task waits.
    public func story(of life: ItemLife) async throws(TraylogError) -> ItemStory {
        try await asking(atLength: true) { store throws(TraylogError) in try store.story(of: life) }
    }
}
