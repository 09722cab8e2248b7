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
