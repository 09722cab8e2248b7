extension TrayState {
    /// Folds one event of the stream in.
    ///
    /// An event that the state holds already changes nothing.
    ///
    /// This is the only fold: live appends, catching up, replay and recovery all come here, by way of
    /// ``catchUp(own:through:stored:history:skipping:next:landmark:)``. An `undone` is only noted here; `catchUp` carries
    /// it out. Total: an event that makes no sense, such as a mark on an unknown item, changes nothing.
    ///
    /// - Throws: ``RevisionFault``; what `stored` throws. The state is then unusable.
    /// - Complexity: O(1) amortised for `notified`; O(items named) for a mark; for a range mark, O(items in the tail and
    ///   in the pages above the position), and O(pairs of thread and category) where it archives or deletes a category.
    package mutating func apply(_ fact: borrowing Fact, stored: some StatePages) throws {
        guard fact.seq > appliedSeq else { return }
        step(to: fact.seq, items: fact.items.count)
        try carryOut(fact, stored: stored)
        try index(fact, stored: stored)
    }

    /// Folds in an event that was undone: it can be looked up, but has no effect.
    package mutating func pass(_ fact: borrowing Fact, stored: some StatePages) throws {
        guard fact.seq > appliedSeq else { return }
        step(to: fact.seq, items: fact.items.count)
        try index(fact, stored: stored)
    }

    /// Folds in one event of a topic that the user is subscribed to or has items from.
    package mutating func apply(_ fact: borrowing Fact, ofTopic topic: Identity, stored: some StatePages) throws {
        guard fact.seq > appliedSeq else { return }
        step(to: fact.seq, items: 0)
        guard let place = subscription(to: topic) else { return }
        if fact.kind == .broadcast || fact.kind == .arrived {
            // Until it arrives, a scheduled broadcast is its publisher's alone.
            guard topics[place].isActive, !fact.isScheduled else { return }
            topics[place].hasItems = true
        }
        try carryOut(fact, ofTopic: topic, stored: stored)
    }

    /// - Parameter items: how many items the event names. A mark of many counts as several events, so that folding
    ///   from one landmark to the next takes the same time whatever the events are. Landmarks of a state with many
    ///   categories, topics or mutes stand up to four times as far apart: each of them is as large as all of these.
    private mutating func step(to seq: UInt64, items: Int) {
        appliedSeq = seq
        let facts = 1 &+ UInt64(items / TrayState.itemsPerFact)
        if folded % landmarkDistance &+ facts >= landmarkDistance {
            let width = categories.count + topics.count + mutes.count
            let distance = landmarkDistance &* UInt64(min(1 + width / 1_024, 4))
            if folded % distance &+ facts >= distance { lastLandmark = seq }
        }
        folded &+= facts
    }

    /// Adds the event to the indexes.
    private mutating func index(_ fact: borrowing Fact, stored: some StatePages) throws {
        let seq = fact.seq
        guard fact.revision == 0 || UInt64(fact.revision) == events.count &+ 1 else {
            throw RevisionFault(seq: seq, expected: events.count &+ 1, found: UInt64(fact.revision))
        }
        events.append(seq)
        if fact.key != .absent, fact.kind != .arrived {
            try keys.insert(fact.key.rawValue, seq: seq) { try stored.keys(.keys, at: $0) }
        }
        if fact.kind == .undone { try voided.insert(fact.undoneEvent, seq: seq, load: stored.load(.voided)) }
    }

    private mutating func carryOut(
        _ fact: borrowing Fact, ofTopic topic: Identity = .absent, stored: some StatePages
    ) throws {
        let before = newest
        try change(by: fact, ofTopic: topic, stored: stored)
        try findNewest(since: before, stored: stored)
    }

    private mutating func change(by fact: borrowing Fact, ofTopic topic: Identity, stored: some StatePages) throws {
        switch fact.kind {
        case .notified, .broadcast:
            try add(fact, ofTopic: topic, stored: stored)
        case .arrived:
            try arrive(fact, ofTopic: topic, stored: stored)
        case .traySeen:
            try see(upTo: fact.upTo, stored: stored)
        case .marked:
            guard let mark = Mark(code: fact.mark) else { break }
            for item in fact.items {
                try change(item, by: fact.seq, stored: stored) { mark.apply(to: &$0.entries[$1].flags) }
            }
        case .allMarked:
            guard let mark = RangeMark(fact) else { break }
            try apply(mark, stored: stored)
        case .muted:
            mutes.mute(fact)
        case .unmuted:
            mutes.unmute(fact)
        case .edited:
            try edit(fact, stored: stored)
        case .retracted, .expired:
            try end(fact.item, by: fact.seq, stored: stored)
        case .snoozed:
            let seq = fact.seq
            let item = fact.item
            try changeUnlessGone(item, by: seq, growing: true, stored: stored) { page, index in
                page.entries[index].flags.insert(.snoozed)
                page.override(item, .snoozedUntil, by: seq)
            }
        case .woken:
            try wake(fact.item, at: fact.seq, stored: stored)
        case .subscribed:
            subscribe(to: fact.topic)
        case .unsubscribed:
            unsubscribe(from: fact.topic)
        case .acted:
            let item = fact.item
            try changeUnlessGone(item, by: fact.seq, growing: true, stored: stored) { [seq = fact.seq] page, index in
                guard page.entries[index].flags.isAwaiting else { return }
                page.entries[index].flags.formUnion([.acted, .seen, .read])
                page.override(item, .outcome, by: seq)
            }
        case .reminded:
            try changeUnlessGone(fact.item, by: fact.seq, stored: stored) { page, index in
                page.entries[index].flags.remove(.reminding)
            }
        case .undone, .erased, .compacted, .held, .released, .lost, .audited:
            break
        }
    }

    private mutating func add(_ fact: borrowing Fact, ofTopic topic: Identity, stored: some StatePages) throws {
        if fact.collapse != .absent {
            try supersede(fact.collapse, with: fact.seq, onlyScheduled: fact.isScheduled, by: fact.seq, stored: stored)
        }
        try append(newEntry(of: fact.seq, fact, ofTopic: topic), stored: stored)
    }

    /// The entry of an item that is added now.
    @inline(__always)
    mutating func newEntry(of item: UInt64, _ fact: borrowing Fact, ofTopic topic: Identity) -> ItemEntry {
        var flags: ItemFlags = []
        if fact.isScheduled { flags.insert(.scheduled) }
        if fact.isSilent { flags.insert(.silent) }
        if !mutes.isEmpty, !fact.isScheduled, mutes.cover(fact, topic: topic) { flags.insert(.muted) }
        if fact.hasActions { flags.insert(.actionable) }
        if fact.reminds {
            flags.insert(.reminding)
            hasReminders = true
        }
        return ItemEntry(
            seq: item, position: item, thread: fact.thread, category: fact.category,
            argument: fact.argument, summaryCount: fact.summaryCount, flags: flags)
    }

    /// Adds an entry at the newest position: the seq of the event being folded.
    package mutating func append(_ entry: ItemEntry, stored: some StatePages) throws {
        if tail.entries.isEmpty { tail.first = entry.position }
        tail.entries.append(entry)
        count(entry, adding: true)
        if tail.entries.count >= TrayState.tailLimit { try seal(by: entry.position, stored: stored) }
    }

    /// - Parameter onlyScheduled: leaves alone what has arrived.
    mutating func supersede(
        _ collapse: Identity, with new: UInt64, onlyScheduled: Bool = false, by seq: UInt64, stored: some StatePages
    ) throws {
        let candidates = try collapseKeys.seqs(of: collapse.rawValue, load: stored.load(.collapseKeys))
        for item in candidates {
            guard let entry = try entry(of: item, stored: stored) else { continue }
            guard entry.flags.isDisjoint(with: [.deleted, .gone]) else {
                // A deleted item can be restored; then the next one supersedes it.
                if entry.flags.contains(.gone) { try forget(collapse, item, by: seq, stored: stored) }
                continue
            }
            if onlyScheduled, !entry.flags.contains(.scheduled) { continue }
            try end(item, by: seq, stored: stored)
            try forget(collapse, item, by: seq, stored: stored)
        }
        try collapseKeys.insert(collapse.rawValue, seq: new, load: stored.load(.collapseKeys))
    }

    mutating func forget(
        _ collapse: Identity, _ item: UInt64, by seq: UInt64, stored: some StatePages
    ) throws {
        try collapseKeys.remove(collapse.rawValue, seq: item, by: seq, load: stored.load(.collapseKeys))
    }

    private mutating func edit(_ fact: borrowing Fact, stored: some StatePages) throws {
        let item = fact.item
        let seq = fact.seq
        let edited = fact.edited
        let argument = fact.argument
        let summaryCount = fact.summaryCount
        let reminds = fact.reminds
        if reminds { hasReminders = true }
        try changeUnlessGone(item, by: seq, growing: true, stored: stored) { page, index in
            for field in ContentFields.editable where edited.contains(field) { page.override(item, field, by: seq) }
            if edited.contains(.summaryArgument) { page.entries[index].argument = argument }
            if edited.contains(.summaryCount) { page.entries[index].summaryCount = summaryCount }
            guard edited.contains(.remindAt) else { return }
            page.entries[index].flags.remove(.reminding)
            if reminds { page.entries[index].flags.insert(.reminding) }
        }
    }
}

extension Mark {
    /// Changes the flags of an item; items that are gone stay as they are.
    package func apply(to flags: inout ItemFlags) {
        guard !flags.contains(.gone) else { return }
        switch self {
        case .seen: flags.insert(.seen)
        case .read: flags.formUnion([.seen, .read])
        case .unread: flags.remove(.read)
        case .archived: flags.insert(.archived)
        case .unarchived: flags.remove(.archived)
        case .deleted: flags.insert(.deleted)
        case .restored: flags.remove(.deleted)
        }
    }
}

extension TrayState {
    /// Folds in the events that the state does not hold yet: the user's own and those of topics, in the order of seqs.
    ///
    /// - Parameters:
    ///   - first: the user's own event to begin with; 0 for none.
    ///   - end: the last event to fold.
    ///   - voided: events to pass over, because they were undone.
    ///   - next: returns the user's own event after a given one; 0 for none.
    ///   - landmark: called with each state that is worth keeping, when it is reached.
    /// - Returns: the user's own event after `end`; 0 for none.
    /// - Throws: what `stored`, `history` and `next` throw; the state is then unusable.
    /// - Complexity: ``apply(_:stored:)`` for each event. A user without topics costs no other lookups.
    @discardableResult
    package mutating func catchUp<History: FoldHistory>(
        own first: UInt64, through end: UInt64, stored: some StatePages, history: History,
        skipping voided: Set<UInt64> = [], next: (UInt64) throws -> UInt64,
        landmark: (borrowing TrayState) -> Void = { _ in }
    ) throws -> UInt64 {
        var own = first
        var pending = try pendingTopicEvents(through: end, history)
        while true {
            if own != 0, own <= end, pending.last.map({ own < $0.seq }) ?? true {
                let fact = try history.fact(own)
                try take(fact, stored: stored, history: history, skipping: voided)
                try renew(&pending, after: fact, through: end, history)
                own = try next(own)
            } else if let event = pending.popLast() {
                try apply(try history.fact(event.seq), ofTopic: event.topic, stored: stored)
            } else {
                return own
            }
            if isLandmark { landmark(self) }
        }
    }

    private mutating func take<History: FoldHistory>(
        _ fact: borrowing Fact, stored: some StatePages, history: History, skipping voided: Set<UInt64>
    ) throws {
        if !voided.isEmpty, voided.contains(fact.seq) {
            try pass(fact, stored: stored)
        } else if fact.kind == .undone, voided.isEmpty, fact.seq > appliedSeq {
            try undo(fact, stored: stored, history: history)
        } else {
            try apply(fact, stored: stored)
        }
    }

    /// The events of the state's topics that it does not hold, in descending order.
    private func pendingTopicEvents(
        through end: UInt64, _ history: some FoldHistory
    ) throws -> [(seq: UInt64, topic: Identity)] {
        guard !topics.isEmpty, appliedSeq < end else { return [] }
        if let all = try history.topicEvents(after: appliedSeq, through: end) {
            return all.reversed().filter { subscription(to: $0.topic) != nil }
        }
        var pending: [(seq: UInt64, topic: Identity)] = []
        for subscription in topics {
            for seq in try history.events(ofTopic: subscription.topic, after: appliedSeq, through: end) {
                pending.append((seq, subscription.topic))
            }
        }
        pending.sort { $0.seq > $1.seq }
        return pending
    }

    /// Brings ``pendingTopicEvents(through:_:)`` up to date after an event that may have changed the user's set of topics.
    private func renew(
        _ pending: inout [(seq: UInt64, topic: Identity)], after fact: borrowing Fact, through end: UInt64,
        _ history: some FoldHistory
    ) throws {
        let topic = fact.topic
        switch fact.kind {
        case .undone: pending = try pendingTopicEvents(through: end, history)
        case .unsubscribed where subscription(to: topic) == nil: pending.removeAll { $0.topic == topic }
        case .subscribed where !pending.contains { $0.topic == topic }:
            let seqs = try history.events(ofTopic: topic, after: appliedSeq, through: end)
            guard !seqs.isEmpty else { break }
            pending = (pending + seqs.map { ($0, topic) }).sorted { $0.seq > $1.seq }
        default: break
        }
    }

    /// Carries out an `undone`: folds again without the event that it names, and without those undone before.
    mutating func undo<History: FoldHistory>(
        _ fact: borrowing Fact, stored: some StatePages, history: History
    ) throws {
        let voiding = Voiding(event: fact.undoneEvent, undone: fact.seq)
        let voidings = try voidings(stored: stored) + [voiding]
        var refolded = try TrayState.state(
            at: fact.seq - 1, of: self, without: voidings, stored: stored, history: history)
        try refolded.state.replace(self, voiding: voiding, kept: refolded.pages, history: history)
        self = refolded.state
        try pass(fact, stored: stored)
    }

    /// The events that were undone so far.
    package func voidings(stored: some StatePages) throws -> [Voiding] {
        guard !voided.isEmpty else { return [] }
        return try voided.entries(load: stored.load(.voided)).map { Voiding(event: $0.key, undone: $0.value) }
    }

    /// The user's state right after `seq`.
    ///
    /// - Parameters:
    ///   - newer: a later state of the user, which knows the user's events. `stored` has its pages.
    ///   - voidings: the events that were undone by then.
    /// - Returns: the state, and the stored pages that belong to it.
    /// - Complexity: folds at most the facts between two landmarks, and more only across an undone event.
    package static func state<History: FoldHistory>(
        at seq: UInt64, of newer: TrayState, without voidings: [Voiding], stored: some StatePages, history: History
    ) throws -> (state: TrayState, pages: History.Pages?) {
        let voided = Set(voidings.map(\.event))
        let base = try history.refolded(without: voided) ?? landmark(atOrBefore: seq, voidings, history)
        var state = base?.state ?? TrayState(landmarkDistance: newer.landmarkDistance)
        let own = try newer.events(from: state.appliedSeq + 1, through: seq, stored: stored)
        var index = 0
        func next(_ seq: UInt64) -> UInt64 {
            index += 1
            return index < own.count ? own[index] : 0
        }
        if let pages = base?.pages {
            try state.catchUp(
                own: own.first ?? 0, through: seq, stored: pages, history: history, skipping: voided, next: next)
        } else {
            try state.catchUp(
                own: own.first ?? 0, through: seq, stored: NoStoredPages(), history: history, skipping: voided,
                next: next)
        }
        return (state, base?.pages)
    }

    /// The newest landmark without the effect of an event that was undone later.
    private static func landmark<History: FoldHistory>(
        atOrBefore seq: UInt64, _ voidings: [Voiding], _ history: History
    ) throws -> Landmark<History.Pages>? {
        var bound = seq
        while bound > 0, let found = try history.landmark(atOrBefore: bound) {
            let kept = found.state.appliedSeq
            // The walk ends because each landmark lies below the one before.
            guard kept <= bound else { throw PackedError.damaged("landmark order") }
            let shown = voidings.filter { $0.event <= kept && $0.undone > kept }.map(\.event).min()
            guard let shown else { return found }
            guard shown > 0 else { return nil }
            bound = shown - 1
        }
        return nil
    }
}

extension TrayState {
    /// Takes the place of `old`, which still has the effect of the event that is undone now.
    ///
    /// The indexes by event and key stay those of `old`, because the undone event still exists. Pages that changed since
    /// that event, in either fold, are held in memory afterwards and count as changed by the `undone`. Pages that only
    /// `old` had become obsolete.
    fileprivate mutating func replace<Pages: StatePages>(
        _ old: TrayState, voiding: Voiding, kept: Pages?, history: some FoldHistory
    ) throws {
        (folded, lastLandmark) = (old.folded, old.lastLandmark)
        (events, keys, voided) = (old.events, old.keys, old.voided)
        let change = Replacement(voiding: voiding, stored: try history.firsts(of: .items, changedSince: voiding.event))
        (pages, obsoletePages) = try change.pages(pages, old.pages, obsolete: old.obsoletePages) { first in
            try kept?.items(at: first)
        }
        for (space, index) in TrayState.keyIndexes where space != .keys && space != .voided {
            let change = Replacement(
                voiding: voiding, stored: try history.firsts(of: space, changedSince: voiding.event))
            let (new, old) = (self[keyPath: index], old[keyPath: index])
            let replaced = try change.pages(new.pages, old.pages, obsolete: old.obsolete) { first in
                try kept?.keys(space, at: first)
            }
            (self[keyPath: index].pages, self[keyPath: index].obsolete) = replaced
        }
    }
}

/// Replaces the pages of the fold with an event by those of the fold without it.
private struct Replacement {
    let voiding: Voiding
    /// The stored pages that the voided event or a later one changed.
    let stored: [UInt64]

    /// - Parameters:
    ///   - new: the pages in memory after the fold without the event.
    ///   - old: the pages in memory after the fold with it.
    ///   - kept: returns the stored page that the new fold found, with the greatest `first` at or below the one given.
    func pages<Page: StatePage>(
        _ new: [Page], _ old: [Page], obsolete: [ObsoletePage], kept: (UInt64) throws -> Page?
    ) throws -> (pages: [Page], obsolete: [ObsoletePage]) {
        var pages: [UInt64: Page] = [:]
        var affected = Set(stored)
        for page in old where page.changedBy >= voiding.event { affected.insert(page.first) }
        // The other pages are equal in both folds; the old one has them in the store or in memory.
        for page in old where !affected.contains(page.first) { pages[page.first] = page }
        for var page in new where page.changedBy >= voiding.event || affected.contains(page.first) {
            page.changedBy = voiding.undone
            pages[page.first] = page
            affected.remove(page.first)
        }
        var obsolete = obsolete
        for first in affected {
            if var page = try kept(first), page.first == first {
                page.changedBy = voiding.undone
                pages[first] = page
            } else {
                obsolete.append(ObsoletePage(first: first, by: voiding.undone))
            }
        }
        return (pages.values.sorted { $0.first < $1.first }, obsolete.filter { pages[$0.first] == nil })
    }
}
