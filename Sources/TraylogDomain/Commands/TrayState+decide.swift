/// The outcome of a command, given its user's state.
package enum Decision: Hashable, Sendable {
    case unchanged
    /// The command with this key is stored already.
    case duplicate(Seq)
    /// - Parameter edits: ``Event/edits``.
    case append(Event.Body, edits: UInt64 = 0)
}

extension Command {
    /// The event that this command causes whatever the user's state is; nil when it depends on the state.
    ///
    /// Such a command can be made durable before the state is even loaded.
    ///
    /// - Throws: ``Refusal/upToBeyondHead(_:head:)``.
    package func decideBlindly(head: UInt64) throws(Refusal) -> Event.Body? {
        guard key == nil else { return nil }
        switch action {
        case .notify(let content): return .notified(content)
        case .broadcast(let topic, let content): return .broadcast(topic: topic, content)
        case .markAll(let mark, let filter, let upTo):
            return try .allMarked(mark, filter, upTo: Seq(upTo.within(head)))
        default: return nil
        }
    }
}

extension TrayState {
    /// Decides a command that is valid by itself.
    ///
    /// - Parameters:
    ///   - head: the seq of the newest event of the log.
    ///   - fingerprint: identifies the command, when it has a key.
    /// - Throws: ``Refusal``, or what `source` throws.
    package func decide(
        _ command: Command, head: UInt64, fingerprint: UInt64, hasher: IdentityHasher, source: some StateSource
    ) throws -> Decision {
        if case .act(let reference, _, _, _) = command.action {
            _ = try entry(of: reference, hasher: hasher, source: source)
        }
        if let key = command.key, let (seq, known) = try answered(key, hasher: hasher, source: source) {
            guard known == fingerprint else { throw Refusal.keyConflict(key: key, seq: Seq(seq)) }
            return .duplicate(Seq(seq))
        }
        switch command.action {
        case .notify(let content):
            return .append(.notified(content))
        case .seeTray(let upTo):
            return try decideSeen(upTo: upTo.within(head), source: source)
        case .mark(let mark, let references):
            return try decide(mark, references, hasher: hasher, source: source)
        case .markAll(let mark, let filter, let upTo):
            return try .append(.allMarked(mark, filter, upTo: Seq(upTo.within(head))))
        case .mute(let scope, let until):
            let mute = try mutes.entry(of: scope, hasher)?.mute(from: source)
            return mute.map { $0.until == until } ?? false ? .unchanged : .append(.muted(scope, until: until))
        case .unmute(let scope):
            return mutes.entry(of: scope, hasher) == nil ? .unchanged : .append(.unmuted(scope))
        case .edit(let reference, let edit):
            let shown = try published(reference, by: command, hasher: hasher, source: source)
            let content = try shown.content(from: source).content
            if edit.notBefore != .keep, !shown.entry.flags.contains(.scheduled) {
                throw Refusal.invalid(field: "notBefore", reason: "the item has arrived")
            }
            let edited = content.applying(edit)
            guard !edited.hasSameValues(as: content) else { return .unchanged }
            try edited.checkOrderOfTimes()
            var changing = edit
            // The time that is already in force does not allow another reminder.
            if changing.remindAt.leaves(content.remindAt) { changing.remindAt = .keep }
            let edits = shown.entry.flags.contains(.actionable) ? try shown.edits(from: source) &+ 1 : 0
            return .append(.edited(item: Seq(shown.entry.seq), changing), edits: edits)
        case .retract(let reference):
            let shown = try published(reference, by: command, hasher: hasher, source: source)
            return .append(.retracted(item: Seq(shown.entry.seq)))
        case .snooze(let reference, let until):
            let shown = try shown(live(reference, hasher: hasher, source: source), stored: source)
            return try shown.snoozedUntil(from: source) == until
                ? .unchanged : .append(.snoozed(item: Seq(shown.entry.seq), until: until))
        case .wake(let reference):
            let entry = try live(reference, hasher: hasher, source: source)
            guard entry.flags.contains(.snoozed) else { throw Refusal.notSnoozed(Seq(entry.seq)) }
            return .append(.woken(item: Seq(entry.seq)))
        case .subscribe(let topic):
            return isSubscribed(to: topic, hasher) ? .unchanged : .append(.subscribed(topic: topic))
        case .unsubscribe(let topic):
            return isSubscribed(to: topic, hasher) ? .append(.unsubscribed(topic: topic)) : .unchanged
        case .broadcast(let topic, let content):
            return .append(.broadcast(topic: topic, content))
        case .undo(let event):
            return try decideUndo(of: event, by: command, head: head, source: source)
        case .act(let reference, let action, let note, let asOf):
            let entry = try live(reference, hasher: hasher, source: source)
            let actions = try source.event(entry.seq).content?.actions ?? []
            guard actions.contains(where: { $0.id.hasSameBytes(as: action) }) else {
                throw Refusal.invalid(field: "action", reason: "the item has no action \"\(action)\"")
            }
            let shown = try shown(entry, stored: source)
            guard let outcome = try shown.outcome(from: source) else {
                let asOf = try asOf.within(head, "asOf")
                if let edited = shown.firstEdit(after: asOf) {
                    throw Refusal.changedSince(Seq(entry.seq), asOf: Seq(asOf), edited: Seq(edited))
                }
                return .append(
                    .acted(item: Seq(entry.seq), action: action, note: note, asOf: Seq(asOf)),
                    edits: try shown.edits(from: source))
            }
            guard outcome.action.hasSameBytes(as: action) else {
                throw Refusal.alreadyActed(Seq(entry.seq), action: outcome.action)
            }
            return .unchanged
        }
    }

    /// The event that carries a key, and the fingerprint of its command; nil when no event does.
    private func answered(
        _ key: String, hasher: IdentityHasher, source: some StateSource
    ) throws -> (seq: UInt64, fingerprint: UInt64?)? {
        let seqs = try keys.seqs(of: hasher.identity(of: key, as: .key).rawValue, load: source.load(.keys))
        return try TrayState.carrier(of: key, among: seqs, source: source)
    }

    /// The event that carries `key`, among those whose keys have the same identity, and the fingerprint of its command; nil
    /// when none does.
    package static func carrier(
        of key: String, among seqs: [UInt64], source: some StateSource
    ) throws -> (seq: UInt64, fingerprint: UInt64?)? {
        for seq in seqs {
            if try source.compaction(of: seq) != nil { return (seq, try source.compactedFingerprint(seq)) }
            let event = try source.event(seq)
            if event.key.hasSameBytes(as: key) { return (seq, event.commandFingerprint) }
        }
        return nil
    }

    private func decideSeen(upTo: UInt64, source: some StateSource) throws -> Decision {
        let position = try newestPosition(atOrBelow: upTo, stored: source)
        return position > seenUpTo ? .append(.traySeen(upTo: Seq(position))) : .unchanged
    }

    private func decide(
        _ mark: Mark, _ references: [ItemReference], hasher: IdentityHasher, source: some StateSource
    ) throws -> Decision {
        var changing: [Seq] = []
        var looked: Set<UInt64> = []
        var page: ItemPage?
        for reference in references {
            var known: ItemEntry?
            if case .seq(let seq) = reference { known = try entry(of: seq.rawValue, in: &page, stored: source) }
            if known?.flags.contains(.scheduled) == true { throw Refusal.unknownItem(reference) }
            let entry = try known ?? entry(of: reference, hasher: hasher, source: source)
            guard looked.insert(entry.seq).inserted else { continue }
            var flags = entry.flags
            if isSeen(entry) { flags.insert(.seen) }
            let before = flags
            mark.apply(to: &flags)
            guard flags != before else { continue }
            // Its content may have left the log while it was deleted.
            if mark == .restored, let refusal = try source.compaction(of: entry.seq) { throw refusal }
            changing.append(Seq(entry.seq))
        }
        return changing.isEmpty ? .unchanged : .append(.marked(mark, items: changing.sorted()))
    }

    private func decideUndo(
        of event: Seq, by command: Command, head: UInt64, source: some StateSource
    ) throws -> Decision {
        guard event > .zero, event.rawValue <= head else { throw Refusal.unknownEvent(event) }
        for floor in [source.floor, source.nextFloor] where floor.isAbove(event.rawValue) { throw floor.refusal }
        let undone = try source.event(event.rawValue)
        guard undone.user.hasSameBytes(as: command.user) else { throw Refusal.unknownEvent(event) }
        guard undone.kind.isUndoable else { throw Refusal.notUndoable(event, kind: undone.kind) }
        let earlier = try voided.seqs(of: event.rawValue, load: source.load(.voided))
        return earlier.isEmpty ? .append(.undone(event: event)) : .unchanged
    }

    private func isSubscribed(to topic: String, _ hasher: IdentityHasher) -> Bool {
        subscription(to: hasher.identity(of: topic, as: .topic)).map { topics[$0].isActive } ?? false
    }

    /// An item that its publisher can still change: one notified to the command's user or, in a topic's state, a
    /// broadcast.
    private func published(
        _ reference: ItemReference, by command: Command, hasher: IdentityHasher, source: some StateSource
    ) throws -> ShownItem {
        if command.user == nil, case .key = reference { throw Refusal.unknownItem(reference) }
        let entry = try entry(of: reference, orScheduled: true, hasher: hasher, source: source)
        if let refusal = try source.compaction(of: entry.seq) {
            throw entry.flags.contains(.gone) ? Refusal.itemGone(Seq(entry.seq)) : refusal
        }
        // A broadcast belongs to its topic's publisher.
        if command.user != nil, try source.event(entry.seq).user == nil { throw Refusal.unknownItem(reference) }
        guard !entry.flags.contains(.gone) else { throw Refusal.itemGone(Seq(entry.seq)) }
        return try shown(entry, stored: source)
    }

    private func live(
        _ reference: ItemReference, hasher: IdentityHasher, source: some StateSource
    ) throws -> ItemEntry {
        let entry = try entry(of: reference, hasher: hasher, source: source)
        guard entry.flags.isLive else { throw Refusal.itemGone(Seq(entry.seq)) }
        return entry
    }

    /// The entry with its overrides.
    package func shown(_ entry: ItemEntry, stored: some StatePages) throws -> ShownItem {
        let page = try page(at: entry.position, stored: stored)
        return ShownItem(
            entry: entry, isSeen: isSeen(entry), overrides: page.map { Array($0.overrides(of: entry.seq)) } ?? [])
    }

    /// The item that a command or a query names.
    ///
    /// - Parameter orScheduled: finds what has not arrived, too; only its publisher knows of it.
    /// - Throws: ``Refusal/unknownItem(_:)``; what `source` throws.
    package func entry(
        of reference: ItemReference, orScheduled: Bool = false, hasher: IdentityHasher, source: some StateSource
    ) throws -> ItemEntry {
        if let entry = try anyEntry(of: reference, hasher: hasher, source: source),
            orScheduled || !entry.flags.contains(.scheduled)
        {
            return entry
        }
        throw Refusal.unknownItem(reference)
    }

    private func anyEntry(
        of reference: ItemReference, hasher: IdentityHasher, source: some StateSource
    ) throws -> ItemEntry? {
        switch reference {
        case .seq(let seq):
            return try entry(of: seq.rawValue, stored: source)
        case .key(let key):
            for seq in try keys.seqs(of: hasher.identity(of: key, as: .key).rawValue, load: source.load(.keys)) {
                // Only the key's identity is known of an event that left the log.
                if try source.compaction(of: seq) == nil {
                    guard try source.event(seq).key.hasSameBytes(as: key) else { continue }
                }
                if let entry = try entry(of: seq, stored: source) { return entry }
            }
            return nil
        }
    }

    /// The position of the newest item that has arrived, in any state, at or below `position`; 0 when there is none.
    package func newestPosition(atOrBelow position: UInt64, stored: some StatePages) throws -> UInt64 {
        if let newest = tail.newestPosition(atOrBelow: position) { return newest }
        var newest: UInt64?
        // Usually in the first page. Pages below matter when every item of that one was woken.
        try forEachSealedPage(below: position == .max ? .max : position + 1, stored: stored) { page in
            newest = page.newestPosition(atOrBelow: position)
            return newest == nil
        }
        return newest ?? 0
    }
}

extension ItemPage {
    fileprivate func newestPosition(atOrBelow position: UInt64) -> UInt64? {
        let end = position == .max ? entries.count : firstIndex(atOrAbove: position + 1)
        return entries[..<end].last { !$0.flags.contains(.scheduled) }?.position
    }
}

extension Seq? {
    /// The event that an optional `upTo` or `asOf` stands for: the head when there is none.
    fileprivate func within(_ head: UInt64, _ field: String = "upTo") throws(Refusal) -> UInt64 {
        guard let seq = self else { return head }
        guard seq.rawValue <= head else { throw .upToBeyondHead(seq, head: Seq(head), field: field) }
        return seq.rawValue
    }
}
